import { epochTime, type Seconds } from '../clock.ts'
import type { AccessTokenEnd } from '../events.ts'
import { endAccessToken } from '../provider/access-token.ts'
import { authenticates } from '../provider/clients.ts'
import type { GrantContext } from '../provider/grants.ts'
import type { Service } from '../provider/settings.ts'
import { isUnexpired, type SpentSubjectToken } from '../subject-tokens/subject-token.ts'

/** A spent subject token was used again. Internal: the outcome turns it into the refusal that the client reads. */
export class ReplayedSubjectToken extends Error {
  readonly token: SpentSubjectToken
  constructor(token: SpentSubjectToken) {
    super('used before')
    this.token = token
  }
}

/** What the event tells of a replay. */
interface ReplayOutcome {
  readonly ended: AccessTokenEnd
  readonly sameClient: boolean
  readonly secondsAfter: Seconds
}

/**
 * Ends what the first exchange produced, because a copy of the subject token is in circulation, and writes the replay to
 * the record. Later replays write nothing. A failure must not turn the refusal into something else.
 */
export async function endFirstUse(
  ctx: GrantContext,
  { store, options }: Service,
  token: SpentSubjectToken,
): Promise<ReplayOutcome> {
  const { client, provider } = ctx.oidc
  const { use } = token
  const at = epochTime()
  const secondsAfter = Math.max(0, at - use.at)
  const sameClient = client.clientId === use.clientId
  const outcome = (ended: AccessTokenEnd): ReplayOutcome => ({ ended, sameClient, secondsAfter })

  const marked = (ended: AccessTokenEnd) => (use.accessToken.kept ? 'kept' : ended)
  const lives = isUnexpired(token, at)
  const before = (): AccessTokenEnd => {
    if (token.revokedAt !== undefined) return marked('before')
    return lives ? 'kept' : 'expired'
  }
  const forgiven = sameClient && authenticates(client) && secondsAfter <= options.replayLeeway
  if (token.replay || (options.replayLeeway > 0 && forgiven)) return outcome(before())

  try {
    // First, so that the next use repeats what fails here: it finds no replay in the record. Also where the record was
    // revoked, because that may have been cut short.
    if (lives && use.grantId !== undefined) await endAccessToken(provider, use.grantId)
    // The time of the mark, not that of the request: status lists look back only so far.
    const replay = { at: epochTime(), clientId: client.clientId }
    const stopped = await store.recordReplay(token, replay)
    if (stopped) return outcome(marked('now'))
    // Another use, or a revocation, came first since the record was read.
    return outcome(lives ? marked('before') : before())
  } catch {
    return outcome('failed')
  }
}
