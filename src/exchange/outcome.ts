/** One place tells how an exchange ended, so that no refusal escapes the events. */
import { errors } from 'oidc-provider'
import { emit } from '../events.ts'
import { withoutUndefined } from '../plain-json.ts'
import type { AccessTokenDraft } from '../provider/access-token.ts'
import type { ExchangeContext } from '../provider/grants.ts'
import {
  checkOf,
  isRepeatable,
  isStorageUnavailable,
  RETRY_AFTER,
  reasonOf,
  subjectTokenRefused,
} from '../refusals.ts'
import type { SubjectToken } from '../subject-tokens/subject-token.ts'
import type { Actor } from './actor.ts'
import { endFirstUse, ReplayedSubjectToken } from './replay.ts'
import type { Subject } from './subject.ts'
import type { Target } from './target.ts'

/** How far an exchange got. */
export interface Progress {
  subject?: Subject
  actor?: Actor
  target?: Target
  draft?: AccessTokenDraft
}

/** Runs an exchange and emits exactly one event about it. */
export async function recordOutcome(
  ctx: ExchangeContext,
  exchange: (progress: Progress) => Promise<void>,
): Promise<void> {
  const progress: Progress = {}
  try {
    await exchange(progress)
  } catch (error) {
    if (isStorageUnavailable(error) && isRepeatable(error)) ctx.set('Retry-After', String(RETRY_AFTER))
    if (!(error instanceof ReplayedSubjectToken)) {
      emitRefused(ctx, progress, error)
      throw error
    }
    await emitReplayed(ctx, error.token)
    throw subjectTokenRefused('used before')
  }
  emitExchanged(ctx, progress)
}

function emitExchanged(ctx: ExchangeContext, { subject, actor, target, draft }: Progress): void {
  if (!subject || !target || !draft) return
  emit(ctx.oidc.provider, 'subject_token.exchanged', {
    id: subject.token.id,
    userId: subject.token.userId,
    createdBy: subject.token.createdBy,
    clientId: ctx.oidc.client.clientId,
    actor: actorOf(actor),
    resource: target.resource,
    scope: target.scope,
    accessToken: { format: draft.format, expiresAt: draft.exp },
  })
}

function emitRefused(ctx: ExchangeContext, { subject, actor, target }: Progress, thrown: unknown): void {
  const error = thrown instanceof Error ? thrown : new Error('not an error')
  const name = error instanceof errors.OIDCProviderError && error.expose ? error.error : 'server_error'
  emit(ctx.oidc.provider, 'subject_token.refused', {
    stage: 'exchange',
    error: name,
    check: checkOf(error) ?? name,
    reason: reasonOf(error),
    clientId: ctx.oidc.client.clientId,
    id: subject?.token.id,
    userId: subject?.token.userId,
    actor: actorOf(actor),
    resource: target?.resource,
    scope: target?.scope,
  })
}

async function emitReplayed(ctx: ExchangeContext, token: SubjectToken): Promise<void> {
  const { use } = token
  if (!use) return
  emit(ctx.oidc.provider, 'subject_token.replayed', {
    id: token.id,
    userId: token.userId,
    clientId: ctx.oidc.client.clientId,
    usedBy: use.clientId,
    usedAt: use.at,
    actor: use.actor,
    resource: use.resource,
    accessTokenEnded: await endFirstUse(ctx, token),
  })
}

/** Named members only: what an event holds is decided here. */
function actorOf(actor: Actor | undefined) {
  return actor && withoutUndefined({ sub: actor.sub, act: actor.act, clientId: actor.clientId })
}
