import type { Database } from '../database/database.ts'
import { schemaIsBehind } from '../database/storage-error.ts'
import { ISSUED_COLUMNS, USE_COLUMNS } from '../subject-token-rows.ts'
import { appliedSteps, pendingSteps } from './steps.ts'

/** The tables and columns that the store of subject tokens uses. */
const COLUMNS = {
  subject_tokens: [
    ...[...ISSUED_COLUMNS, ...USE_COLUMNS, 'status_index', 'used_chain', 'revoked_at', 'revocation'],
    ...['revoked_call', 'stopped_index', 'replayed', 'replayed_at', 'replayed_by'],
  ],
  subject_token_actors: ['actor_id', 'token_id', 'chain', 'expires_at'],
}

/** Steps of a later version are welcome: they only add. @throws {StorageError} naming the command that is missing. */
export async function assertSchema(database: Database): Promise<void> {
  if (pendingSteps(await appliedSteps(database)).length > 0) throw schemaIsBehind()
  for (const [table, columns] of Object.entries(COLUMNS))
    await database.find(`SELECT ${columns.join(', ')} FROM ${table} WHERE 1 = 0`, [])
}
