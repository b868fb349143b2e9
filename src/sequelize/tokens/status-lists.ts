/** Reads for the status lists: the stopped tokens, and the lists there are. */
import type { Seconds } from '../../base/clock.ts'
import { earliestId } from '../../tokens/id.ts'
import type { StoppedToken } from '../../tokens/store.ts'
import type { Database } from '../database/database.ts'
import { STOPS, TOKENS, USES } from '../tables.ts'
import type { Place } from './place.ts'

/**
 * Read from stops alone: the use is read only where there was none at the stop. Bounded on both sides, or a planner without
 * statistics would begin at the issuer.
 */
export async function findStopped(
  { database, dialect, number }: Place,
  since: Seconds,
): Promise<StoppedToken[]> {
  const sql = `SELECT s.number, COALESCE(s.ends, (SELECT u.access_token_expires_at FROM ${USES.name} u
    WHERE u.issuer = s.issuer AND u.token_id = s.token_id)) AS ends
  FROM ${STOPS.name} s ${dialect.by(`${STOPS.name}_stopped_at`)}
  WHERE s.issuer = $1 AND s.stopped_at >= $2 AND s.stopped_at < ${Number.MAX_SAFE_INTEGER}`
  const rows = await database.find(sql, [number, since])
  return rows
    .filter(({ ends }) => ends !== null)
    .map((row) => ({ statusIndex: Number(row.number), expiresAt: Number(row.ends) }))
}

/** Tokens that are issued at the same moment get their ids and their status indexes in different orders. */
const UNORDERED = 200

const LAST = `SELECT MAX(number) AS number FROM ${TOKENS.name} WHERE number < $1`

const RECENT = `SELECT COUNT(*) AS number FROM ${TOKENS.name}
  WHERE number <= $1 AND number > $2 AND id >= $3`

/** From the list of the highest number down, by the last tokens of each, so that its cost is the number of lists. */
export async function findStatusLists(
  database: Database,
  size: number,
  since: Seconds,
): Promise<readonly number[]> {
  const oldest = database.dialect.bindId(earliestId(since))
  const lists: number[] = []
  for (let below = Number.MAX_SAFE_INTEGER; ; ) {
    const [last] = await database.find(LAST, [below])
    if (!last || last.number === null) return lists
    const number = Number(last.number)
    const [recent] = await database.find(RECENT, [number, number - UNORDERED, oldest])
    const isRecent = Number(recent?.number) > 0
    if (isRecent || lists.length === 0) lists.unshift(Math.floor(number / size))
    if (!isRecent) return lists
    below = number - (number % size)
  }
}
