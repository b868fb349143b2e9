/** A spent subject token was used again, or the code that came of it: someone has a copy (protocol.md §6, §10.6). */
import { epochTime } from '../base/clock.ts'
import { withoutUndefined } from '../base/json.ts'
import type { AccessTokenEnd } from '../events.ts'
import { emitRefusal } from '../provider/notices.ts'
import type { Service } from '../provider/settings.ts'
import { isUnexpired, jtiOf, type SpentSubjectToken } from '../tokens/subject-token.ts'
import { endProduced } from './stop.ts'

/** Who has used it again. */
interface Again {
  /** The client that sent it. */
  readonly clientId?: string
  /** The account that showed it at the door. */
  readonly by?: string
  readonly sameClient?: boolean
  /** By `replayLeeway`: it ends nothing, and is not written to the record. */
  readonly isForgiven?: boolean
  readonly request: string | undefined
}

/**
 * Ends what the first use produced, writes the replay to the record, and tells of it. Later replays write nothing. A failure
 * must not turn the refusal into something else.
 */
export async function endReplayed(service: Service, token: SpentSubjectToken, again: Again): Promise<void> {
  const { id, userId, use } = token
  const { actor } = use
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
    actor: actor && withoutUndefined({ sub: actor.sub, act: actor.act, clientId: actor.clientId }),
    resource: use.resource,
    scope: use.scope,
    jti: jtiOf(token),
    ended,
    request: again.request,
  })
}

async function endFirstUse(
  service: Service,
  token: SpentSubjectToken,
  { clientId, by, isForgiven = false }: Again,
): Promise<AccessTokenEnd> {
  const { accessToken } = token.use
  const isSession = accessToken.format === 'session'
  const lives = isUnexpired(token, epochTime())
  const marked = (ended: AccessTokenEnd) => (accessToken.kept ? 'kept' : ended)
  const before = (): AccessTokenEnd => {
    if (isSession ? lives : token.revokedAt !== undefined) return marked('before')
    return lives ? 'kept' : 'expired'
  }
  const isKnown = token.replay !== undefined
  if ((isKnown || isForgiven) && !isSession) return before()

  // Also where the record was stopped, because that may have been cut short.
  const end = async () => {
    if (lives) await endProduced(service, token)
  }
  // First, so that the next use repeats what fails here: it finds no replay in the record.
  if (!isSession) await end()
  // The time of the mark, not that of the request: status lists look back only so far.
  const replay = withoutUndefined({ at: epochTime(), clientId, by })
  const stopped = !isKnown && (await service.store.recordReplay(token, replay))
  // After the record: without its Grant the code cannot be used again, and nothing would repeat what fails here.
  if (isSession) await end()
  if (stopped) return marked('now')
  // Another use, or a revocation, came first since the record was read.
  return lives ? marked('before') : before()
}
