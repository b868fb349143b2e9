import { setImmediate as yieldTo } from 'node:timers/promises'
import type { Sequelize } from 'sequelize'
import { epochTime, type Seconds } from '../../base/clock.ts'
import { refuseUnknown } from '../../base/json.ts'
import { earliestId } from '../../tokens/id.ts'
import { LONGEST_LIFE, STATUS_SHOWN } from '../../tokens/subject-token.ts'
import type { Database } from '../database/database.ts'
import { type Bound, hexOf, type Row } from '../database/text.ts'
import { databaseOf } from '../drivers.ts'
import { GRACE, ISSUERS, LOGOUTS, MODELS, NO_ISSUER, PARTS, TOKENS, USES } from '../tables.ts'

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
const BATCH = 1000
const DEFAULT_RETENTION: Seconds = 90 * 24 * 3600

/** For one batch: no one waits for it but the purge itself. */
const PATIENCE: Seconds = 300

/** When the oldest tokens ended, by the time in their ids: no index of their ends is kept for this. */
async function oldestTokens(database: Database, issuer: number, from: Bound, below: Bound) {
  const { dialect } = database
  const oldest = dialect.selectNewest({ table: TOKENS.name, id: 'id' }, BATCH, true)
  const ids = (await database.find(oldest, [issuer, from, below])).map(({ found }) => hexOf(found))
  if (ids.length === 0) return []
  const { among, bind } = dialect.idsFrom(2, ids)
  return database.find(
    `SELECT t.id, t.expires_at, u.access_token_expires_at AS ends, u.session_logout AS logout
      FROM ${TOKENS.name} t LEFT JOIN ${USES.name} u ON u.issuer = t.issuer AND u.token_id = t.id
      WHERE t.issuer = $1 AND ${among('t.id')} ORDER BY t.id`,
    [issuer, ...bind],
  )
}

/** Before every id. */
const NONE = earliestId(0)

/**
 * Deletes subject tokens whose end, and that of the access token they gave, is longer ago than the retention,
 * and models of the provider that have expired. In batches; safe to run at any time and more than once at a
 * time.
 *
 * @throws {TypeError} for a wrong retention, an unknown option or an unsupported dialect; otherwise when the database fails, with
 * finished batches gone.
 * @example
 * await purge(sequelize, { retention: 30 * 24 * 3600 })
 */
export async function purge(sequelize: Sequelize, options: PurgeOptions = {}): Promise<Purged> {
  const { retention = DEFAULT_RETENTION, onProgress, ...others } = options
  refuseUnknown(Object.keys(others))
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
  // Status lists show a stop for so long, and a slow exchange finds out that it came too late.
  const until = now - Math.max(retention, STATUS_SHOWN)
  const issuers = await database.find(`SELECT number FROM ${ISSUERS.name} ORDER BY number`, [])
  for (const issuer of [NO_ISSUER, ...issuers.map(({ number }) => Number(number))]) {
    for await (const deleted of purgeTokens(database, issuer, now, until)) {
      report({ subjectTokens: purged.subjectTokens + deleted })
    }
  }
  await purgeModels(database, now - GRACE, (models) => report({ models }))
  return purged
}

/** Whatever ended before `until`, with all its rows. */
async function* purgeTokens(
  database: Database,
  issuer: number,
  now: Seconds,
  until: Seconds,
): AsyncGenerator<number> {
  const { dialect } = database
  const below = dialect.bindId(earliestId(until))
  // Left by an interrupted purge: no token of that age is left.
  const oldest = dialect.bindId(earliestId(until - 2 * LONGEST_LIFE))
  for (let from = dialect.bindId(NONE); ; ) {
    const found = await oldestTokens(database, issuer, from, below)
    if (found.length === 0) break
    const last = dialect.bindId(hexOf(found.at(-1)?.id))
    const kept = found.filter((row) => endedAfter(row, until) || isPending(row, now))
    if (kept.length < found.length) {
      const others = dialect.idsFrom(5, [NONE, ...kept.map((row) => hexOf(row.id))])
      // The token first: without it no one finds the others, and a record never seems to be unspent. As a range: a
      // planner would read, and lock, all of a small table for many ids. What has come into it since has not expired.
      const deleted = await database.write(
        `DELETE FROM ${TOKENS.name} WHERE issuer = $1 AND id >= $2 AND id <= $3 AND expires_at <= $4
          AND NOT (${others.among('id')})`,
        [issuer, from, last, until, ...others.bind],
      )
      for (const { name } of PARTS)
        await database.write(
          `DELETE FROM ${name} WHERE token_id >= $2 AND token_id <= $3 AND ${isLeftOf(name)}`,
          [issuer, from, last],
        )
      if (deleted > 0) yield deleted
    }
    if (found.length < BATCH) break
    // Tokens before it that have not ended are not read again.
    from = last
    // The synchronous driver would otherwise keep the process to itself.
    await yieldTo()
  }
  for (const { name } of PARTS)
    await database.write(`DELETE FROM ${name} WHERE token_id < $2 AND ${isLeftOf(name)}`, [issuer, oldest])
}

/** Whether its end, or that of what came of it, is not so long ago. */
const endedAfter = ({ expires_at: expires, ends }: Row, until: Seconds): boolean =>
  Math.max(Number(expires), Number(ends)) > until

/** A session whose application has not answered, for a day after its end: there are attempts to tell it, or were none. */
const isPending = ({ ends, logout }: Row, now: Seconds): boolean =>
  Number(logout) === LOGOUTS.pending && Number(ends) + LONGEST_LIFE > now

/** A row whose token is gone. A subselect: a planner would read all tokens for a join. */
const isLeftOf = (name: string): string => `issuer = $1 AND (SELECT t.id FROM ${TOKENS.name} t
  WHERE t.issuer = ${name}.issuer AND t.id = ${name}.token_id) IS NULL`

async function purgeModels(
  database: Database,
  until: Seconds,
  report: (total: number) => void,
): Promise<void> {
  const { name: table, key } = MODELS
  const rows = { table, key, where: 'expires_at <= $1', age: 'expires_at', limit: BATCH }
  const sql = database.dialect.deleteOldest(rows)
  for (let total = 0; ; ) {
    const deleted = await database.write(sql, [until])
    total += deleted
    if (deleted > 0) report(total)
    // A batch that came out short may have left rows to another purge, which is deleting them.
    if (deleted < BATCH) return
    await yieldTo()
  }
}
