/** Lists: one index finds ids, the records are read by them, and what the filter means decides. */
import type { Seconds } from '../../base/clock.ts'
import { withoutUndefined } from '../../base/json.ts'
import { matches } from '../../tokens/filter.ts'
import { earliestId, isId } from '../../tokens/id.ts'
import type { SubjectTokenFilter, SubjectTokenPage, SubjectTokenStore } from '../../tokens/store.ts'
import { LONGEST_LIFE, type SubjectToken } from '../../tokens/subject-token.ts'
import type { Row } from '../database/text.ts'
import { withAcknowledgements } from './acknowledgements.ts'
import { type Found, type Place, partsOf, readRows } from './place.ts'
import { readToken } from './rows.ts'
import { NAMED, NEWEST, newest, newestNamed, unended } from './walks.ts'

/** Two sizes, so that there are few texts; the rest is cut off. 101 rows show that there are more than 100. */
const PAGES = [51, 101]

/** Rows that are read for a page that no index finds alone, and how many of them are read together. */
const MOST_READ = 1000
const [FIRST, OTHERS] = [101, 500]

/** Uses that are looked at first for what lives: mostly enough for a page. */
const NEWEST_USES = 151

type Page = Parameters<SubjectTokenStore['list']>[2]

export async function list(place: Place, filter: SubjectTokenFilter, page: Page): Promise<SubjectTokenPage> {
  if (filter.id !== undefined && !isId(filter.id)) return { tokens: [] }
  const { limit, now } = page
  const most = mostFor(filter, limit)
  const walked: string[] = []
  const tokens: SubjectToken[] = []
  const isMeant = meantBy(filter, now)
  for await (const [ids, found] of walk(place, filter, page, most)) {
    walked.push(...ids)
    const rows = await readRows(place, ids, found, isMeant)
    const records = rows.map((row) => readToken(place, row))
    const told = filter.unacknowledged ? await withAcknowledgements(place, records) : records
    tokens.push(...told.filter((token) => matches(token, filter, now)))
    if (tokens.length > limit) break
  }
  const listed = await withAcknowledgements(place, tokens.slice(0, limit))
  const next = tokens.length > limit ? listed.at(-1)?.id : walked[most - 1]
  return { tokens: listed, ...(next !== undefined && { next }) }
}

/** Whether a row may be meant, by the parts that have been read so far. What has ended is neither active nor live. */
function meantBy({ live, state }: SubjectTokenFilter, now: Seconds): (row: Row) => boolean {
  const lasts = (end: unknown) => end === undefined || Number(end) > now
  return (row) =>
    (state !== 'active' || lasts(row.expires_at)) && (!live || lasts(row.u_access_token_expires_at))
}

/** How many ids are walked. No more than the page has where the walk decides all that the filter says, but for times. */
function mostFor({ createdAfter, createdBefore, ...filter }: SubjectTokenFilter, limit: number): number {
  const [name, another] = Object.keys(withoutUndefined(filter))
  if (another !== undefined || name === 'unacknowledged') return MOST_READ
  if (name === 'live' && filter.live) return Number.POSITIVE_INFINITY
  const { replayed, withoutActor, state } = filter
  const decides = [...NAMED, 'id', undefined].some((by) => by === name)
  return decides || replayed || withoutActor || state === 'revoked' ? limit + 1 : MOST_READ
}

/** The newest that may be meant, in parts. */
async function* walk(
  place: Place,
  filter: SubjectTokenFilter,
  { cursor = NEWEST, now }: Page,
  most: number,
): AsyncGenerator<readonly [ids: readonly string[], found: Found]> {
  const { id, createdAfter = 0, createdBefore, live, replayed, withoutActor, unacknowledged, state } = filter
  // A token that has not ended was issued since.
  const since = live || state === 'active' ? Math.max(createdAfter, now - 2 * LONGEST_LIFE) : createdAfter
  const until = createdBefore === undefined ? NEWEST : earliestId(createdBefore)
  const limit = PAGES.find((size) => size >= most) ?? Math.min(most, MOST_READ)
  const sought = { from: earliestId(since), below: cursor < until ? cursor : until, limit }
  const named = NAMED.find((by) => filter[by] !== undefined)
  const find = async (): Promise<Found> => {
    if (id !== undefined) return new Map(id >= sought.from && id < sought.below ? [[id, {}]] : [])
    if (named !== undefined) return newestNamed(place, named, [filter[named] ?? []].flat(), sought)
    if (replayed) return newest(place, 'replayed', sought)
    if (withoutActor) return newest(place, 'withoutActor', sought)
    if (unacknowledged) return newest(place, 'alarming', sought)
    if (live) return newest(place, 'used', sought)
    if (state === 'active') return unended(place, 'open', now, sought)
    return newest(place, state === 'revoked' ? 'revoked' : 'issued', sought)
  }
  if (most !== Number.POSITIVE_INFINITY) yield* inParts(await find(), most)
  else {
    const used = await newest(place, 'used', { ...sought, limit: NEWEST_USES })
    const ids = [...used.keys()]
    // The stops of uses that follow one another follow one another, too.
    const from = ids.at(-1) ?? sought.below
    const stopped = await newest(place, 'revoked', { ...sought, from, limit: NEWEST_USES })
    yield* inParts(
      new Map([...used].filter(([it, { u_kept: kept }]) => !stopped.has(it) || kept !== null)),
      most,
    )
    const below = ids[NEWEST_USES - 1]
    if (below !== undefined)
      yield* inParts(await unended(place, 'live', now, { from: sought.from, below }), most)
  }
}

/** The first are mostly enough. */
function inParts(found: Found, most: number) {
  const ids = [...found.keys()].slice(0, most)
  return [ids.slice(0, FIRST), ...partsOf(ids.slice(FIRST), OTHERS)]
    .filter((part) => part.length > 0)
    .map((part) => [part, found] as const)
}
