/** A Sequelize as this package uses it: bound statements on its pool and in its log, and nothing of its query layer. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sequelize } from 'sequelize'
import { inBatches } from './batch.ts'
import type { Binding, Dialect, Driver, Result, Row } from './driver.ts'
import { driverOf } from './drivers.ts'
import { AFTER } from './fate.ts'
import { onPool, type Run } from './pool.ts'
import { storageError } from './storage-error.ts'

/** Every statement is one fixed text, so that the server's prepared statements stay few. */
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

const databases = new WeakMap<Sequelize, Database>()

/** The one `Database` of a Sequelize. @throws {TypeError} for a dialect whose statements are not written here. */
export function databaseOf(sequelize: Sequelize): Database {
  return databases.get(sequelize) ?? openDatabase(sequelize)
}

/** Makes the `Database` of a Sequelize, whose statements `driver` runs: the one for its dialect, or one around that. */
export function openDatabase(sequelize: Sequelize, driver: Driver = driverOf(sequelize)): Database {
  const run = onPool(sequelize, driver)
  const alone: Execute = async (sql, bind) => only(await run(sql, [bind]))
  const together = driver.batches ? batched(run, driver) : alone
  const inSync = async (sql: string) => driver.inSync?.(sequelize, sql)
  const repeated = (once: () => Promise<Result>) => repeat(driver, once)

  /** On a cluster, a statement that met no row is run once more where all that was committed is visible. */
  const execute = async (how: Execute, sql: string, bind: Binding, row?: string): Promise<Result> => {
    const result = await repeated(() => how(sql, bind, row))
    if (result.rows.length > 0 || result.affected > 0) return result
    const complete = await inSync(sql)
    return complete === undefined ? result : repeated(() => how(complete, bind, row))
  }

  const database: Database = {
    dialect: driver,
    findRow: async (sql, bind) => (await execute(together, sql, bind)).rows[0],
    writeRow: async (sql, bind, row) => (await execute(together, sql, bind, row)).affected === 1,
    find: async (sql, bind) => (await execute(alone, sql, bind)).rows,
    write: async (sql, bind) => (await execute(alone, sql, bind)).affected,
    async writeAll(sql, bind) {
      const complete = (await inSync(sql)) ?? sql
      return (await repeated(() => alone(complete, bind))).affected
    },
  }
  databases.set(sequelize, database)
  return database
}

/** The same, but that every statement goes alone. */
export function withoutBatches(database: Database): Database {
  return {
    ...database,
    findRow: async (sql, bind) => (await database.find(sql, bind))[0],
    writeRow: async (sql, bind) => (await database.write(sql, bind)) === 1,
  }
}

type Execute = (sql: string, bind: Binding, row?: string) => Promise<Result>

function only([result]: readonly Result[]): Result {
  if (!result) throw new Error('a statement without a result')
  return result
}

interface Statement {
  readonly bind: Binding
  readonly row: string
}

const MAX_BATCH = 8

/** Statements of one text go together. */
function batched(run: Run, driver: Driver): Execute {
  const joins = new Map<string, (statement: Statement) => Promise<Result>>()
  const options = {
    max: MAX_BATCH,
    compare: (one: Statement, other: Statement) => (one.row === other.row ? 0 : one.row < other.row ? -1 : 1),
    maySplit: (error: unknown) => AFTER[driver.fateOf(error)].split,
  }
  const bindings = (statements: readonly Statement[]) => statements.map(({ bind }) => bind)
  return (sql, bind, row = '') => {
    let join = joins.get(sql)
    if (!join) {
      join = inBatches((statements) => run(sql, bindings(statements)), options)
      joins.set(sql, join)
    }
    return join({ bind, row })
  }
}

const MAX_ATTEMPTS = 5

/** Repeats what had no effect. A lost connection is never repeated: nobody knows whether the statement ran. */
async function repeat<Value>(driver: Driver, once: () => Promise<Value>): Promise<Value> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await once()
    } catch (error) {
      if (attempts === MAX_ATTEMPTS || !AFTER[driver.fateOf(error)].repeat) throw storageError(error)
      await sleep(Math.random() * 10 * 2 ** attempts)
    }
  }
}
