import type { Database } from '../database/database.ts'
import type { Insert } from '../database/dialect.ts'
import { StorageError } from '../database/storage-error.ts'
import type { Binding } from '../database/text.ts'

const ROW: Insert = {
  table: 'oidc_models',
  columns: ['namespace', 'model', 'id', 'payload', 'written_at', 'expires_at'],
}
const KEY = ['namespace', 'model', 'id']
const EXPIRED = 'oidc_models.expires_at <= $7'

/** `written_at` differs from what it was, so that MySQL counts the row whether it counts found or changed ones. */
const REPLACE_EXPIRED = `UPDATE oidc_models SET payload = $4, written_at = $5, expires_at = $6
  WHERE namespace = $1 AND model = $2 AND id = $3 AND expires_at <= $7`

/**
 * Writes the record of something that may be used once, and returns whether it did: of any number of these at the
 * same time, one does. A record that has expired is replaced, by one of any number as well.
 *
 * @param bind namespace, model, id, payload, time of writing, expiry, and up to which expiry a record has expired.
 */
export async function recordOnce(database: Database, bind: Binding, row: string): Promise<boolean> {
  const { dialect } = database
  const replacing = dialect.insertOrReplace?.(ROW, { key: KEY, where: EXPIRED })
  if (replacing !== undefined) return database.writeRow({ sql: replacing }, bind, row)
  try {
    return await database.writeRow({ sql: dialect.insert(ROW) }, bind, row)
  } catch (error) {
    if (!(error instanceof StorageError && error.keyExists)) throw error
    return (await database.alone.write(REPLACE_EXPIRED, bind)) === 1
  }
}
