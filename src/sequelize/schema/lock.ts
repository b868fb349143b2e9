/** One migration at a time, whatever number of processes start at once. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { QueryTypes, type Sequelize, type Transaction } from 'sequelize'
import type { Dialect } from '../database/dialect.ts'

/** Seconds to wait for another process. */
const PATIENCE = 120

type Lock = (sequelize: Sequelize, work: () => Promise<void>) => Promise<void>

export function withMigrationLock(
  sequelize: Sequelize,
  dialect: Dialect,
  work: () => Promise<void>,
): Promise<void> {
  return LOCKS[dialect](sequelize, work)
}

const LOCKS: Readonly<Record<Dialect, Lock>> = {
  /** Let go by the server when the transaction, or its connection, ends. */
  postgres: (sequelize, work) =>
    sequelize.transaction(async (transaction) => {
      await sequelize.query(`SET LOCAL lock_timeout = '${PATIENCE}s'`, { transaction })
      await sequelize.query(`SELECT pg_advisory_xact_lock(hashtext('oidc-provider-impersonation'))`, {
        transaction,
      })
      await work()
    }),

  /** Belongs to a connection; the transaction only keeps that connection ours. Named locks span databases. */
  mysql: (sequelize, work) =>
    sequelize.transaction(async (transaction) => {
      const name = `SHA1(CONCAT('oidc-provider-impersonation ', DATABASE()))`
      const taken = await ask(sequelize, transaction, `SELECT GET_LOCK(${name}, ${PATIENCE}) AS answer`)
      if (taken !== 1) throw tooLong()
      try {
        await work()
      } finally {
        await ask(sequelize, transaction, `SELECT RELEASE_LOCK(${name}) AS answer`)
      }
    }),

  /**
   * A row that names its holder until a moment: a transaction would open another connection, and the
   * synchronous driver would then wait for itself. Should the holder die, the lease runs out; should it be
   * slow, a second one runs the same idempotent steps.
   */
  async sqlite(sequelize, work) {
    await sequelize.query(`CREATE TABLE IF NOT EXISTS impersonation_migration_lease (
      id INTEGER NOT NULL PRIMARY KEY, holder TEXT NOT NULL, expires_at BIGINT NOT NULL)`)
    const holder = randomBytes(16).toString('hex')
    const givenUp = Date.now() + PATIENCE * 1000
    while (!(await takeLease(sequelize, holder))) {
      if (Date.now() > givenUp) throw tooLong()
      await sleep(50 + Math.random() * 50)
    }
    try {
      await work()
    } finally {
      await sequelize.query('DELETE FROM impersonation_migration_lease WHERE holder = $1', { bind: [holder] })
    }
  },
}

async function takeLease(sequelize: Sequelize, holder: string): Promise<boolean> {
  const now = Date.now()
  const taken: unknown = await sequelize.query(
    `INSERT INTO impersonation_migration_lease (id, holder, expires_at) VALUES (1, $1, $2)
      ON CONFLICT (id) DO UPDATE SET holder = $1, expires_at = $2 WHERE expires_at <= $3`,
    { bind: [holder, now + 30_000, now], type: QueryTypes.BULKUPDATE },
  )
  return Number(taken) === 1
}

async function ask(sequelize: Sequelize, transaction: Transaction, sql: string): Promise<number> {
  const [row] = await sequelize.query<{ answer: number }>(sql, { type: QueryTypes.SELECT, transaction })
  return Number(row?.answer)
}

const tooLong = () => new Error(`another process has been migrating for more than ${PATIENCE} s`)
