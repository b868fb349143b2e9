/** Finds the sessions whose time has come, of every process, and ends them. */
import { createMemory, epochTime, type Seconds } from '../base/clock.ts'
import type { Service } from '../provider/settings.ts'
import type { DueSession, SessionStore } from '../tokens/store.ts'
import { type Endings, endDueSession } from './ending.ts'

/** Sessions that another process has left are found in this many seconds at the latest. */
const LOOKS_EVERY: Seconds = 5
/** Between two questions about everything that is open. */
const ASKS_EVERY: Seconds = 60
/** No session lasts longer. */
const A_DAY: Seconds = 86_400
/** Open sessions that are asked about. */
const OPEN = 10_000
/** Attempts at once to one client in this process. */
const AT_ONCE = 16
/** The sessions that a look finds beyond those waiting here. */
const PAGE = 500
/** Milliseconds between two looks, however often this process is woken. */
const REST = 100

/**
 * Watches for as long as someone holds what is returned: its timers keep nothing alive.
 *
 * @throws {TypeError} for a store that knows no sessions.
 */
export function watchSessions(
  { provider, store: { sessions } }: Service,
  ask: (open: DueSession) => Promise<void> = async () => {},
): SessionWatch {
  if (!sessions) throw new TypeError('option sessions needs a store that has sessions')
  const watch = new SessionWatch({ provider, sessions }, ask)
  every(LOOKS_EVERY, new WeakRef(watch), (held) => held.wake())
  // A look that fails is tried again in a minute.
  every(ASKS_EVERY, new WeakRef(watch), (held) => void held.ask().catch(() => {}))
  return watch
}

function every(seconds: Seconds, watch: WeakRef<SessionWatch>, work: (watch: SessionWatch) => void): void {
  const timer = setInterval(() => {
    const held = watch.deref()
    if (held && !held.stopped) work(held)
    else clearInterval(timer)
  }, seconds * 1000)
  timer.unref()
}

/** `work` holds nothing but what it is given. */
function once(milliseconds: number, watch: SessionWatch, work: (watch: SessionWatch) => void): void {
  const held = new WeakRef(watch)
  setTimeout(() => {
    const watch = held.deref()
    if (watch) work(watch)
  }, milliseconds).unref()
}

/** Watches the sessions of one provider. */
export class SessionWatch {
  readonly #endings: Endings
  /** Waiting or under way in this process, by id. */
  readonly #known = new Map<string, Promise<void>>()
  /** Attempts under way, by client. */
  readonly #lanes = new Map<string, Lane>()
  /** When this process will wake. */
  readonly #wakes = new Set<Seconds>()
  #isResting = false
  #isWoken = false
  #isAsking = false
  readonly #ask: (open: DueSession) => Promise<void>
  readonly countOpen: () => number | undefined
  stopped = false

  constructor(endings: Endings, ask: (open: DueSession) => Promise<void>) {
    this.#endings = endings
    this.#ask = ask
    this.countOpen = countOpenSessions(endings.sessions, endings.provider.issuer)
  }

  /**
   * Asks about each session that is open, unless an earlier round still does. One that fails keeps none from being asked
   * about.
   */
  async ask(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    try {
      const { provider, sessions } = this.#endings
      const open = await sessions.findDue(provider.issuer, epochTime() + A_DAY, OPEN)
      const lane = new Lane()
      await Promise.allSettled(open.map((due) => lane.run(() => this.#ask(due))))
    } finally {
      this.#isAsking = false
    }
  }

  /** A session of this process was stopped. */
  wake(): void {
    if (this.#isResting) this.#isWoken = true
    if (this.#isResting || this.stopped) return
    this.#isResting = true
    once(REST, this, (watch) => watch.#endRest())
    // Storage fails: the next look finds the same.
    this.look().catch(() => {})
  }

  #endRest(): void {
    const isWoken = this.#isWoken
    this.#isResting = false
    this.#isWoken = false
    if (isWoken) this.wake()
  }

  /** A session of this process will end at this time. Another one finds it if this process is gone. */
  opened(endsAt: Seconds): void {
    this.#wakeAt(endsAt)
  }

  #wakeAt(time: Seconds): void {
    if (this.#wakes.has(time) || this.stopped) return
    this.#wakes.add(time)
    once(Math.max(0, time * 1000 - Date.now()) + 1, this, (watch) => {
      watch.#wakes.delete(time)
      watch.wake()
    })
  }

  /** Looks now. Resolves when what was found has been tried. */
  async look(): Promise<void> {
    if (this.stopped) return
    const { provider, sessions } = this.#endings
    const limit = PAGE + this.#known.size
    const found = await sessions.findDue(provider.issuer, epochTime(), limit)
    const attempts = found.map((due) => this.#known.get(due.id) ?? this.#begin(due))
    if (found.length === limit) this.wake()
    await Promise.all(attempts)
  }

  /** Looks no more. What is under way ends by itself. */
  stop(): void {
    this.stopped = true
  }

  #begin(due: DueSession): Promise<void> {
    const lane = this.#lanes.get(due.clientId) ?? new Lane()
    this.#lanes.set(due.clientId, lane)
    const attempt = lane
      .run(async () => (this.stopped ? undefined : endDueSession(this.#endings, due)))
      .then((next) => next !== undefined && this.#wakeAt(next))
      // Storage fails: it stays open, and is found again.
      .catch(() => {})
      .then(() => {
        this.#known.delete(due.id)
        if (lane.isEmpty) this.#lanes.delete(due.clientId)
      })
    this.#known.set(due.id, attempt)
    return attempt
  }
}

/** The attempts to one client, so that a slow one delays no other. */
class Lane {
  readonly #waiting: (() => void)[] = []
  #running = 0

  get isEmpty(): boolean {
    return this.#running === 0
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running < AT_ONCE) this.#running += 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running -= 1
    }
  }
}

/** How old that number may be. */
const AGE: Seconds = 10
/** Open sessions end within `maxAccessTokenTTL`, a day at most, and are told for an hour; a week is after all of that. */
const LATEST: Seconds = 7 * 86_400
/** Upper bound of the gauge. */
const MOST = 1000

/**
 * How many sessions are open, as it was found last. Returns at once, and looks again in the background: a database that
 * does not respond must not keep a reader of metrics waiting.
 */
export function countOpenSessions(sessions: SessionStore, issuer: string): () => number | undefined {
  const recall = createMemory<'open', void>(1, true)
  let found: number | undefined
  const look = async () => {
    found = (await sessions.findDue(issuer, epochTime() + LATEST, MOST)).length
  }
  return () => {
    // The last finding is shown: a failing storage is told elsewhere.
    recall('open', AGE, look).catch(() => {})
    return found
  }
}
