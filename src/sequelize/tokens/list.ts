/** The statements that list records. */
import { earliestId, isId } from '../../subject-tokens/id.ts'
import type { SubjectTokenFilter, SubjectTokenPage, SubjectTokenStore } from '../../subject-tokens/store.ts'
import type { SubjectTokenState } from '../../subject-tokens/subject-token.ts'
import type { Bound } from '../database/text.ts'
import { hexOf } from '../database/values.ts'
import { ACKNOWLEDGEMENTS } from '../tables.ts'
import { withAcknowledgements } from './acknowledgements.ts'
import {
  holds,
  NAMED,
  type Named,
  NEWEST,
  newestAlarming,
  newestOf,
  newestOfAll,
  newestReplayed,
  newestStopped,
  newestWithoutActor,
  OLDEST,
} from './branches.ts'
import { findLive, lives } from './live.ts'
import { type Place, recordsOf, recordsOfStops, recordsWith } from './place.ts'
import { RECORD, readToken } from './rows.ts'

const STATES: Readonly<Record<SubjectTokenState, (now: () => string) => string>> = {
  revoked: () => 's.stopped_at IS NOT NULL',
  consumed: () => 's.stopped_at IS NULL AND u.used_at IS NOT NULL',
  expired: (now) => `s.stopped_at IS NULL AND u.used_at IS NULL AND t.expires_at <= ${now()}`,
  active: (now) => `s.stopped_at IS NULL AND u.used_at IS NULL AND t.expires_at > ${now()}`,
}

/** Used again, or exchanged without an actor; and what was said of it covers no replay that there is. */
const UNACKNOWLEDGED = `(s.replayed_at IS NOT NULL OR COALESCE(u.actor_id, 'any') = '')
  AND COALESCE((SELECT MAX(a.covers_replay) FROM ${ACKNOWLEDGEMENTS.name} a
    WHERE a.issuer = t.issuer AND a.token_id = t.id), -1) < CASE WHEN s.replayed_at IS NULL THEN 0 ELSE 1 END`

/** What finds rows that have no name in common, by the filter that they then fulfil. */
const SELECTED = { replayed: newestReplayed, withoutActor: newestWithoutActor, revoked: newestStopped }
type Selected = keyof typeof SELECTED

/** Two sizes, so that there are few texts; the rest is cut off. 101 rows show that there are more than 100. */
const PAGES = [51, 101]

/** Rows that are read for a page that no index finds alone. */
const MOST_READ = 1000

type Page = Parameters<SubjectTokenStore['list']>[2]

interface Request {
  readonly place: Place
  readonly filter: SubjectTokenFilter
  readonly page: Page
}

export async function list(place: Place, filter: SubjectTokenFilter, page: Page): Promise<SubjectTokenPage> {
  if (filter.id !== undefined && !isId(filter.id)) return { tokens: [] }
  if (isOfLiveAlone(filter)) return listLive({ place, filter, page })
  const { database } = place
  const { end, rows } = listStatements({ place, filter, page })
  const [last] = end ? await database.find(end.sql, end.bind) : []
  const stoppedAt = last && hexOf(last.found)
  const { sql, bind } = rows(stoppedAt)
  const found = (await database.find(sql, bind)).map((row) => readToken(place, row))
  const tokens = await withAcknowledgements(place, found.slice(0, page.limit))
  const next = found.length > page.limit ? tokens.at(-1)?.id : stoppedAt
  return { tokens, ...(next !== undefined && { next }) }
}

/** Whatever the times. */
function isOfLiveAlone({ createdAfter, createdBefore, ...filter }: SubjectTokenFilter): boolean {
  const given = Object.values(filter).filter((value) => value !== undefined)
  return given.length === 1 && filter.live === true
}

async function listLive({ place, filter, page }: Request): Promise<SubjectTokenPage> {
  const { limit, now } = page
  const ids = await findLive(place, { ...boundsOf(filter, page), now, limit: limit + 1 })
  if (ids.length === 0) return { tokens: [] }
  const listed = place.dialect.idsFrom(3, ids.slice(0, limit))
  // Some may have been stopped since.
  const sql = `SELECT ${RECORD} FROM ${recordsWith(place.dialect, listed)} AND ${lives('$2')} ORDER BY t.id DESC`
  const rows = await place.database.find(sql, [place.number, now, ...listed.bind])
  const tokens = await withAcknowledgements(
    place,
    rows.map((row) => readToken(place, row)),
  )
  const next = ids.length > limit ? ids[limit - 1] : undefined
  return { tokens, ...(next !== undefined && { next }) }
}

interface Statement {
  readonly sql: string
  readonly bind: readonly Bound[]
}

interface Statements {
  /** Finds the last id that may be read; no row if all may. Absent if an index finds the page alone. */
  readonly end?: Statement
  /** Finds one more than requested, if there are more. `from` is that last id. */
  readonly rows: (from?: string) => Statement
}

