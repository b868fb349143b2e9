import type { Database } from './database/database.ts'
import type { Dialect } from './database/dialect.ts'
import type { Binding } from './database/driver.ts'
import { StorageError } from './database/storage-error.ts'

const INSERT = `INSERT INTO oidc_models (namespace, model, id, payload, written_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6)`

const INSERT_OR_REPLACE_EXPIRED = `${INSERT} ON CONFLICT (namespace, model, id) DO UPDATE
  SET payload = excluded.payload, written_at = excluded.written_at, expires_at = excluded.expires_at
  WHERE oidc_models.expires_at <= $7`

/** `written_at` differs from what it was, so that MySQL counts the row whether it counts found or changed ones. */
const REPLACE_EXPIRED = `UPDATE oidc_models SET payload = $4, written_at = $5, expires_at = $6
  WHERE namespace = $1 AND model = $2 AND id = $3 AND expires_at <= $7`

const STATEMENTS: Readonly<Record<Dialect, string>> = {
  sqlite: INSERT_OR_REPLACE_EXPIRED,
  postgres: INSERT_OR_REPLACE_EXPIRED,
  // Its ON DUPLICATE KEY UPDATE takes no condition, and with the flag FOUND_ROWS a row that was left alone
  // counts as many as a new one.
  mysql: INSERT,
}

/**
 * Writes the record of something that may be used once, and says whether it did: of any number of these at the
 * same time, one does. A record that has expired is replaced, by one of any number as well.
 *
 * @param bind namespace, model, id, payload, time of writing, expiry, and up to which expiry a record has expired.
 */
export async function recordOnce(database: Database, bind: Binding, row: string): Promise<boolean> {
  try {
    return await database.writeRow(STATEMENTS[database.dialect], bind, row)
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'ER_DUP_ENTRY')) throw error
    return (await database.write(REPLACE_EXPIRED, bind)) === 1
  }
}
