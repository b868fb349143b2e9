/** Something of the provider's that is fetched, kept, and renewed before a request has to wait for it. */
import { ProviderUnavailable } from './errors.ts'
import { type Instant, instant, type Seconds } from './time.ts'

export interface Kept<Value> {
  readonly value: Value
  /** When it was made, and no later than it arrived: its age counts from here. */
  readonly since: Instant
  readonly arrivedAt: Instant
  readonly freshFor: Seconds
  /** Once it is no longer fresh it serves until then, while nothing newer can be had. */
  readonly usableUntil: Instant
}

/** Fetches the value; `previous` is the one that serves meanwhile. @throws {ProviderUnavailable} */
export type Load<Value> = (previous: Kept<Value> | undefined) => Promise<Kept<Value>>

/** Hears of each attempt to fetch the value: what serves after it, and whether it was fetched. */
type Attempted<Value> = (kept: Kept<Value> | undefined, fetched: boolean) => void

/** After a request to the provider there is no other one for the same thing for so long. */
const REST: Seconds = 1

export class Keeper<Value> {
  readonly #what: string
  readonly #load: Load<Value>
  readonly #attempted: Attempted<Value>
  #kept: Kept<Value> | undefined
  /** Under way. Where requests share nothing it may be any of several, and is not looked at. */
  #attempt: Promise<Kept<Value>> | undefined
  #attemptStartedAt: Instant = Number.NEGATIVE_INFINITY
  #attemptEndedAt: Instant = Number.NEGATIVE_INFINITY
  /** Why the last attempt failed; `undefined` when it did not. */
  #failure: { readonly at: Instant; readonly reason: string } | undefined

  /** `what` is fetched, in the words of an error's `reason`. */
  constructor(what: string, load: Load<Value>, attempted: Attempted<Value> = () => {}) {
    this.#what = what
    this.#load = load
    this.#attempted = attempted
  }

  /** The value, fresh if that can be had. @throws {ProviderUnavailable} when there is none to be had. */
  async get(): Promise<Value> {
    const now = instant()
    const kept = this.#usable(now)
    if (kept) {
      const { since, freshFor } = kept
      const fresh = now < since + freshFor
      const failing = this.#failure !== undefined && isWithin(freshFor, this.#failure.at, now)
      if (fresh ? now >= since + freshFor / 2 : failing) this.#renewInBackground(now)
      // Not fresh, but it was just found out that nothing fresher can be had: no request waits for that again.
      if (fresh || failing) return kept.value
    }
    try {
      return (await this.#renew(now)).value
    } catch (error) {
      // Nothing newer can be had, or what there is has only just arrived, and was old already.
      const still = error instanceof ProviderUnavailable && this.#usable(instant())
      if (still) return still.value
      throw error
    }
  }

  /** A value that arrived less than `age` ago, fetched if need be. @throws {ProviderUnavailable} */
  async newerThan(age: Seconds): Promise<Value> {
    const now = instant()
    const kept = this.#usable(now)
    if (kept && isWithin(age, kept.arrivedAt, now)) return kept.value
    // Or, where requests do not share what they fetch, each one would fetch at once.
    if (!maySharePromises() && isWithin(age, this.#attemptStartedAt, now))
      throw this.#unavailable('under way')
    return (await this.#renew(now)).value
  }

  /** The kept value, if it still serves. */
  #usable(now: Instant): Kept<Value> | undefined {
    // Our own clock was set back: nothing can be said of the age of what is kept.
    if (this.#kept && now < this.#kept.arrivedAt) this.#kept = undefined
    return this.#kept && now < this.#kept.usableUntil ? this.#kept : undefined
  }

  #isResting(now: Instant): boolean {
    return isWithin(REST, this.#attemptEndedAt, now)
  }

  #renewInBackground(now: Instant): void {
    if (!this.#isResting(now) && maySharePromises()) this.#renew(now).catch(() => {})
  }

  #renew(now: Instant): Promise<Kept<Value>> {
    if (this.#attempt && maySharePromises()) return this.#attempt
    if (this.#isResting(now)) return Promise.reject(this.#unavailable('expired'))
    this.#attemptStartedAt = now
    this.#attempt = this.#fetch().finally(() => {
      this.#attempt = undefined
    })
    return this.#attempt
  }

  #unavailable(reason: string): ProviderUnavailable {
    return new ProviderUnavailable(this.#failure?.reason ?? `${this.#what}: ${reason}`)
  }

  async #fetch(): Promise<Kept<Value>> {
    try {
      const next = await this.#load(this.#usable(instant()))
      const kept = this.#usable(instant())
      if (kept && next.since < kept.since) throw new ProviderUnavailable(`${this.#what}: older than before`)
      this.#failure = undefined
      this.#kept = next
      this.#attempted(next, true)
      return next
    } catch (error) {
      if (error instanceof ProviderUnavailable) this.#failure = { at: instant(), reason: error.reason }
      this.#attempted(this.#usable(instant()), false)
      throw error
    } finally {
      this.#attemptEndedAt = instant()
    }
  }
}

/** Whether `now` is at or after `then`, by less than `seconds`. A clock that was set back starts no rest. */
const isWithin = (seconds: Seconds, then: Instant, now: Instant): boolean =>
  now >= then && now - then < seconds

/**
 * On Cloudflare's workers a request cannot wait for what another one has begun, and what one leaves behind ends with
 * it. There each request fetches for itself, and nothing is renewed in the background.
 */
const maySharePromises = (): boolean => !('WebSocketPair' in globalThis) && !('EdgeRuntime' in globalThis)
