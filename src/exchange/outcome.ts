/** The one place that reports how an exchange ended, so that no refusal is without an event. */

import { epochTime } from '../base/clock.ts'
import { isStorageUnavailable, RETRY_AFTER, refusalOf, subjectTokenRefused } from '../base/errors.ts'
import { emit } from '../events.ts'
import { timeExchange } from '../metrics/metrics.ts'
import type { Kind } from '../metrics/series.ts'
import { type AccessTokenDraft, shownAccessToken } from '../provider/access-token.ts'
import { authenticates } from '../provider/client-metadata.ts'
import { requestOf } from '../provider/failures.ts'
import type { GrantContext } from '../provider/lib-grants.ts'
import { emitRefusal, isFailure } from '../provider/notices.ts'
import { isRepeatable } from '../provider/outage.ts'
import type { Service } from '../provider/settings.ts'
import { endReplayed } from '../records/replay.ts'
import { shownActor } from '../tokens/actor-chain.ts'
import type { SpentSubjectToken } from '../tokens/subject-token.ts'
import type { Target } from './resource-and-scope.ts'
import type { Actor, ImpersonationSubject, ReceivedToken } from './user-and-actors.ts'

/** A spent subject token was used again. Internal: what the client reads is made of it here. */
export class ReplayedSubjectToken extends Error {
  readonly token: SpentSubjectToken
  constructor(token: SpentSubjectToken) {
    super('used before')
    this.token = token
  }
}

/** The facts that a successful exchange has established. */
interface Exchanged {
  readonly subject: ImpersonationSubject | ReceivedToken
  readonly actor: Actor | undefined
  readonly target: Target
  readonly draft: AccessTokenDraft
}
/** The facts that the stages have established so far: members of a refusal's event. */
type Progress = Partial<{ -readonly [Name in 'subject' | 'actor' | 'target']: Exchanged[Name] }>

/** Runs an exchange, and emits exactly one event about it. */
export async function recordOutcome(
  ctx: GrantContext,
  service: Service,
  kind: Exclude<Kind, 'session'>,
  exchange: (progress: Progress) => Promise<Exchanged>,
): Promise<void> {
  const end = timeExchange(kind)
  const progress: Progress = {}
  let exchanged: Exchanged
  try {
    exchanged = await exchange(progress)
  } catch (error) {
    if (isStorageUnavailable(error) && isRepeatable(error)) ctx.set('Retry-After', String(RETRY_AFTER))
    if (!(error instanceof ReplayedSubjectToken)) {
      const told = refusalOf(error)
      emitRefused(ctx, kind, progress, told)
      end(isFailure(told) ? 'failed' : 'refused', told.check)
      throw error
    }
    await endFirstExchange(ctx, service, error)
    end('refused', 'subject_token')
    throw subjectTokenRefused({ private: 'used before' })
  }
  emitExchanged(ctx, exchanged)
  end('done')
}

function emitExchanged(ctx: GrantContext, { subject, actor, target, draft }: Exchanged): void {
  const { provider, client } = ctx.oidc
  const told = {
    userId: subject.userId,
    clientId: client.clientId,
    actor: shownActor(actor),
    resource: target.resource,
    scope: target.scope,
    readOnly: subject.record?.readOnly,
    accessToken: shownAccessToken(draft),
    request: requestOf(ctx),
  }
  if (!isReceived(subject)) {
    const { id, createdBy } = subject.record
    emit(provider, 'subject_token.exchanged', { ...told, id, createdBy })
    return
  }
  const { record, through, jti: parentJti } = subject
  const { id, createdBy } = record ?? {}
  emit(provider, 'access_token.exchanged', { ...told, id, createdBy, parentJti, through })
}

function emitRefused(
  ctx: GrantContext,
  kind: Kind,
  { subject, actor, target }: Progress,
  error: ReturnType<typeof refusalOf>,
): void {
  const { provider, client } = ctx.oidc
  const told = {
    ...error,
    clientId: client.clientId,
    id: subject?.record?.id,
    userId: subject?.userId,
    actor: shownActor(actor),
    resource: target?.resource,
    scope: target?.scope,
    request: requestOf(ctx),
  }
  if (kind === 'impersonation') {
    emitRefusal(provider, 'subject_token.refused', { stage: 'exchange', ...told })
    return
  }
  const { through, jti: parentJti } = subject && isReceived(subject) ? subject : {}
  emitRefusal(provider, 'access_token.refused', { stage: 'onBehalfOf', ...told, through, parentJti })
}

const isReceived = (subject: Exchanged['subject']): subject is ReceivedToken => 'through' in subject

/** The first exchange's token ends, unless the same client may have sent its request twice. */
async function endFirstExchange(
  ctx: GrantContext,
  service: Service,
  { token }: ReplayedSubjectToken,
): Promise<void> {
  const { client } = ctx.oidc
  const { clientId } = client
  const { replayLeeway } = service.options
  const sameClient = clientId === token.use.clientId
  const isSoon = replayLeeway > 0 && epochTime() - token.use.at <= replayLeeway
  const isForgiven = sameClient && authenticates(client) && isSoon
  await endReplayed(service, token, { clientId, sameClient, isForgiven, request: requestOf(ctx) })
}
