import type { Account } from 'oidc-provider'
import type { Seconds } from '../clock.ts'
import { subjectIdentifier } from '../provider/access-token.ts'
import { findAccount, type GrantContext } from '../provider/grants.ts'
import type { Settings } from '../provider/settings.ts'
import { subjectTokenRefused } from '../refusals.ts'
import type { SubjectToken } from '../subject-tokens/subject-token.ts'

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

/** Whether the resource is among those of the record, if it names any. */
export const reaches = ({ resource: allowed }: SubjectToken, resource: string): boolean =>
  allowed === undefined || [allowed].flat().includes(resource)

/** The user's account. `source` is the access token that names it, if there is one. */
export async function findUser(ctx: GrantContext, userId: string, source?: object): Promise<Account> {
  const account = await findAccount(ctx, userId, source)
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
