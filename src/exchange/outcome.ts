/** The one place that reports how an exchange ended, so that no refusal is without an event. */

import type { Provider } from 'oidc-provider'
import { epochTime } from '../clock.ts'
import type { SubjectTokenExchanged, SubjectTokenRefused } from '../events.ts'
import { requestOf } from '../http/doors.ts'
import { timeExchange } from '../metrics/metrics.ts'
import type { Kind } from '../metrics/series.ts'
import { isRepeatable, isStorageUnavailable, RETRY_AFTER } from '../outage.ts'
import { withoutUndefined } from '../plain-json.ts'
import { type AccessTokenDraft, shownAccessToken } from '../provider/access-token.ts'
import { authenticates } from '../provider/clients.ts'
import type { GrantContext } from '../provider/grants.ts'
import type { Service } from '../provider/settings.ts'
import { endReplayed } from '../records/replay.ts'
import { errorReadOf, subjectTokenRefused, toldOf } from '../refusals.ts'
import type { SpentSubjectToken } from '../subject-tokens/subject-token.ts'
import type { Actor, Subject } from './subject.ts'
import type { Target } from './target.ts'

/** A spent subject token was used again. Internal: what the client reads is made of it here. */
export class ReplayedSubjectToken extends Error {
  readonly token: SpentSubjectToken
  constructor(token: SpentSubjectToken) {
    super('used before')
    this.token = token
  }
}

/** What a successful exchange has established. */
interface Exchanged<Found extends Subject> {
  readonly subject: Found
  readonly actor: Actor | undefined
  readonly target: Target
  readonly draft: AccessTokenDraft
}
/** Each stage adds what it has established, so that the event of a refusal tells how far the request came. */
type Progress<Found extends Subject> = Partial<{
  -readonly [Name in 'subject' | 'actor' | 'target']: Exchanged<Found>[Name]
}>

/** What the events of every exchange tell. */
type ToldExchanged = Omit<SubjectTokenExchanged, 'id' | 'createdBy' | 'kind' | 'resource' | 'resources'> & {
  readonly resource: string
}
type ToldRefused = Omit<SubjectTokenRefused, 'stage' | 'resource'> & { readonly resource?: string }

/** Emits the events of one kind of exchange. */
export interface ExchangeEvents<Found extends Subject> {
  readonly kind: Kind
  exchanged(provider: Provider, told: ToldExchanged, subject: Found): void
  /** `subject` is absent if the request did not get that far. */
  refused(provider: Provider, told: ToldRefused, subject?: Found): void
}

/** Runs an exchange, and emits exactly one event about it. */
export async function recordOutcome<Found extends Subject>(
  ctx: GrantContext,
  service: Service,
  events: ExchangeEvents<Found>,
  exchange: (progress: Progress<Found>) => Promise<Exchanged<Found>>,
): Promise<void> {
  const { provider } = ctx.oidc
  const end = timeExchange(events.kind)
  const progress: Progress<Found> = {}
  let exchanged: Exchanged<Found>
  try {
    exchanged = await exchange(progress)
  } catch (error) {
    if (isStorageUnavailable(error) && isRepeatable(error)) ctx.set('Retry-After', String(RETRY_AFTER))
    if (!(error instanceof ReplayedSubjectToken)) {
      const told = refusedOf(ctx, progress, error)
      events.refused(provider, told, progress.subject)
      end(isFailure(error) ? 'failed' : 'refused', told.check)
      throw error
    }
    await endFirstExchange(ctx, service, error)
    end('refused', 'subject_token')
    throw subjectTokenRefused({ private: 'used before' })
  }
  events.exchanged(provider, exchangedOf(ctx, exchanged), exchanged.subject)
  end('done')
}

/** Whether the client gets 5xx. */
const isFailure = (error: unknown): boolean =>
  errorReadOf(error) === 'server_error' || isStorageUnavailable(error)

function exchangedOf(
  ctx: GrantContext,
  { subject, actor, target, draft }: Exchanged<Subject>,
): ToldExchanged {
  return {
    userId: subject.userId,
    clientId: ctx.oidc.client.clientId,
    actor: actorOf(actor),
    resource: target.resource,
    scope: target.scope,
    accessToken: shownAccessToken(draft),
    request: requestOf(ctx),
  }
}

function refusedOf(
  ctx: GrantContext,
  { subject, actor, target }: Progress<Subject>,
  thrown: unknown,
): ToldRefused {
  return {
    ...toldOf(thrown),
    clientId: ctx.oidc.client.clientId,
    id: subject?.record?.id,
    userId: subject?.userId,
    actor: actorOf(actor),
    resource: target?.resource,
    scope: target?.scope,
    request: requestOf(ctx),
  }
}

/** What the first exchange produced ends, unless the same client may have sent its request twice. */
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

/** Named members only: this decides what an event contains. */
function actorOf(actor: Actor | undefined) {
  return actor && withoutUndefined({ sub: actor.sub, act: actor.act, clientId: actor.clientId })
}
