/** How a lock of SQLite is waited for: in pauses, so that its holder in this process can go on meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises'

/** All pauses together, in milliseconds. */
const PATIENCE = 5000
const LONGEST_PAUSE = 80

/**
 * Pauses, each longer than the last. The function resolves to `false` when patience has run out, which begins with
 * the first.
 */
export function createPatience(): () => Promise<boolean> {
  let givenUp: number | undefined
  let pause = 5
  return async () => {
    const now = performance.now()
    givenUp ??= now + PATIENCE
    if (now > givenUp) return false
    pause = Math.min(2 * pause, LONGEST_PAUSE)
    await endOfPause(pause)
    return true
  }
}

const pauses = new Map<number, Promise<void>>()

/** One for all that pause for as long, so that those that failed together go together again. */
function endOfPause(milliseconds: number): Promise<void> {
  const begun = pauses.get(milliseconds) ?? sleep(milliseconds).then(() => void pauses.delete(milliseconds))
  pauses.set(milliseconds, begun)
  return begun
}
