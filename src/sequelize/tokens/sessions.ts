/** The sessions that are open: a mark in their uses finds them, and a conditional write decides who ends one. */
import type { Seconds } from '../../base/clock.ts'
import { withoutUndefined } from '../../base/json.ts'
import { isId } from '../../tokens/id.ts'
import type { DueSession, SessionOutcome, SessionStore } from '../../tokens/store.ts'
import { hexOf, optionalNumber, type Row, text } from '../database/text.ts'
import { LOGOUTS, STOPS, TOKENS, USES } from '../tables.ts'
import type { Place } from './place.ts'
import { readActorId, readClientId, readLogout, readReadOnly } from './rows.ts'

/** No one has tried to end it. */
const UNTRIED = 'u.session_due = u.access_token_expires_at'

/** Found by the key: a bare column would invite a planner to begin at its index, where many may have one mark. */
const MARK = 'issuer = $1 AND token_id = $2 AND COALESCE(session_due, -1)'

const CLAIM = `UPDATE ${USES.name} SET session_due = $3 WHERE ${MARK} = $4`

/** A session with an answer keeps it. MySQL assigns from left to right: the deciding column is assigned last. */
const SETTLE = `UPDATE ${USES.name} SET session_due = $3,
  session_logout_at = CASE WHEN session_logout = ${LOGOUTS.pending} THEN $4 ELSE session_logout_at END,
  session_logout = CASE WHEN session_logout = ${LOGOUTS.pending} THEN $5 ELSE session_logout END
  WHERE ${MARK} >= 0`

export function sessionsAt(at: (issuer: string) => Promise<Place>): SessionStore {
  return {
    findDue: async (issuer, now, limit) => findDue(await at(issuer), now, limit),

    async claim(issuer, id, mark, next) {
      if (!isId(id)) return false
      const { database, dialect, number } = await at(issuer)
      return database.writeRow({ sql: CLAIM }, [number, dialect.bindId(id), next, mark], id)
    },

    settle: async (issuer, id, outcome) => (isId(id) ? settle(await at(issuer), id, outcome) : undefined),
  }
}

/**
 * In the order of the index of what is open. A stop is looked up for each, also of those that were tried: the pauses count
 * from it. The token is that of what is due.
 * Bounded on both sides, or a planner without statistics would begin at the issuer.
 */
async function findDue(
  { database, dialect, number }: Place,
  now: Seconds,
  limit: number,
): Promise<readonly DueSession[]> {
  const sql = `SELECT t.id, t.user_id, t.client_id, t.actor_id, t.read_only,
    u.client_id AS u_client_id, u.actor_id AS u_actor_id, u.used_at, u.access_token_expires_at, u.session_due,
    u.session_logout AS u_session_logout, s.stopped_at
  FROM ${USES.name} u ${dialect.by(`${USES.name}_session_due`)}
  LEFT JOIN ${STOPS.name} s ON s.issuer = u.issuer AND s.token_id = u.token_id
  LEFT JOIN ${TOKENS.name} t ON t.issuer = u.issuer AND t.id = u.token_id
  WHERE u.issuer = $1 AND u.session_due >= 0 AND u.session_due < ${Number.MAX_SAFE_INTEGER}
    AND (u.session_due <= $2 OR (COALESCE(s.stopped_at, 0) > 0 AND ${UNTRIED}))
  ORDER BY u.session_due LIMIT ${Math.floor(limit)}`
  return (await database.find(sql, [number, now])).map(readDue)
}

const readDue = (row: Row): DueSession =>
  withoutUndefined({
    id: hexOf(row.id),
    userId: text(row.user_id),
    actorId: readActorId(row),
    clientId: readClientId(row),
    readOnly: readReadOnly(row),
    mark: Number(row.session_due),
    endsAt: Number(row.access_token_expires_at),
    usedAt: Number(row.used_at),
    logout: readLogout(row),
    revokedAt: optionalNumber(row.stopped_at),
  })

async function settle(
  { database, dialect, number }: Place,
  id: string,
  { mark, logout, at }: SessionOutcome,
): Promise<void> {
  const answer = logout === undefined ? [null, LOGOUTS.pending] : [at, LOGOUTS[logout]]
  await database.writeRow({ sql: SETTLE }, [number, dialect.bindId(id), mark, ...answer], id)
}
