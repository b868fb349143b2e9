/** Counts, in slices: a driver that is synchronous blocks the event loop for one of them at a time. */
import type { Seconds } from '../../base/clock.ts'
import { earliestId } from '../../tokens/id.ts'
import type { SubjectTokenCounts } from '../../tokens/store.ts'
import { LONGEST_LIFE } from '../../tokens/subject-token.ts'
import type { Dialect } from '../database/dialect.ts'
import { STOPS, TOKENS, USES } from '../tables.ts'
import type { Place } from './place.ts'
import { stepOf } from './rows.ts'
import { newest } from './walks.ts'

/** Tokens that one statement counts, in the entries of indexes. */
const SLICE = 5000

const ENDED = `s.cause IN ('self', 'continued', 'signedOut')`

const within = (alias: string, id = 'token_id'): string =>
  `${alias}.issuer = $1 AND ${alias}.${id} >= $2 AND ${alias}.${id} < $3`

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
    FROM ${STOPS.name} s WHERE ${within('s')}) s`

/** From the newest to the oldest. */
export async function* summarize(
  place: Place,
  from: Seconds,
  until: Seconds,
): AsyncGenerator<SubjectTokenCounts> {
  const { database, dialect, number } = place
  const oldest = earliestId(from)
  for (let below = earliestId(until); ; ) {
    const slice = await newest(place, 'issued', { from: oldest, below, limit: SLICE })
    const last = [...slice.keys()][SLICE - 1]
    const first = last ?? oldest
    const bind = [number, dialect.bindId(first), dialect.bindId(below)]
    const [row = {}] = await database.find(countIn(dialect), bind)
    yield {
      issued: Number(row.issued),
      exchanged: Number(row.ended_rows) - Number(row.tombstones),
      withoutActor: Number(row.without_actor),
      revoked: Number(row.stopped) - Number(row.ended),
      ended: Number(row.ended),
      replayed: Number(row.replayed),
    }
    if (last === undefined) return
    below = first
  }
}

/** Unexpired tokens, by the index of their expiry, bounded on both sides. A subselect: a planner would read all stops. */
export async function* countLive({ database, dialect, number }: Place, now: Seconds): AsyncGenerator<number> {
  const bind = [number, stepOf(now), stepOf(now + 2 * LONGEST_LIFE), now]
  const sql = `SELECT COUNT(*) AS live
  FROM ${USES.name} u ${dialect.by(`${USES.name}_live`)}
  WHERE u.issuer = $1 AND u.live >= $2 AND u.live <= $3 AND u.access_token_expires_at > $4
    AND (u.kept = 1 OR (SELECT s.stopped_at FROM ${STOPS.name} s
      WHERE s.issuer = u.issuer AND s.token_id = u.token_id) IS NULL)`
  const [row] = await database.find(sql, bind)
  yield Number(row?.live)
}
