import { epochTime } from '../clock.ts'
import type { GrantContext } from '../provider/grants.ts'
import { subjectTokenRefused } from '../refusals.ts'
import { findPresented } from '../subject-tokens/presented.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import { type SubjectToken, stateOf } from '../subject-tokens/subject-token.ts'
import { isSpent, ReplayedSubjectToken } from './replay.ts'
import { findUser, type Subject } from './subject.ts'

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
