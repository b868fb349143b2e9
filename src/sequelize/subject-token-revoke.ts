/** Revoking one subject token. */
import type { Seconds } from '../clock.ts'
import type { Revocation } from '../subject-tokens/subject-token.ts'
import type { Database } from './database/database.ts'
import { StorageError } from './database/storage-error.ts'
import type { Bound } from './database/text.ts'
import { STOPPED_INDEX } from './subject-token-kill.ts'

/**
 * What `revoked_call` is until a call reports the revocation: the call that marked the token, or the next one if that
 * lost its connection before it knew, or before it had read what the event says.
 */
const UNREPORTED = `'unreported'`

/** MySQL assigns from left to right, so that what a later assignment reads must not have changed yet. */
const MARK = `UPDATE subject_tokens
  SET stopped_index = ${STOPPED_INDEX}, revocation = $4, revoked_call = ${UNREPORTED}, revoked_at = $1
  WHERE id = $2 AND issuer = $3 AND revoked_at IS NULL
    AND ((consumed_at IS NULL AND expires_at > $1) OR access_token_expires_at > $1)`

/** A compare-and-set: of any number of these, one touches the row. */
const REPORT = `UPDATE subject_tokens SET revoked_call = NULL
  WHERE id = $1 AND issuer = $2 AND revoked_call = ${UNREPORTED}`

interface Revoke {
  readonly issuer: Bound
  readonly id: string
  readonly now: Seconds
  readonly revocation: Revocation
}

/** Neither is in a group: those that spend take their rows in another order. */
export async function mark(database: Database, { issuer, id, now, revocation }: Revoke): Promise<void> {
  await database.write(MARK, [now, id, issuer, JSON.stringify(revocation)])
}

/** Returns whether the caller is the one to report the revocation. To be called with all that its event says at hand. */
export async function mayReport(
  database: Database,
  { issuer, id }: Pick<Revoke, 'issuer' | 'id'>,
): Promise<boolean> {
  try {
    return (await database.write(REPORT, [id, issuer])) === 1
  } catch (error) {
    if (error instanceof StorageError && error.tookEffect === false) throw error
    // If it took effect, no other call reports. One event too many is better than none.
    return true
  }
}
