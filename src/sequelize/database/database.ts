/** A Sequelize as this package uses it: its pool and its log, and nothing of its query layer. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sequelize } from 'sequelize'
import { nodeSqlite } from '../node-sqlite.ts'
import { inBatches } from './batch.ts'
import { type Dialect, dialectOf } from './dialect.ts'
import type { Binding, Driver, Result, Row } from './driver.ts'
import { inSync, isCluster } from './galera.ts'
import { mysql } from './mysql.ts'
import { postgres } from './postgres.ts'
import { nodeDriver, sqlite3Driver } from './sqlite.ts'
import { storageError } from './storage-error.ts'

/** Bound statements, one fixed text each, so that the server's prepared statements stay few. */
export interface Database {
  readonly dialect: Dialect
  /** The row, of at most one. May share a round trip with others of its text. */
  findRow(sql: string, bind: Binding): Promise<Row | undefined>
  /** Writes at most the one row that `row` names in every process; whether it did. May share a commit. */
  writeRow(sql: string, bind: Binding, row: string): Promise<boolean>
  /** Alone. */
  find(sql: string, bind: Binding): Promise<readonly Row[]>
  /** Alone; how many rows it touched. */
  write(sql: string, bind: Binding): Promise<number>
  /** Alone; also rows that another node of a cluster has just committed. */
  writeAll(sql: string, bind: Binding): Promise<number>
}

type Statement = { readonly bind: Binding; readonly row: string }
type Execute = (sql: string, bind: Binding, row?: string) => Promise<Result>

const MAX_BATCH = 8
const MAX_ATTEMPTS = 5
const databases = new WeakMap<Sequelize, Database>()

/** The one `Database` of a Sequelize. @throws {TypeError} for a dialect whose statements are not written here. */
export function databaseOf(sequelize: Sequelize): Database {
  return databases.get(sequelize) ?? openDatabase(sequelize)
}

/** Makes the `Database` of a Sequelize, whose statements `driver` runs: the one for its dialect, or one around that. */
export function openDatabase(sequelize: Sequelize, driver: Driver = driverOf(sequelize)): Database {
  const dialect = dialectOf(sequelize)
  const run = (sql: string, bindings: readonly Binding[]) => runOn(sequelize, driver, sql, bindings)

  const alone: Execute = async (sql, bind) => first(await run(sql, [bind]))
  const batches = new Map<string, (statement: Statement) => Promise<Result>>()
  const together: Execute = (sql, bind, row = '') => {
    if (!driver.batches) return alone(sql, bind)
    let join = batches.get(sql)
    if (!join) {
      join = inBatches(
        (calls: readonly Statement[]) =>
          run(
            sql,
            calls.map((call) => call.bind),
          ),
        {
          max: MAX_BATCH,
          compare: (one, other) => (one.row === other.row ? 0 : one.row < other.row ? -1 : 1),
          maySplit: (error) => !['locked', 'unknown'].includes(driver.fateOf(error)),
        },
      )
      batches.set(sql, join)
    }
    return join({ bind, row })
  }

  /** Repeats what had no effect. A lost connection is never repeated: nobody knows whether the statement ran. */
  const attempt = async (once: () => Promise<Result>): Promise<Result> => {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await once()
      } catch (error) {
        const repeatable = ['rolled back', 'outdated'].includes(driver.fateOf(error))
        if (attempts === MAX_ATTEMPTS || !repeatable) throw storageError(error)
        await sleep(Math.random() * 10 * 2 ** attempts)
      }
    }
  }
  /** On a cluster, a statement that met no row is run once more where all that was committed is visible. */
  const execute = async (how: Execute, sql: string, bind: Binding, row?: string): Promise<Result> => {
    const result = await attempt(() => how(sql, bind, row))
    if (result.rows.length > 0 || result.affected > 0 || !(await isCluster(sequelize))) return result
    return attempt(() => how(inSync(sql), bind, row))
  }

  const database: Database = {
    dialect,
    findRow: async (sql, bind) => (await execute(together, sql, bind)).rows[0],
    writeRow: async (sql, bind, row) => (await execute(together, sql, bind, row)).affected === 1,
    find: async (sql, bind) => (await execute(alone, sql, bind)).rows,
    write: async (sql, bind) => (await execute(alone, sql, bind)).affected,
    async writeAll(sql, bind) {
      const complete = (await isCluster(sequelize)) ? inSync(sql) : sql
      return (await attempt(() => alone(complete, bind))).affected
    },
  }
  databases.set(sequelize, database)
  return database
}

export function driverOf(sequelize: Sequelize): Driver {
  const dialect = dialectOf(sequelize)
  if (dialect === 'postgres') return postgres
  if (dialect === 'mysql') return mysql
  return Reflect.get(sequelize.connectionManager, 'lib') === nodeSqlite ? nodeDriver : sqlite3Driver
}

/** On the primary always: a replica that lags would show a spent token as unspent. */
async function runOn(
  sequelize: Sequelize,
  driver: Driver,
  sql: string,
  bindings: readonly Binding[],
): Promise<readonly Result[]> {
  const { connectionManager } = sequelize
  const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
  try {
    // Without what they bind: that holds hashes.
    for (const _ of bindings)
      (sequelize as unknown as { log(text: string): void }).log(`Executing (default): ${sql}`)
    const results = await driver.run(connection, sql, bindings)
    if (results.length !== bindings.length) throw new Error('not as many results as bindings')
    connectionManager.releaseConnection(connection)
    return results
  } catch (error) {
    // A connection whose statement the server refused is good; any other failure may have left it broken.
    if (['outdated', 'unknown'].includes(driver.fateOf(error)))
      await connectionManager.destroyConnection(connection).catch(() => {})
    else connectionManager.releaseConnection(connection)
    throw error
  }
}

function first([result]: readonly Result[]): Result {
  if (!result) throw new Error('a statement without a result')
  return result
}
