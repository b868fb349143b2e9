/**
 * A row that names its holder and when the lease ends. Not a transaction: that would open another connection, and
 * the synchronous driver would wait for itself. If the holder dies, the lease runs out; if it is slow, a second
 * process does the same work, which must therefore be idempotent.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { QueryTypes, type Sequelize } from 'sequelize'
import type { Execute, Wait } from '../dialect.ts'
import type { Row } from '../text.ts'

/** Milliseconds. */
const LEASE = 30_000

export async function withLease(
  sequelize: Sequelize,
  { patience, onWait }: Wait,
  work: (execute: Execute) => Promise<void>,
): Promise<boolean> {
  await sequelize.query(`CREATE TABLE IF NOT EXISTS impersonation_migration_lease (
    id INTEGER NOT NULL PRIMARY KEY, holder TEXT NOT NULL, expires_at BIGINT NOT NULL)`)
  const holder = randomBytes(16).toString('hex')
  const givenUp = Date.now() + patience * 1000
  for (let attempts = 1; !(await takeLease(sequelize, holder)); attempts += 1) {
    if (attempts === 1) onWait(await describeLease(sequelize))
    if (Date.now() > givenUp) return false
    await sleep(50 + Math.random() * 50)
  }
  try {
    await work((sql) => sequelize.query<Row>(sql, { type: typeOf(sql) }))
    return true
  } finally {
    await sequelize.query('DELETE FROM impersonation_migration_lease WHERE holder = $1', { bind: [holder] })
  }
}

/** Sequelize's types promise rows for `SELECT` only. */
const typeOf = (sql: string): QueryTypes.SELECT =>
  sql.startsWith('SELECT') ? QueryTypes.SELECT : (QueryTypes.RAW as never)

async function describeLease(sequelize: Sequelize): Promise<string> {
  const [lease] = await sequelize.query<{ expires_at: number }>(
    'SELECT expires_at FROM impersonation_migration_lease',
    { type: QueryTypes.SELECT },
  )
  const seconds = Math.max(0, Math.ceil((Number(lease?.expires_at ?? 0) - Date.now()) / 1000))
  return `waiting for another process, which is migrating or was killed while it did: its lease ends in ${seconds} s`
}

async function takeLease(sequelize: Sequelize, holder: string): Promise<boolean> {
  const now = Date.now()
  const taken: unknown = await sequelize.query(
    `INSERT INTO impersonation_migration_lease (id, holder, expires_at) VALUES (1, $1, $2)
      ON CONFLICT (id) DO UPDATE SET holder = $1, expires_at = $2 WHERE expires_at <= $3`,
    { bind: [holder, now + LEASE, now], type: QueryTypes.BULKUPDATE },
  )
  return Number(taken) === 1
}
