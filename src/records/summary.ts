import { setImmediate } from 'node:timers/promises'
import { createMemory, epochTime, type Seconds } from '../base/clock.ts'
import type { Service } from '../provider/settings.ts'
import type { SubjectTokenCounts, SubjectTokenStore } from '../tokens/store.ts'
import { assertKnown } from './fields.ts'
import { type Given, parseWhole } from './list.ts'

/** Counts of records (docs/protocol.md §2.2), at most a minute old, and an hour for what is older than three days. */
export interface RecordSummary {
  /** How many are live right now. */
  readonly live: number
  /** UTC days of creation, oldest first. */
  readonly days: readonly ({ readonly date: string } & SubjectTokenCounts)[]
}

const DAY: Seconds = 86_400

/** How old a count may be: little happens any more to what was created long ago. */
const RECENT_DAYS = 3
const RECENT: Seconds = 60
const EARLIER: Seconds = 3600

/** The last day is today. Days are counted one after another, and kept. */
export async function summarizeSubjectTokens(
  { provider, store }: Service,
  days: number,
): Promise<RecordSummary> {
  const { issuer } = provider
  const { ofDays, ofLive } = memoryOf(store)
  const today = Math.floor(epochTime() / DAY)
  const summaries: RecordSummary['days'][number][] = []
  for (let day = today - days + 1; day <= today; day += 1) {
    const age = day > today - RECENT_DAYS ? RECENT : EARLIER
    const counts = await ofDays(day, age, () =>
      sum(store.summarize(issuer, day * DAY, (day + 1) * DAY), addCounts, NOTHING),
    )
    summaries.push({ date: new Date(day * DAY * 1000).toISOString().slice(0, 10), ...counts })
  }
  // Live tokens are counted last, because days that were not counted yet may take a while.
  const live = await ofLive('live', RECENT, () => sum(store.countLive(issuer, epochTime()), add, 0))
  return { live, days: summaries }
}

/** One for each deployment in this process, which has a store of its own, however many routers it has. */
const memories = new WeakMap<SubjectTokenStore, ReturnType<typeof createMemories>>()

const DEFAULT_DAYS = 30
/** The longest summary. */
const MAX_DAYS = 90

/** How many days a summary has. */
export function parseSummaryRequest(given: Given<'days'>): number {
  assertKnown(given, ['days'])
  return given.days === undefined ? DEFAULT_DAYS : parseWhole('days', given.days, MAX_DAYS)
}

const createMemories = () => ({
  ofDays: createMemory<number, SubjectTokenCounts>(MAX_DAYS + 1),
  ofLive: createMemory<'live', number>(1),
})

function memoryOf(store: SubjectTokenStore) {
  const known = memories.get(store) ?? createMemories()
  memories.set(store, known)
  return known
}

/** The members that leave are chosen here. */
const COUNTS = ['issued', 'exchanged', 'withoutActor', 'revoked', 'ended', 'replayed'] as const

const countsBy = (count: (name: keyof SubjectTokenCounts) => number) =>
  Object.fromEntries(COUNTS.map((name) => [name, count(name)])) as Readonly<
    Record<(typeof COUNTS)[number], number>
  >

const NOTHING: SubjectTokenCounts = countsBy(() => 0)

const add = (one: number, other: number): number => one + other

const addCounts = (one: SubjectTokenCounts, other: SubjectTokenCounts): SubjectTokenCounts =>
  countsBy((name) => one[name] + other[name])

async function sum<Value>(
  slices: AsyncIterable<Value>,
  plus: (one: Value, other: Value) => Value,
  start: Value,
): Promise<Value> {
  let total = start
  for await (const slice of slices) {
    total = plus(total, slice)
    // A synchronous driver would otherwise count slice after slice in one turn of the event loop.
    await setImmediate()
  }
  return total
}
