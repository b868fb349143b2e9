/** Counts, in slices: a driver that is synchronous blocks the event loop for one of them at a time. */
import type { Seconds } from '../../clock.ts'
import { earliestId } from '../../subject-tokens/id.ts'
import type { SubjectTokenCounts } from '../../subject-tokens/store.ts'
import type { Dialect } from '../database/dialect.ts'
import { hexOf } from '../database/values.ts'
import { STOPS, TOKENS, USES } from '../tables.ts'
import { newestOfAll } from './branches.ts'
import type { Place } from './place.ts'

/** Tokens that one statement counts, in the entries of indexes. */
const SLICE = 5000

const ENDED = `s.cause IN ('self', 'continued', 'signedOut')`

const within = (alias: string, id = 'token_id'): string =>
  `${alias}.issuer = $1 AND ${alias}.${id} >= $2 AND ${alias}.${id} < $3`

const STOPPED = `FROM ${STOPS.name} s WHERE ${within('s')}`

/** A stop that came first has left a row among the uses, too; what had been spent by then is known to have none. */
const countIn = (dialect: Dialect): string => `SELECT
  (SELECT COUNT(*) FROM ${TOKENS.name} t WHERE ${within('t', 'id')}) AS issued,
  (SELECT COUNT(*) FROM ${USES.name} u WHERE ${within('u')}) AS ended_rows,
  (SELECT COUNT(*) FROM ${USES.name} u ${dialect.by(`${USES.name}_actor_id`)}
    WHERE u.actor_id = '' AND ${within('u')}) AS without_actor,
  s.* FROM (SELECT COUNT(s.stopped_at) AS stopped, COUNT(CASE WHEN s.stopped_at IS NOT NULL AND ${ENDED} THEN 1 END) AS ended,
    COUNT(s.replayed_at) AS replayed,
    COUNT(CASE WHEN s.ends IS NULL AND (SELECT u.issuer FROM ${USES.name} u
      WHERE u.issuer = s.issuer AND u.token_id = s.token_id AND u.used_at IS NULL) IS NOT NULL THEN 1 END) AS tombstones
    ${STOPPED}) s`

/** From the newest to the oldest. */
export async function* summarize(
  { database, dialect, number }: Place,
  from: Seconds,
  until: Seconds,
): AsyncGenerator<SubjectTokenCounts> {
  const found = newestOfAll(dialect, { issuer: '$1', from: '$2', below: '$3' }, SLICE)
  const end = `SELECT found FROM (${found}) rows_found ORDER BY found DESC LIMIT 1 OFFSET ${SLICE - 1}`
  const oldest = dialect.bindId(earliestId(from))
  for (let below = dialect.bindId(earliestId(until)); ; ) {
    const [last] = await database.find(end, [number, oldest, below])
    const first = last ? dialect.bindId(hexOf(last.found)) : oldest
    const [row = {}] = await database.find(countIn(dialect), [number, first, below])
    const [stopped, ended] = [Number(row.stopped), Number(row.ended)]
    yield {
      issued: Number(row.issued),
      exchanged: Number(row.ended_rows) - Number(row.tombstones),
      withoutActor: Number(row.without_actor),
      revoked: stopped - ended,
      ended,
      replayed: Number(row.replayed),
    }
    if (!last) return
    below = first
  }
}
