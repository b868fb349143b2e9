import { epochTime, type Seconds } from '../base/clock.ts'
import type { SubjectTokenStore } from '../tokens/store.ts'

/** How old the number may be. */
const AGE: Seconds = 10
/** Open sessions end within `maxAccessTokenTTL`, a day at most, and are told for an hour; this is after all of that. */
const LATEST: Seconds = 7 * 86_400
/** A thousand stands for more. */
const MOST = 1000

/**
 * How many sessions are open, as it was found last. Returns at once, and looks again in the background: a database that
 * does not respond must not keep a reader of metrics waiting.
 */
export function rememberOpen(
  { sessions }: Pick<SubjectTokenStore, 'sessions'>,
  issuer: string,
): () => number | undefined {
  let found: number | undefined
  let lookedAt: Seconds = Number.NEGATIVE_INFINITY
  return () => {
    const now = epochTime()
    if (sessions && Math.abs(now - lookedAt) >= AGE) {
      lookedAt = now
      sessions.findDue(issuer, now + LATEST, MOST).then(
        (open) => {
          found = open.length
        },
        // What was found last is shown: that storage fails is told elsewhere.
        () => {},
      )
    }
    return found
  }
}
