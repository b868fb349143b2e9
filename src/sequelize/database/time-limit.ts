import type { Seconds } from '../../clock.ts'

/** What storage may take unless a store is told otherwise. */
export const TIMEOUT: Seconds = 10
/** A write may wait for a connection, and then for the database: status lists look back for two minutes. */
const LONGEST: Seconds = 30

/** @throws {TypeError} for what is no time limit. */
export function readTimeout(given: unknown = TIMEOUT): Seconds {
  if (typeof given === 'number' && Number.isInteger(given) && given >= 1 && given <= LONGEST) return given
  throw new TypeError(`option timeout must be whole seconds from 1 to ${LONGEST}`)
}

/** Has the code that the system gives to a connection that timed out. */
class TimedOut extends Error {
  readonly code = 'ETIMEDOUT'
}

/** Settles as `work` does, or rejects when the time is over. What `work` comes to after that goes to `late`. */
export function within<Value>(
  timeout: Seconds,
  work: Promise<Value>,
  late: (value: Value) => void = () => {},
): Promise<Value> {
  return new Promise((resolve, reject) => {
    let over = false
    const timer = setTimeout(() => {
      over = true
      reject(new TimedOut('the time limit is over'))
    }, timeout * 1000)
    // A process that has nothing else to do may end.
    timer.unref()
    const settle = () => clearTimeout(timer)
    work.then(
      (value) => {
        settle()
        if (over) late(value)
        else resolve(value)
      },
      (error: unknown) => {
        settle()
        reject(error)
      },
    )
  })
}
