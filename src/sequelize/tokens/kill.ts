/** The kill switch, batch by batch. */
import type { Seconds } from '../../base/clock.ts'
import { matches, namesOf } from '../../tokens/filter.ts'
import { earliestId } from '../../tokens/id.ts'
import type { KillFilter, Revoked } from '../../tokens/store.ts'
import { LONGEST_LIFE } from '../../tokens/subject-token.ts'
import { hexOf, type Row } from '../database/text.ts'
import { type Place, partsOf, readRows } from './place.ts'
import { readRevoked, readToken } from './rows.ts'
import { canStop, lives, type Stop, stop } from './stop.ts'
import { NAMED, NEWEST, newestNamed, unended } from './walks.ts'

/** Rows of a name that are looked at. A name with more is looked for among all that is open, and all that lives. */
const FEW = 1000
/** Rows that are stopped together. */
const BATCH = 500
/** Walks through the rows: more than one, because others commit meanwhile, but bounded, so that it ends. */
const WALKS = 5

/** Reads each batch before the next one is stopped: if the database fails, the caller misses one batch at most. */
export async function* killInBatches(
  place: Place,
  filter: KillFilter,
  how: Stop,
): AsyncGenerator<readonly Revoked[]> {
  const startedAt = Date.now()
  for (let walk = 0; walk < WALKS; walk += 1) {
    let found = 0
    for (const part of partsOf(await idsOf(place, filter, how.now), BATCH)) {
      const left = (await readRows(place, part)).filter(
        // Someone could exchange it, or its access token has not expired.
        (one) =>
          canStop(one, how.now) &&
          isLeft(one, walk > 0) &&
          matches(readToken(place, one), namesOf(filter), how.now),
      )
      if (left.length === 0) continue
      found += left.length
      // The caller may take its time between batches, and status lists look back only so far.
      const passed = Math.floor(Math.max(0, Date.now() - startedAt) / 1000)
      const now = how.now + passed
      const stopped = await stop(place, left, { ...how, now })
      const before = new Set(left.filter((row) => row.s_stopped_at === null).map(({ id }) => hexOf(id)))
      const told = stopped.filter((row) => before.has(hexOf(row.id)) || lives(row, now))
      if (told.length > 0) yield told.map((row) => readRevoked(place, row))
    }
    if (found === 0) return
  }
}

/** The tokens of a name, or of any name where it has too many. Older ones are left out: their access tokens must have expired. */
async function idsOf(place: Place, filter: KillFilter, now: Seconds): Promise<readonly string[]> {
  const names = namesOf(filter)
  const from = earliestId(now - 2 * LONGEST_LIFE)
  const by = NAMED.find((name) => names[name] !== undefined) ?? 'userId'
  const few = await newestNamed(place, by, [names[by] ?? []].flat(), { from, below: NEWEST, limit: FEW })
  if (few.size < FEW) return [...few.keys()]
  // A token that is spent in between is among the first: its subject token has not expired.
  const open = await unended(place, 'open', now)
  return [...new Map([...open, ...(await unended(place, 'live', now))]).keys()]
}

/** No one has stopped it; or, at the first walk, the call that did may have died before it had ended it, or told of it. */
const isLeft = (row: Row, again: boolean): boolean =>
  row.s_stopped_at === null ||
  (!again && (row.u_token_id === null || (row.s_reported === null && row.u_used_at !== null)))
