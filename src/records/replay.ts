/** A spent subject token was used again, or the code that came of it: someone has a copy (protocol.md §6, §10.6). */
import { epochTime } from '../base/clock.ts'
import { withoutUndefined } from '../base/json.ts'
import type { AccessTokenEnd } from '../events.ts'
import { emitRefusal } from '../provider/notices.ts'
import type { Service } from '../provider/settings.ts'
import { shownActor } from '../tokens/actor-chain.ts'
import { isUnexpired, jtiOf, type SpentSubjectToken } from '../tokens/subject-token.ts'
import { endProduced } from './stop.ts'

/** Who has used it again. */
interface Again {
  /** The client that sent it. */
  readonly clientId?: string
  /** The account that showed it at the door of sessions. */
  readonly by?: string
  readonly sameClient?: boolean
  /** Whether `replayLeeway` covers it: it ends nothing, and is not written to the record. */
  readonly isForgiven?: boolean
  readonly request: string | undefined
}

/**
 * Ends what the first use produced, writes the replay to the record, and emits its event. Later replays write nothing. A failure
 * must not turn the refusal into something else.
 */
export async function endReplayed(service: Service, token: SpentSubjectToken, again: Again): Promise<void> {
  const { id, userId, use } = token
  const secondsAfter = Math.max(0, epochTime() - use.at)
  const ended = await endFirstUse(service, token, again).catch((): AccessTokenEnd => 'failed')
  emitRefusal(service.provider, 'subject_token.replayed', {
    id,
    userId,
    clientId: again.clientId,
    by: again.by,
    usedBy: use.clientId,
    sameClient: again.sameClient,
    usedAt: use.at,
    secondsAfter,
    actor: shownActor(use.actor),
    resource: use.resource,
    scope: use.scope,
    jti: jtiOf(token),
    ended,
    request: again.request,
  })
}

const endFirstUse = (service: Service, token: SpentSubjectToken, again: Again): Promise<AccessTokenEnd> =>
  token.use.accessToken.format === 'session'
    ? endSession(service, token, again)
    : endToken(service, token, again)

async function endToken(service: Service, token: SpentSubjectToken, again: Again): Promise<AccessTokenEnd> {
  const lives = isUnexpired(token, epochTime())
  const { kept } = token.use.accessToken
  if (token.replay !== undefined || again.isForgiven) return endedBefore(token, lives)
  // The token ends before the record has the replay, so that the next use repeats what fails here. One that was stopped is
  // ended too, because that may have been cut short.
  if (lives) await endProduced(service, token)
  const isStopped = await recordReplay(service, token, again)
  if (isStopped) return kept ? 'kept' : 'now'
  // Another use, or a revocation, came first since the record was read.
  if (lives) return kept ? 'kept' : 'before'
  return endedBefore(token, lives)
}

function endedBefore({ revokedAt, use }: SpentSubjectToken, lives: boolean): AccessTokenEnd {
  if (revokedAt !== undefined) return use.accessToken.kept ? 'kept' : 'before'
  return lives ? 'kept' : 'expired'
}

async function endSession(service: Service, token: SpentSubjectToken, again: Again): Promise<AccessTokenEnd> {
  const lives = isUnexpired(token, epochTime())
  const isStopped = token.replay === undefined && (await recordReplay(service, token, again))
  // The session ends after the record has the replay: without its Grant the code cannot be used again, and nothing would
  // repeat what fails here.
  if (lives) await endProduced(service, token)
  if (isStopped) return 'now'
  return lives ? 'before' : 'expired'
}

/** The replay has the time of this write, not that of the request: status lists look back only so far. */
const recordReplay = (
  { store }: Service,
  token: SpentSubjectToken,
  { clientId, by }: Again,
): Promise<boolean> => store.recordReplay(token, withoutUndefined({ at: epochTime(), clientId, by }))
