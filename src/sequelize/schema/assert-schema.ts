import type { Database } from '../database/database.ts'
import { schemaIsBehind } from '../database/storage-error.ts'
import { appliedSteps, pendingSteps } from './steps.ts'

/** The tables and columns that the store of subject tokens uses. */
const COLUMNS = {
  subject_tokens: [
    ...[
      'id',
      'status_index',
      'token_hash',
      'issuer',
      'user_id',
      'context',
      'created_by',
      'client_id',
      'actor_id',
      'resource',
    ],
    ...['scope', 'created_at', 'expires_at', 'consumed_at', 'consumed_by', 'used_actor', 'used_actor_id'],
    ...['used_chain', 'used_resource', 'used_scope', 'access_token_format', 'access_token_expires_at'],
    ...['grant_id', 'access_token_jti', 'without_actor', 'revoked_at', 'revocation', 'revoked_call'],
    ...['stopped_index', 'replayed', 'replayed_at', 'replayed_by'],
  ],
  subject_token_actors: ['actor_id', 'token_id', 'chain', 'expires_at'],
}

/** Steps of a later version are welcome: they only add. @throws {StorageError} naming the command that is missing. */
export async function assertSchema(database: Database): Promise<void> {
  if (pendingSteps(await appliedSteps(database)).length > 0) throw schemaIsBehind()
  for (const [table, columns] of Object.entries(COLUMNS))
    await database.find(`SELECT ${columns.join(', ')} FROM ${table} WHERE 1 = 0`, [])
}
