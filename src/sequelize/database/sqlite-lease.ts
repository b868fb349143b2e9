/**
 * A row that names its holder and when the lease ends. Not a transaction: that would open another connection, and
 * the synchronous driver would wait for itself. If the holder dies, the lease runs out; if it is slow, a second
 * process does the same work, which must therefore be idempotent.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { QueryTypes, type Sequelize } from 'sequelize'
import type { Seconds } from '../../clock.ts'

/** Milliseconds. */
const LEASE = 30_000

export async function withLease(
  sequelize: Sequelize,
  patience: Seconds,
  work: () => Promise<void>,
): Promise<boolean> {
  await sequelize.query(`CREATE TABLE IF NOT EXISTS impersonation_migration_lease (
    id INTEGER NOT NULL PRIMARY KEY, holder TEXT NOT NULL, expires_at BIGINT NOT NULL)`)
  const holder = randomBytes(16).toString('hex')
  const givenUp = Date.now() + patience * 1000
  while (!(await takeLease(sequelize, holder))) {
    if (Date.now() > givenUp) return false
    await sleep(50 + Math.random() * 50)
  }
  try {
    await work()
    return true
  } finally {
    await sequelize.query('DELETE FROM impersonation_migration_lease WHERE holder = $1', { bind: [holder] })
  }
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
