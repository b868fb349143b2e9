import { setImmediate as yieldTo } from 'node:timers/promises'
import type { Sequelize } from 'sequelize'
import { epochTime, type Seconds } from '../../clock.ts'
import { earliestId } from '../../subject-tokens/id.ts'
import { STATUS_SHOWN } from '../../subject-tokens/subject-token.ts'
import type { Database } from '../database/database.ts'
import type { Delete } from '../database/dialect.ts'
import type { Bound } from '../database/text.ts'
import { databaseOf } from '../database-of.ts'

/** How `purge` works: what it keeps, and whom it informs. */
export interface PurgeOptions {
  /** How long the record of an ended impersonation is kept, in seconds, 0 or more. Default 90 days. */
  readonly retention?: Seconds
  /** Called after every batch with the number of rows deleted so far. */
  readonly onProgress?: (purged: Purged) => void
}

/** How many rows `purge` deleted. */
export interface Purged {
  /** Records of impersonations. */
  readonly subjectTokens: number
  /** Expired models of oidc-provider, such as grants and sessions. */
  readonly models: number
}

/** Rows a statement deletes: few enough that no one waits long for their locks. */
export const BATCH = 1000
export const DEFAULT_RETENTION: Seconds = 90 * 24 * 3600
/** As long as the adapter still finds a row after its expiry. */
const GRACE: Seconds = 60

/** For one batch: no one waits for it but the purge itself. */
const PATIENCE: Seconds = 300

type Rows = Pick<Delete, 'table' | 'key' | 'where' | 'age'>

/** An id tells when its token was created, so that the key finds the oldest: no index of their ends is kept for this. */
const ENDED_TOKENS: Rows = {
  table: 'subject_tokens',
  key: 'id',
  age: 'id',
  where: `id < $3 AND expires_at <= $1
    AND (access_token_expires_at IS NULL OR access_token_expires_at <= $2)`,
}
const ENDED_ACTORS: Rows = {
  table: 'subject_token_actors',
  key: 'actor_id, token_id, chain',
  age: 'expires_at',
  where: 'expires_at <= $1',
}
const EXPIRED_MODELS: Rows = {
  table: 'oidc_models',
  key: 'namespace, model, id',
  age: 'expires_at',
  where: 'expires_at <= $1',
}

/**
 * Deletes subject tokens whose end, and that of the access token they gave, is longer ago than the retention,
 * and models of the provider that have expired. In batches; safe to run at any time and more than once at a
 * time.
 *
 * @throws {TypeError} for a wrong retention or an unsupported dialect; otherwise when the database fails, with
 * finished batches gone.
 * @example
 * await purge(sequelize, { retention: 30 * 24 * 3600 })
 */
export async function purge(sequelize: Sequelize, options: PurgeOptions = {}): Promise<Purged> {
  const { retention = DEFAULT_RETENTION, onProgress } = options
  if (!Number.isSafeInteger(retention) || retention < 0) {
    throw new TypeError('retention must be whole seconds, 0 or more')
  }
  const database = databaseOf(sequelize, PATIENCE)
  const now = epochTime()
  let purged: Purged = { subjectTokens: 0, models: 0 }
  const report = (more: Partial<Purged>) => {
    purged = { ...purged, ...more }
    onProgress?.(purged)
  }
  await deleteInBatches(
    database,
    ENDED_TOKENS,
    [now - retention, now - Math.max(retention, STATUS_SHOWN), earliestId(now - retention)],
    (subjectTokens) => report({ subjectTokens }),
  )
  // After the records, so that none is ever without its actors.
  await deleteInBatches(database, ENDED_ACTORS, [now - retention], () => {})
  await deleteInBatches(database, EXPIRED_MODELS, [now - GRACE], (models) => report({ models }))
  return purged
}

async function deleteInBatches(
  database: Database,
  rows: Rows,
  bind: readonly Bound[],
  report: (total: number) => void,
): Promise<void> {
  const sql = database.dialect.deleteOldest({ ...rows, limit: BATCH })
  for (let total = 0; ; ) {
    const deleted = await database.write(sql, bind)
    total += deleted
    if (deleted > 0) report(total)
    // A batch that came out short may have left rows to another purge, which is deleting them.
    if (deleted < BATCH) return
    // The synchronous driver would otherwise keep the process to itself.
    await yieldTo()
  }
}
