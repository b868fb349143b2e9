/** The first use of a subject token after its spend, on its record. */
import type { Replay, Revocation } from '../subject-tokens/subject-token.ts'
import type { Database } from './database/database.ts'
import type { Bound } from './database/text.ts'
import { STOPPED_INDEX } from './subject-token-kill.ts'

const RECORD = 'replayed = 1, replayed_at = $1, replayed_by = $2'
const FIRST = 'id = $3 AND issuer = $4 AND consumed_at IS NOT NULL AND replayed_at IS NULL'

/** MySQL assigns from left to right, so that what a later assignment reads must not have changed yet. */
const RECORD_AND_STOP = `UPDATE subject_tokens
  SET ${RECORD}, stopped_index = ${STOPPED_INDEX}, revocation = $5, revoked_at = $1
  WHERE ${FIRST} AND revoked_at IS NULL AND access_token_expires_at > $1`

const RECORD_ONLY = `UPDATE subject_tokens SET ${RECORD} WHERE ${FIRST}`

const REVOCATION: Revocation = { cause: 'replay' }

interface Replayed {
  readonly issuer: Bound
  readonly id: string
  readonly replay: Replay
}

/** Returns whether this call stopped the token. */
export async function recordReplay(database: Database, { issuer, id, replay }: Replayed): Promise<boolean> {
  const bind = [replay.at, database.dialect.bindName(replay.clientId), id, issuer]
  const stopped = await database.write(RECORD_AND_STOP, [...bind, JSON.stringify(REVOCATION)])
  if (stopped === 0) await database.write(RECORD_ONLY, bind)
  return stopped > 0
}
