/** The statements that list subject tokens. */
import { earliestId } from '../subject-tokens/id.ts'
import type { SubjectTokenFilter, SubjectTokenStore } from '../subject-tokens/store.ts'
import { LONGEST_LIFE, type SubjectTokenState } from '../subject-tokens/subject-token.ts'
import type { Dialect } from './database/dialect.ts'
import type { Bound } from './database/text.ts'
import {
  holds,
  lives,
  MARKED,
  NAMED,
  NEWEST,
  newestOf,
  newestOfAll,
  newestOfLive,
  OLDEST,
} from './subject-token-branches.ts'
import { COLUMNS } from './subject-token-rows.ts'

const STATES: Readonly<Record<SubjectTokenState, (now: () => string) => string>> = {
  revoked: () => 't.revoked_at IS NOT NULL',
  consumed: () => 't.revoked_at IS NULL AND t.consumed_at IS NOT NULL',
  expired: (now) => `t.revoked_at IS NULL AND t.consumed_at IS NULL AND t.expires_at <= ${now()}`,
  active: (now) => `t.revoked_at IS NULL AND t.consumed_at IS NULL AND t.expires_at > ${now()}`,
}

/** Two sizes, so that there are few texts; the rest is cut off. 101 rows show that there are more than 100. */
const PAGES = [51, 101]

/** Rows that are read for a page that no index finds alone. */
const MOST_READ = 1000

interface ListRequest {
  readonly dialect: Dialect
  readonly issuer: string
  readonly filter: SubjectTokenFilter
  readonly page: Parameters<SubjectTokenStore['list']>[2]
}

export interface Statement {
  readonly sql: string
  readonly bind: readonly Bound[]
}

export interface ListStatements {
  /** Finds the last id that may be read; no row if all may. Absent if an index finds the page alone. */
  readonly end?: Statement
  /** Finds one more than requested, if there are more. `from` is that last id. */
  readonly rows: (from?: string) => Statement
}

/** One text for each combination of filters, so that the server's prepared statements stay few. */
export function listStatements(request: ListRequest): ListStatements {
  const { filter, page } = request
  const size = PAGES.find((rows) => rows > page.limit) ?? Number(page.limit) + 1
  const walked = walkedBy(filter)
  const oldest = filter.createdAfter === undefined ? OLDEST : earliestId(filter.createdAfter)
  const all = walk(request, walked, { from: oldest, limit: size })
  if (restOf(filter, walked, all).length === 0) {
    return { rows: () => ({ sql: rowsOf(request.dialect, { found: all.found, size }), bind: all.bind }) }
  }
  const end = walk(request, walked, { from: oldest, limit: MOST_READ })
  return {
    end: {
      sql: `SELECT found FROM (${end.found}) rows_found ORDER BY found DESC LIMIT 1 OFFSET ${MOST_READ - 1}`,
      bind: end.bind,
    },
    rows: (from = oldest) => {
      // Bounded by `from`; twice as many, because others may have been issued since that was found.
      const walking = walk(request, walked, { from, limit: 2 * MOST_READ })
      const rest = restOf(filter, walked, walking)
      // Outside of what walks the index: a planner that expects few rows would look for them elsewhere.
      return { sql: rowsOf(request.dialect, { found: walking.found, size, rest }), bind: walking.bind }
    },
  }
}

type Selecting = (typeof NAMED | typeof MARKED)[number]
/** What the rows are found by: a name or a mark, what is live, or nothing in particular. */
type Walked = Selecting | 'live' | undefined

/** All that is live is read to find its newest, so only where that is the page. */
function walkedBy({ createdAfter, createdBefore, ...filter }: SubjectTokenFilter): Walked {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  if (given.length === 1 && filter.live === true) return 'live'
  return NAMED.find((by) => filter[by] !== undefined) ?? MARKED.find((mark) => filter[mark] === true)
}

interface Walk {
  readonly bind: Bound[]
  readonly bound: (value: Bound) => string
  readonly namesOf: (by: Selecting) => readonly string[]
  readonly now: () => string
  readonly found: string
}

/** The conditions that finding the rows leaves open. */
function restOf(filter: SubjectTokenFilter, walked: Walked, { namesOf, now }: Walk): string[] {
  const others = [...NAMED, ...MARKED].filter((by) => filter[by] !== undefined && by !== walked)
  const rest = others.map((by) => holds(by, namesOf(by)))
  if (filter.live !== undefined && walked !== 'live')
    rest.push(filter.live ? lives(now()) : `NOT ${lives(now())}`)
  if (filter.state !== undefined) rest.push(STATES[filter.state](now))
  return rest
}

function walk(
  { dialect, issuer, filter, page }: ListRequest,
  by: Walked,
  { from, limit }: { readonly from: string; readonly limit: number },
): Walk {
  const bind: Bound[] = []
  const bound = (value: Bound) => `$${bind.push(value)}`
  const namesOf = (name: Selecting): string[] => {
    const given = filter[name]
    if (typeof given === 'boolean') return [given ? '1' : '0']
    return [given ?? []].flat().map((value) => bound(dialect.bindName(value)))
  }
  const until = filter.createdBefore === undefined ? NEWEST : earliestId(filter.createdBefore)
  const { cursor = NEWEST } = page
  const span = {
    issuer: bound(dialect.bindName(issuer)),
    from: bound(from),
    below: bound(cursor < until ? cursor : until),
  }
  const now = () => bound(page.now)
  const rows = { bind, bound, namesOf, now }
  if (by === undefined) return { ...rows, found: newestOfAll(dialect, span, limit) }
  if (by !== 'live') return { ...rows, found: newestOf(dialect, { by, names: namesOf(by), span, limit }) }
  const life = { after: now(), before: bound(page.now + 2 * LONGEST_LIFE) }
  return { ...rows, found: newestOfLive(dialect, span, life, limit) }
}

interface Found {
  readonly found: string
  readonly size: number
  readonly rest?: readonly string[]
}

// A bound LIMIT reaches MySQL as a floating-point number, which it refuses.
function rowsOf(dialect: Dialect, { found, size, rest = [] }: Found): string {
  const where = rest.length > 0 ? `WHERE ${rest.join(' AND ')}` : ''
  return `SELECT ${COLUMNS} FROM (${found}) rows_found
    ${dialect.joinEach('subject_tokens', 't.id = rows_found.found')} ${where} ORDER BY rows_found.found DESC LIMIT ${size}`
}
