/** The one place that reports how an exchange ended, so that no refusal is without an event. */
import { errors } from 'oidc-provider'
import { emit } from '../events.ts'
import { isRepeatable, isStorageUnavailable, RETRY_AFTER } from '../outage.ts'
import { withoutUndefined } from '../plain-json.ts'
import { type AccessTokenDraft, issuedAccessToken } from '../provider/access-token.ts'
import type { GrantContext } from '../provider/grants.ts'
import { checkOf, reasonOf, subjectTokenRefused } from '../refusals.ts'
import type { Actor } from './actor.ts'
import { endFirstUse, ReplayedSubjectToken, type ReplayService } from './replay.ts'
import type { Subject } from './subject.ts'
import type { Target } from './target.ts'

/** What a successful exchange has established. */
interface Exchanged {
  readonly subject: Subject
  readonly actor?: Actor
  readonly target: Target
  readonly draft: AccessTokenDraft
}
/** As much of it as an exchange had established when it was refused. */
type Reached = Partial<Pick<Exchanged, 'subject' | 'actor' | 'target'>>

/** Runs an exchange, which passes what it establishes to `reached`, and emits exactly one event about it. */
export async function recordOutcome(
  ctx: GrantContext,
  service: ReplayService,
  exchange: (reached: (established: Reached) => void) => Promise<Exchanged>,
): Promise<void> {
  let reached: Reached = {}
  let exchanged: Exchanged
  try {
    exchanged = await exchange((established) => {
      reached = { ...reached, ...established }
    })
  } catch (error) {
    if (isStorageUnavailable(error) && isRepeatable(error)) ctx.set('Retry-After', String(RETRY_AFTER))
    if (!(error instanceof ReplayedSubjectToken)) {
      emitRefused(ctx, reached, error)
      throw error
    }
    await emitReplayed(ctx, service, error)
    throw subjectTokenRefused({ private: 'used before' })
  }
  emitExchanged(ctx, exchanged)
}

function emitExchanged(ctx: GrantContext, { subject, actor, target, draft }: Exchanged): void {
  emit(ctx.oidc.provider, 'subject_token.exchanged', {
    id: subject.token.id,
    userId: subject.token.userId,
    createdBy: subject.token.createdBy,
    clientId: ctx.oidc.client.clientId,
    actor: actorOf(actor),
    resource: target.resource,
    scope: target.scope,
    accessToken: issuedAccessToken(draft),
  })
}

function emitRefused(ctx: GrantContext, { subject, actor, target }: Reached, thrown: unknown): void {
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

async function emitReplayed(
  ctx: GrantContext,
  service: ReplayService,
  { token }: ReplayedSubjectToken,
): Promise<void> {
  const { use } = token
  const { ended, sameClient, secondsAfter } = await endFirstUse(ctx, service, token)
  emit(ctx.oidc.provider, 'subject_token.replayed', {
    id: token.id,
    userId: token.userId,
    clientId: ctx.oidc.client.clientId,
    usedBy: use.clientId,
    sameClient,
    usedAt: use.at,
    secondsAfter,
    actor: use.actor,
    resource: use.resource,
    scope: use.scope,
    jti: use.accessToken.jti,
    ended,
  })
}

/** Named members only: this decides what an event contains. */
function actorOf(actor: Actor | undefined) {
  return actor && withoutUndefined({ sub: actor.sub, act: actor.act, clientId: actor.clientId })
}
