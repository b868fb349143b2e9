import type { Account } from 'oidc-provider'
import { epochTime } from '../clock.ts'
import { subjectIdentifier } from '../provider/access-token.ts'
import { findAccount, type GrantContext } from '../provider/grants.ts'
import type { Settings } from '../provider/settings.ts'
import { subjectTokenRefused } from '../refusals.ts'
import { hashSecret, isSecret, type TokenHash } from '../subject-tokens/secret.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import { type SubjectToken, stateOf } from '../subject-tokens/subject-token.ts'
import { isSpent, ReplayedSubjectToken } from './replay.ts'

/** The user to become, and the token that permits it. */
export interface Subject {
  readonly token: SubjectToken
  readonly tokenHash: TokenHash
  readonly account: Account
}

/** Finds the subject token and its user. A refusal does not tell the client why. */
export async function findSubject(
  ctx: GrantContext,
  store: Pick<SubjectTokenStore, 'findByHash'>,
  subjectToken: string,
): Promise<Subject> {
  if (!isSecret(subjectToken)) throw subjectTokenRefused({ private: 'malformed' })
  const tokenHash = hashSecret(subjectToken)
  const token = await store.findByHash(ctx.oidc.issuer, tokenHash)
  assertUsable(token)
  if (token.clientId !== undefined && token.clientId !== ctx.oidc.client.clientId) {
    throw subjectTokenRefused({ private: 'bound to another client' })
  }
  const account = await findAccount(ctx, token.userId)
  if (account?.accountId !== token.userId)
    throw subjectTokenRefused({ private: 'the user is gone or disabled' })
  // Before the resource is resolved, because its scopes may depend on the user.
  ctx.oidc.entity('Account', account)
  return { token, tokenHash, account }
}

/** The `sub` that will be issued. Refuses one that equals the client id: the token would read as the client's own. */
export async function identifySubject(
  ctx: GrantContext,
  settings: Pick<Settings, 'pairwiseIdentifier'>,
  { account }: Subject,
): Promise<string> {
  const identifier = await subjectIdentifier(ctx, settings, account.accountId)
  // RFC 9068 §5: an API could not tell the user from the client.
  if (identifier === ctx.oidc.client.clientId) {
    throw subjectTokenRefused({ private: 'the sub to be issued is the id of the client' })
  }
  return identifier
}

/** Refuses a token that is unknown, spent, revoked or expired. A spent one is a replay, even if it is revoked too. */
export function assertUsable(token: SubjectToken | undefined): asserts token is SubjectToken {
  if (!token) throw subjectTokenRefused({ private: 'unknown' })
  if (isSpent(token)) throw new ReplayedSubjectToken(token)
  const state = stateOf(token, epochTime())
  if (state !== 'active') throw subjectTokenRefused({ private: state })
}
