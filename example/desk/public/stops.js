/** Stops views on the record: each stop is tried again until it succeeds, or nothing is left to stop. */
import { stopImpersonation } from './backend.js'
import { isSignInOver } from './failures.js'

/** Milliseconds before the second attempt. Each pause after it is twice as long, up to the longest. */
const FIRST_PAUSE = 1000
const LONGEST_PAUSE = 30_000

/** By the id of the record. */
const underWay = new Map()

/**
 * Stops the record `id`, whose token ends at `endsAt`, in milliseconds, and says why if there is a reason. `tell` is called with `{ state: 'stopping' | 'failed',
 * attempts, error? }`. Resolves to the record, or to `undefined` if its token has ended by itself. Rejects if the sign-in is
 * over: no attempt can succeed then.
 */
export function stopUntilDone({ id, endsAt, reason }, tell) {
  const known = underWay.get(id)
  if (known) {
    attempt(known)
    return known.promise
  }
  const stop = { id, endsAt, reason, tell, attempts: 0, pause: FIRST_PAUSE, ...Promise.withResolvers() }
  underWay.set(id, stop)
  attempt(stop)
  return stop.promise
}

export const isStopping = (id) => underWay.has(id)

/** Makes the next attempt of each now. Resolves when none is under way. */
export const tryNow = () => Promise.all([...underWay.values()].map(attempt))

/** The sign-in is over: its own end is what limits the views now. */
export function forgetStops() {
  for (const { timer } of underWay.values()) clearTimeout(timer)
  underWay.clear()
}

/** One at a time. */
function attempt(stop) {
  clearTimeout(stop.timer)
  stop.attempt ??= send(stop).finally(() => {
    stop.attempt = undefined
  })
  return stop.attempt
}

async function send(stop) {
  // The first one is made in any case: the clock may be wrong.
  if (stop.attempts > 0 && Date.now() >= stop.endsAt) return settle(stop, stop.resolve)
  stop.attempts++
  stop.tell({ state: 'stopping', attempts: stop.attempts })
  try {
    const record = await stopImpersonation(stop.id, stop.reason)
    settle(stop, stop.resolve, record)
  } catch (error) {
    if (underWay.get(stop.id) !== stop) return
    if (isSignInOver(error)) return settle(stop, stop.reject, error)
    stop.tell({ state: 'failed', attempts: stop.attempts, error })
    stop.timer = setTimeout(() => attempt(stop), stop.pause)
    stop.pause = Math.min(2 * stop.pause, LONGEST_PAUSE)
  }
}

function settle(stop, how, value) {
  if (underWay.get(stop.id) === stop) underWay.delete(stop.id)
  how(value)
}