/** One text for each combination of filters, so that they stay few. */
function listStatements(request: Request): Statements {
  const { filter, page } = request
  const size = PAGES.find((rows) => rows > page.limit) ?? Number(page.limit) + 1
  const walked = walkedBy(filter)
  const { from: oldest } = boundsOf(filter, page)
  const all = walk(request, walked, { from: oldest, limit: size })
  if (restOf(filter, walked, all).length === 0) return { rows: () => rowsOf(all, size) }
  const end = walk(request, walked, { from: oldest, limit: MOST_READ })
  return {
    end: {
      sql: `SELECT found FROM (${end.found}) rows_found ORDER BY found DESC LIMIT 1 OFFSET ${MOST_READ - 1}`,
      bind: end.bind,
    },
    rows: (from = oldest) => {
      // Bounded by `from`; twice as many, because others may have been issued since that was found.
      const walking = walk(request, walked, { from, limit: 2 * MOST_READ })
      return rowsOf(walking, size, restOf(filter, walked, walking))
    },
  }
}

/** What the rows are found by: a name, what they have in common, or nothing in particular. */
type Walked = Named | Selected | 'alarming' | undefined

function walkedBy(filter: SubjectTokenFilter): Walked {
  const named = NAMED.find((by) => filter[by] !== undefined)
  if (named !== undefined) return named
  if (filter.replayed) return 'replayed'
  if (filter.withoutActor) return 'withoutActor'
  if (filter.unacknowledged) return 'alarming'
  return filter.state === 'revoked' ? 'revoked' : undefined
}

interface Walk {
  readonly bind: Bound[]
  readonly namesOf: (by: Named) => readonly string[]
  readonly now: () => string
  readonly found: string
  /** The records of what is found. */
  readonly records: string
}

/** The conditions that finding the rows leaves open. */
function restOf(filter: SubjectTokenFilter, walked: Walked, { namesOf, now }: Walk): string[] {
  const others = NAMED.filter((by) => filter[by] !== undefined && by !== walked)
  const rest = others.map((by) => holds(by, namesOf(by)))
  const { live, replayed, withoutActor, unacknowledged, state } = filter
  const byNobody = "COALESCE(u.actor_id, 'any') = ''"
  if (live !== undefined) rest.push(live ? lives(now()) : `NOT ${lives(now())}`)
  if (replayed !== undefined && walked !== 'replayed')
    rest.push(`s.replayed_at IS ${replayed ? 'NOT NULL' : 'NULL'}`)
  if (withoutActor !== undefined && walked !== 'withoutActor')
    rest.push(withoutActor ? byNobody : `NOT ${byNobody}`)
  if (unacknowledged) rest.push(UNACKNOWLEDGED)
  if (state !== undefined && walked !== state) rest.push(STATES[state](now))
  return rest
}

/** Between which ids the page lies, the second one left out. */
function boundsOf({ createdAfter, createdBefore }: SubjectTokenFilter, { cursor = NEWEST }: Page) {
  const until = createdBefore === undefined ? NEWEST : earliestId(createdBefore)
  return {
    from: createdAfter === undefined ? OLDEST : earliestId(createdAfter),
    below: cursor < until ? cursor : until,
  }
}

interface Limits {
  readonly from: string
  readonly limit: number
}

function walk({ place, filter, page }: Request, by: Walked, { from, limit }: Limits): Walk {
  const { dialect } = place
  const bind: Bound[] = []
  const bound = (value: Bound) => `$${bind.push(value)}`
  const namesOf = (name: Named): string[] =>
    [filter[name] ?? []]
      .flat()
      .map((value) => bound(name === 'id' ? dialect.bindId(value) : dialect.bindName(value)))
  const span = {
    issuer: bound(place.number),
    from: bound(dialect.bindId(from)),
    below: bound(dialect.bindId(boundsOf(filter, page).below)),
  }
  const now = () => bound(page.now)
  const find = (): string => {
    if (by === undefined) return newestOfAll(dialect, span, limit)
    if (by === 'alarming') return newestAlarming(dialect, span, limit)
    if (by === 'replayed' || by === 'withoutActor' || by === 'revoked')
      return SELECTED[by](dialect, span, limit)
    return newestOf(dialect, { by, names: namesOf(by), span, limit })
  }
  const found = find()
  const records = by === 'replayed' || by === 'revoked' ? recordsOfStops : recordsOf
  return { bind, namesOf, now, found, records: records(dialect, found, '$1') }
}

/** `rest` stands outside of what walks the index: a planner that expects few rows would look for them elsewhere. */
function rowsOf({ records, bind }: Walk, size: number, rest: readonly string[] = []): Statement {
  const where = rest.length === 0 ? '' : `WHERE ${rest.join(' AND ')}`
  // A bound LIMIT reaches MySQL as a floating-point number, which it refuses.
  return { sql: `SELECT ${RECORD} FROM ${records} ${where} ORDER BY t.id DESC LIMIT ${size}`, bind }
}
