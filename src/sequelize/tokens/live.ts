/** What is open, and what lives: rows share steps of 300 s, which an index finds. */
import type { Seconds } from '../../clock.ts'
import { earliestId } from '../../subject-tokens/id.ts'
import { LONGEST_LIFE } from '../../subject-tokens/subject-token.ts'
import type { Bound, Row } from '../database/text.ts'
import { hexOf } from '../database/values.ts'
import { STOPS, TOKENS, USES } from '../tables.ts'
import type { Span } from './branches.ts'
import type { Place } from './place.ts'
import { stepOf } from './rows.ts'

/** Where rows end, in steps. */
const ENDS = {
  open: { table: TOKENS.name, column: 'open' },
  live: { table: USES.name, column: 'live' },
} as const

export type Ending = keyof typeof ENDS

/** No token lives longer. */
const lastStep = (now: Seconds): number => stepOf(now + 2 * LONGEST_LIFE)

/** The steps in which rows end that have not ended yet. */
export async function* stepsOf(
  { database, dialect, number }: Place,
  ending: Ending,
  now: Seconds,
): AsyncGenerator<number> {
  const { table, column } = ENDS[ending]
  const next = `SELECT ${column} AS step FROM ${table} ${dialect.by(`${table}_${column}`)}
    WHERE issuer = $1 AND ${column} >= $2 AND ${column} <= $3 ORDER BY ${column} LIMIT 1`
  for (let from = stepOf(now); ; ) {
    const [row] = await database.find(next, [number, from, lastStep(now)])
    if (!row) return
    const step = Number(row.step)
    yield step
    from = step + 1
  }
}

/** Not expired, and not stopped, or nothing could stop it; of a row that was found otherwise. */
export const lives = (now: string): string =>
  `(COALESCE(u.access_token_expires_at, 0) > ${now} AND (s.stopped_at IS NULL OR COALESCE(u.kept, 0) = 1))`

/** Rows of uses that are read at once, by the key. The first are mostly enough for a page. */
const WINDOWS = { first: 250, next: 4000 }
/** The same by the index of what has not expired, in which neighbours may be of any times. */
const SPARSE = 1000

interface Search {
  readonly now: Seconds
  readonly from: string
  readonly below: string
  readonly limit: number
}

/**
 * The ids of the newest tokens that live, from `from` on and below `below`; a stop leaves the use as it is, so that
 * windows of uses are compared with the stops of the same time. They are read by the key as long as most have not
 * expired; what else has not expired is found by the index of that.
 */
export async function findLive(place: Place, { now, from, below, limit }: Search): Promise<string[]> {
  const oldest = earliestId(now - 2 * LONGEST_LIFE)
  const bounds = { now, from: from < oldest ? oldest : from }
  const live: string[] = []
  let [sparse, rows, until] = [false, WINDOWS.first, below]
  for (;;) {
    const { sql, bind } = (sparse ? newestUnexpired : newestUses)(place, {
      ...bounds,
      below: until,
      limit: rows,
    })
    const window = await place.database.find(sql, bind)
    const unexpired = window.filter(({ ends }) => Number(ends) > now)
    live.push(...(await withoutStopped(place, unexpired, sparse)))
    if (live.length >= limit || window.length < rows) return live.slice(0, limit)
    until = hexOf(window.at(-1)?.found)
    sparse ||= 2 * unexpired.length < window.length
    rows = sparse ? SPARSE : WINDOWS.next
  }
}

const SPAN: Span = { issuer: '$1', from: '$2', below: '$3' }
const WINDOW = {
  table: `${USES.name} u`,
  key: 'u.token_id',
  more: ['u.access_token_expires_at AS ends', 'u.kept'],
  ...{ from: SPAN.from, below: SPAN.below },
}

interface Statement {
  readonly sql: string
  readonly bind: readonly Bound[]
}

const newestUses = ({ dialect, number }: Place, { from, below, limit }: Search): Statement => ({
  sql: dialect.selectNewest({ ...WINDOW, equal: { 'u.issuer': SPAN.issuer }, limit }),
  bind: [number, dialect.bindId(from), dialect.bindId(below)],
})

const newestUnexpired = ({ dialect, number }: Place, { now, from, below, limit }: Search): Statement => ({
  sql: dialect.selectNewestOf({
    ...WINDOW,
    index: `${USES.name}_live`,
    // Bounded on both sides, or a planner without statistics expects a third of the table.
    where: 'u.issuer = $1 AND u.live >= $4 AND u.live <= $5 AND u.access_token_expires_at > $6',
    limit,
  }),
  bind: [number, dialect.bindId(from), dialect.bindId(below), stepOf(now), lastStep(now), now],
})

/** The ids of those that no one has stopped, or that nothing could stop. */
async function withoutStopped(place: Place, uses: readonly Row[], sparse: boolean): Promise<string[]> {
  const all = uses.map((row) => ({ id: hexOf(row.found), kept: row.kept !== null }))
  const ids = all.flatMap(({ id, kept }) => (kept ? [] : [id]))
  const stopped = ids.length === 0 ? new Set() : await findStoppedOf(place, ids, sparse)
  return all.flatMap(({ id, kept }) => (kept || !stopped.has(id) ? [id] : []))
}

/** Which of the ids were stopped; these are the newest first. Unless they are sparse, all stops between them are read. */
async function findStoppedOf(
  place: Place,
  ids: readonly string[],
  sparse: boolean,
): Promise<ReadonlySet<string>> {
  const { database, dialect, number } = place
  const each = dialect.idsFrom(2, ids)
  const between = [ids.at(-1), ids[0]].map((id = '') => dialect.bindId(id))
  const those = sparse ? each.among('s.token_id') : 's.token_id >= $2 AND s.token_id <= $3'
  // Their times are looked at here: as a condition they would invite a planner to begin at their index.
  const sql = `SELECT s.token_id, s.stopped_at FROM ${STOPS.name} s WHERE s.issuer = $1 AND ${those}`
  const rows = await database.find(sql, [number, ...(sparse ? each.bind : between)])
  return new Set(rows.flatMap((row) => (row.stopped_at === null ? [] : [hexOf(row.token_id)])))
}

/** Whether a row of uses lives. A subselect: a planner would read all stops for a join. */
const LIVES = `(u.kept = 1 OR (SELECT s.stopped_at FROM ${STOPS.name} s
  WHERE s.issuer = u.issuer AND s.token_id = u.token_id) IS NULL)`

/** Step by step. */
export async function* countLive(place: Place, now: Seconds): AsyncGenerator<number> {
  const sql = `SELECT COUNT(*) AS live FROM ${USES.name} u ${place.dialect.by(`${USES.name}_live`)}
    WHERE u.issuer = $1 AND u.live = $2 AND u.access_token_expires_at > $3 AND ${LIVES}`
  for await (const step of stepsOf(place, 'live', now)) {
    const [row] = await place.database.find(sql, [place.number, step, now])
    yield Number(row?.live)
  }
}
