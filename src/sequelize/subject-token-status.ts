/** What the status lists read: which tokens were stopped, and which lists there are. */
import type { Seconds } from '../clock.ts'
import { earliestId } from '../subject-tokens/id.ts'
import type { StoppedToken } from '../subject-tokens/store.ts'
import type { Database } from './database/database.ts'
import type { Bound } from './database/text.ts'

const FIND_STOPPED = `SELECT stopped_index, access_token_expires_at FROM subject_tokens
  WHERE issuer = $1 AND revoked_at >= $2 AND stopped_index IS NOT NULL`

export async function findStopped(
  database: Database,
  issuer: Bound,
  since: Seconds,
): Promise<readonly StoppedToken[]> {
  const rows = await database.find(FIND_STOPPED, [issuer, since])
  return rows.map((row) => ({
    statusIndex: Number(row.stopped_index),
    expiresAt: Number(row.access_token_expires_at),
  }))
}

/** Tokens that are issued at the same moment get their ids and their status indexes in different orders. */
const UNORDERED = 200

/**
 * Goes from list to list by the unique index, so that its cost is the number of lists. An id tells when a token was
 * created; the highest index counts even if its token is older.
 */
const findLists = (size: number) => `SELECT start_index FROM (WITH RECURSIVE lists(start_index) AS (
    SELECT MIN(first.status_index) FROM (
      SELECT status_index FROM
        (SELECT status_index FROM subject_tokens WHERE id >= $1 ORDER BY id LIMIT ${UNORDERED}) oldest
      UNION ALL SELECT MAX(status_index) FROM subject_tokens) first
    UNION ALL
    SELECT (SELECT MIN(t.status_index) FROM subject_tokens t
      WHERE t.status_index >= lists.start_index - lists.start_index % ${size} + ${size})
    FROM lists WHERE lists.start_index IS NOT NULL)
  SELECT start_index FROM lists) found WHERE start_index IS NOT NULL`

export async function findStatusLists(
  database: Database,
  size: number,
  since: Seconds,
): Promise<readonly number[]> {
  const rows = await database.find(findLists(size), [earliestId(since)])
  return rows.map((row) => Math.floor(Number(row.start_index) / size))
}
