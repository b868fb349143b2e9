import { QueryTypes, type Sequelize } from 'sequelize'
import { Umzug } from 'umzug'
import type { Seconds } from '../../clock.ts'
import { databaseOf } from '../database/database.ts'
import type { Dialect } from '../database/driver.ts'
import { MIGRATIONS } from './migrations.ts'

/**
 * Brings the tables up to date. Safe to call from every process at every start, at the same time: one migrates,
 * the others wait and find the work done. Needs a pool of at least two connections, except on SQLite.
 *
 * @throws {TypeError} for a dialect other than `sqlite`, `postgres` and `mysql`; otherwise what the database
 * says, with every finished step kept.
 * @example
 * await migrate(sequelize)
 */
export async function migrate(sequelize: Sequelize): Promise<void> {
  let work = running.get(sequelize)
  if (!work) {
    work = run(sequelize).finally(() => running.delete(sequelize))
    running.set(sequelize, work)
  }
  await work
}

/** One at a time on one pool: each waiting call would hold a connection that the running one needs. */
const running = new WeakMap<Sequelize, Promise<void>>()

/** For another process to finish. */
const PATIENCE: Seconds = 120

async function run(sequelize: Sequelize): Promise<void> {
  const { dialect } = databaseOf(sequelize)
  const done = await dialect.exclusively(sequelize, PATIENCE, async () => {
    await sequelize.query(
      `CREATE TABLE IF NOT EXISTS impersonation_migrations (name VARCHAR(255) NOT NULL PRIMARY KEY)`,
    )
    await migrations(sequelize, dialect).up()
  })
  if (!done) throw new Error(`another process has been migrating for more than ${PATIENCE} s`)
}

function migrations(sequelize: Sequelize, dialect: Dialect): Umzug {
  return new Umzug({
    logger: undefined,
    migrations: MIGRATIONS.map(({ name, up }) => ({ name, up: () => up(sequelize, dialect) })),
    storage: {
      async executed() {
        const rows = await sequelize.query<{ name: string }>(
          'SELECT name FROM impersonation_migrations ORDER BY name',
          {
            type: QueryTypes.SELECT,
            useMaster: true,
          },
        )
        return rows.map(({ name }) => name)
      },
      async logMigration({ name }) {
        // On a cluster the lock may be local to a node, and two processes may finish the same step.
        await sequelize.query(dialect.insertNew({ table: 'impersonation_migrations', columns: ['name'] }), {
          bind: [name],
        })
      },
      async unlogMigration({ name }) {
        await sequelize.query('DELETE FROM impersonation_migrations WHERE name = $1', { bind: [name] })
      },
    },
  })
}
