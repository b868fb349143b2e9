/** The statements that list subject tokens. */
import type { SubjectTokenFilter, SubjectTokenStore } from '../subject-tokens/store.ts'
import type { SubjectTokenState } from '../subject-tokens/subject-token.ts'
import type { Bound, Dialect } from './database/driver.ts'
import { holds, NAMED, NEWEST, newestOf, newestOfAll, OLDEST } from './subject-token-branches.ts'
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
  const [first, ...others] = NAMED.filter((by) => filter[by] !== undefined)
  if (others.length === 0 && filter.state === undefined) {
    return {
      rows: () => {
        const { bind, found } = walk(request, first, { from: OLDEST, limit: size })
        return { sql: rowsOf(request.dialect, { found, size }), bind }
      },
    }
  }
  const end = walk(request, first, { from: OLDEST, limit: MOST_READ })
  return {
    end: {
      sql: `SELECT found FROM (${end.found}) rows_found ORDER BY found DESC LIMIT 1 OFFSET ${MOST_READ - 1}`,
      bind: end.bind,
    },
    rows: (from = OLDEST) => {
      const { bind, bound, found, namesOf } = walk(request, first, { from, limit: MOST_READ })
      const rest = others.map((by) => holds(by, namesOf(by)))
      if (filter.state !== undefined) rest.push(STATES[filter.state](() => bound(page.now)))
      // Outside of what walks the index: a planner that expects few rows would look for them elsewhere.
      return { sql: rowsOf(request.dialect, { found, size, rest }), bind }
    },
  }
}

type Named = (typeof NAMED)[number]

function walk(
  { dialect, issuer, filter, page }: ListRequest,
  by: Named | undefined,
  { from, limit }: { readonly from: string; readonly limit: number },
) {
  const bind: Bound[] = []
  const bound = (value: Bound) => `$${bind.push(value)}`
  const namesOf = (name: Named) => [filter[name] ?? []].flat().map((value) => bound(dialect.bindName(value)))
  const names = by === undefined ? [] : namesOf(by)
  const span = {
    issuer: bound(dialect.bindName(issuer)),
    from: bound(from),
    below: bound(page.cursor ?? NEWEST),
  }
  const found =
    by === undefined ? newestOfAll(dialect, span, limit) : newestOf(dialect, { by, names, span, limit })
  return { bind, bound, found, namesOf }
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
