import { ImpersonationError, noAnswer, timedOut } from './errors.ts'
import type { Seconds } from './time.ts'

/** One call of the backend: its time limit, and the signal that it was given. */
export class Call {
  /** Aborts with either. */
  readonly signal: AbortSignal
  readonly #limit: AbortSignal
  readonly #given: AbortSignal | undefined
  readonly #end: number

  constructor(timeout: Seconds, given?: AbortSignal) {
    this.#end = Date.now() + timeout * 1000
    this.#limit = AbortSignal.timeout(timeout * 1000)
    this.#given = given
    this.signal = given ? AbortSignal.any([this.#limit, given]) : this.#limit
  }

  /** Runs the call. Every failure becomes an `ImpersonationError`, or the reason of the given signal. */
  async run<Value>(steps: () => Promise<Value>): Promise<Value> {
    try {
      this.signal.throwIfAborted()
      return await this.wait(steps())
    } catch (error) {
      if (this.#given?.aborted) throw this.#given.reason
      if (error instanceof ImpersonationError) throw error
      throw this.#limit.aborted ? timedOut() : noAnswer(error)
    }
  }

  /** Waits no longer than the call lasts. What other calls wait for, too, goes on without this one. */
  wait<Value>(promise: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(this.signal.reason)
      this.signal.addEventListener('abort', abort, { once: true })
      const settle = () => this.signal.removeEventListener('abort', abort)
      promise.then(resolve, reject).finally(settle)
    })
  }

  /** Sends a request, and once more when a response of these says to, if that is within the time limit. */
  async send(request: () => Promise<Response>, repeated: readonly number[] = [429, 503]): Promise<Response> {
    // The result of an earlier wait may have come too late.
    this.signal.throwIfAborted()
    const response = await request()
    const pause = repeated.includes(response.status) ? pauseOf(response) : undefined
    if (pause === undefined || Date.now() + pause >= this.#end) return response
    response.body?.cancel().catch(() => {})
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      await this.wait(new Promise((resolve) => (timer = setTimeout(resolve, pause))))
    } finally {
      clearTimeout(timer)
    }
    return request()
  }
}

/** Milliseconds to wait: both forms of RFC 9110 §10.2.3. Dates begin with a name; Date.parse takes "-1" for one, too. */
function pauseOf({ headers }: Response): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const pause = /^[A-Z]/.test(value) ? Date.parse(value) - Date.now() : Number.NaN
  return Number.isNaN(pause) ? undefined : Math.max(0, pause)
}
