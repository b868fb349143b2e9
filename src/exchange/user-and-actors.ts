/** Who a token is exchanged for, and who acts: what both exchanges ask about these people. */
import type { Account } from 'oidc-provider'
import type { Seconds } from '../base/clock.ts'
import { type Check, subjectTokenRefused } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import { timedLookup } from '../metrics/metrics.ts'
import { subjectIdentifier } from '../provider/access-token.ts'
import { getAccount } from '../provider/accounts.ts'
import { findAccount, type GrantContext } from '../provider/lib-grants.ts'
import type { Settings } from '../provider/settings.ts'
import { subsOf } from '../tokens/actor-chain.ts'
import type { ActClaim, ActingParty, SubjectToken } from '../tokens/subject-token.ts'

/** The person whose token is exchanged, whatever its kind. */
export interface Subject {
  /** Account id, never pairwise. */
  readonly userId: string
  readonly account: Account
  /** The record of the impersonation that it belongs to. A user's own access token has none. */
  readonly record?: SubjectToken
  /** The APIs in the `act` claim that will be issued, newest first: client ids. */
  readonly apis: readonly string[]
  /** The access token that will be issued ends by then. */
  readonly notAfter?: Seconds
}

/** A subject token of protocol.md §2.1, with its user. */
export interface ImpersonationSubject extends Subject {
  readonly record: SubjectToken
}

/** An access token that the client received as an API, to act for its user. */
export interface ReceivedToken extends Subject {
  readonly notAfter: number
  /** The people who act, newest first; absent if none does. */
  readonly people?: ActingParty
  /** The APIs that passed the user on before, newest first: client ids. */
  readonly through: readonly string[]
  /** The client that it was issued to. */
  readonly clientId: string
  readonly audience: string
  readonly scope?: string
  readonly bound: boolean
  readonly jti?: string
  /** Its claims that are not reserved. */
  readonly claims: JsonObject
}

/** The person who acts (RFC 8693 §4.1), with those who acted before. Account ids, never pairwise. */
export interface Actor extends ActingParty {
  /** Every audience of the actor token, where this request sent one. */
  readonly audiences?: readonly string[]
}

/** The user's account. `source` is the access token that names it, if there is one. */
export async function getUser(ctx: GrantContext, userId: string, source?: object): Promise<Account> {
  const find = (id: string) => timedLookup(() => findAccount(ctx, id, source))
  const account = await getAccount(userId, find, () =>
    subjectTokenRefused({ private: 'the user is gone or disabled' }),
  )
  // The provider gets the account before the resource is resolved, because its scopes may depend on the user.
  ctx.oidc.entity('Account', account)
  return account
}

/** The `sub` that will be issued. Refuses one that equals the client id: the token would read as the client's own. */
export async function identifySubject(
  ctx: GrantContext,
  settings: Pick<Settings, 'pairwiseIdentifier'>,
  { account: { accountId } }: Subject,
): Promise<string> {
  const { client } = ctx.oidc
  const identifier = await subjectIdentifier(ctx, settings, { accountId, client })
  // RFC 9068 §5: an API could not tell the user from the client.
  if (identifier === client.clientId) {
    throw subjectTokenRefused({ private: 'the sub to be issued is the id of the client' })
  }
  return identifier
}

interface ChainRules {
  readonly userId: string
  readonly maxDelegationDepth: number
  /** The refusal of the token that holds the chain. */
  readonly refused: (says: { readonly private: string; readonly check?: Check }) => Error
}

/** No person twice, not the user, and no more people than the deployment allows. */
export function assertChain(newest: ActClaim, { userId, maxDelegationDepth, refused }: ChainRules): void {
  const seen = new Set<string>()
  for (const sub of subsOf(newest)) {
    if (sub === userId) throw refused({ check: 'actorIsNotSubject', private: 'the actor is the subject' })
    if (seen.has(sub)) throw refused({ private: 'an actor twice in the chain' })
    seen.add(sub)
    if (seen.size > maxDelegationDepth) {
      throw refused({ check: 'maxDelegationDepth', private: `more than ${maxDelegationDepth} in the chain` })
    }
  }
}
