import type { Account } from 'oidc-provider'
import { epochTime, type Seconds } from '../clock.ts'
import { timedLookup } from '../metrics/metrics.ts'
import { subjectIdentifier } from '../provider/access-token.ts'
import { findAccount, type GrantContext } from '../provider/grants.ts'
import type { Settings } from '../provider/settings.ts'
import { subjectTokenRefused } from '../refusals.ts'
import { readToken, type SubjectTokenPurpose, sameHash } from '../subject-tokens/secret.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import { isSpent, type SubjectToken, stateOf } from '../subject-tokens/subject-token.ts'
import { ReplayedSubjectToken } from './replay.ts'

/** Whose token is exchanged, whatever its kind. */
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

/** A subject token of protocol.md §2.1: permission to become its user, once. */
export interface Permission extends Subject {
  readonly record: SubjectToken
}

/** Finds the subject token and its user. A refusal does not tell the client why. */
export async function findPermission(
  ctx: GrantContext,
  store: Pick<SubjectTokenStore, 'find'>,
  subjectToken: string,
): Promise<Permission> {
  const record = await findPresented(store, ctx.oidc.issuer, subjectToken, 'exchange')
  if (typeof record === 'string') throw subjectTokenRefused({ private: record })
  assertUsable(record)
  const { userId, clientId } = record
  if (clientId !== undefined && clientId !== ctx.oidc.client.clientId) {
    throw subjectTokenRefused({ private: 'bound to another client' })
  }
  const account = await findUser(ctx, userId)
  return { userId, account, record, apis: [] }
}

/** Refuses a token that is spent, revoked or expired. A spent one is a replay, even if it is revoked too. */
export function assertUsable(token: SubjectToken): void {
  if (isSpent(token)) throw new ReplayedSubjectToken(token)
  const state = stateOf(token, epochTime())
  if (state !== 'active') throw subjectTokenRefused({ private: state })
}

/**
 * The record of a token that someone presents, in any state. `malformed`: it has not the form of a token, and nothing was
 * looked up; `unknown`: no record has it. A right id proves nothing, nor does a token for another purpose.
 */
export async function findPresented(
  store: Pick<SubjectTokenStore, 'find'>,
  issuer: string,
  presented: string,
  purpose: SubjectTokenPurpose,
): Promise<SubjectToken | 'malformed' | 'unknown'> {
  const token = readToken(presented)
  if (token?.purpose !== purpose) return 'malformed'
  const found = await store.find(issuer, token.id)
  return found?.purpose === purpose && sameHash(found.tokenHash, token.hash) ? found : 'unknown'
}

/** Whether the resource is among those of the record, if it names any. */
export const reaches = ({ resource: allowed }: SubjectToken, resource: string): boolean =>
  allowed === undefined || [allowed].flat().includes(resource)

/** The user's account. `source` is the access token that names it, if there is one. */
export async function findUser(ctx: GrantContext, userId: string, source?: object): Promise<Account> {
  const account = await timedLookup(() => findAccount(ctx, userId, source))
  if (account?.accountId !== userId) throw subjectTokenRefused({ private: 'the user is gone or disabled' })
  // Before the resource is resolved, because its scopes may depend on the user.
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
