/** Runs bound statements through a Sequelize: on its pool and into its log, but past its query layer. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sequelize } from 'sequelize'
import type { Seconds } from '../../base/clock.ts'
import { type BatchOptions, inBatches } from './batch.ts'
import type { Dialect } from './dialect.ts'
import { AFTER, type Driver, fateOf } from './driver.ts'
import { createPatience } from './patience.ts'
import { createTally, onPool, type Tally } from './pool.ts'
import { storageError } from './storage-error.ts'
import type { Binding, Result, Row, Text } from './text.ts'

/**
 * The text of each statement is fixed. The server keeps prepared what runs often; it would not hold all the texts that
 * lists have, on every connection of every process.
 */
export interface Database {
  readonly dialect: Dialect
  readonly tally: Tally
  /** Finds at most one row. May share a round trip with others of the same text. */
  findRow(text: Text, bind: Binding): Promise<Row | undefined>
  /** Writes at most one row, and returns whether it did. `row` names it alike in every process. May share a commit. */
  writeRow(text: Text, bind: Binding, row: string): Promise<boolean>
  /** Writes what must not share. Returns how many rows it wrote. */
  writeAlone(text: Text, bind: Binding): Promise<number>
  /** For texts that are rare. Runs alone. */
  find(sql: string, bind: Binding): Promise<readonly Row[]>
  /** For texts that are rare. Runs alone. Returns how many rows it wrote. */
  write(sql: string, bind: Binding): Promise<number>
  /** For texts that are rare. Runs alone, and on rows that another node of a cluster has just committed too. */
  writeAll(sql: string, bind: Binding): Promise<number>
}

/** `timeout` limits each step of a statement. */
export function createDatabase(sequelize: Sequelize, driver: Driver, timeout: Seconds): Database {
  const tally = createTally()
  const run = onPool(sequelize, driver, timeout, tally)
  const alone: Execute = async (statement) => (await run(statement.text, [statement]))[0] as Result
  const join = inBatches(run, batchOptions(driver))
  const together: Execute = (statement) => join(statement.text, statement)
  const rare = (sql: string, bind: Binding): Statement => ({ text: { sql, rare: true }, bind })
  const inSync = async (sql: string) =>
    driver.inSync?.(sql, async (asked) => (await repeat(driver, () => alone(rare(asked, [])), timeout)).rows)

  /** On a cluster, a statement that found no row is run once more, when everything committed is visible. */
  const execute = async (how: Execute, statement: Statement, readsFor?: Seconds): Promise<Result> => {
    const result = await repeat(driver, () => how(statement), readsFor)
    if (result.rows.length > 0 || result.affected > 0) return result
    const { sql, rare = false, intent } = statement.text
    // A statement that found its key taken has seen all that there is to see.
    if (intent?.to === 'claim') return result
    const complete = await inSync(sql)
    if (complete === undefined) return result
    return repeat(driver, () => alone({ ...statement, text: { sql: complete, rare } }), readsFor)
  }

  return {
    dialect: driver.dialect,
    tally,
    findRow: async (text, bind) => (await execute(together, { text, bind }, timeout)).rows[0],
    writeRow: async (text, bind, row) => (await execute(together, { text, bind, row })).affected === 1,
    writeAlone: async (text, bind) => (await execute(alone, { text, bind })).affected,
    find: async (sql, bind) => (await execute(alone, rare(sql, bind), timeout)).rows,
    write: async (sql, bind) => (await execute(alone, rare(sql, bind))).affected,
    async writeAll(sql, bind) {
      const complete = (await inSync(sql)) ?? sql
      return (await repeat(driver, () => alone(rare(complete, bind)))).affected
    },
  }
}

interface Statement {
  readonly text: Text
  readonly bind: Binding
  readonly row?: string
}
type Execute = (statement: Statement) => Promise<Result>

/** Statements of the same text go together, those that write sorted by their rows. */
const batchOptions = (driver: Driver): BatchOptions<Text, Statement> => ({
  // A claim may have the text of an insert.
  keyOf: ({ sql, intent }) => (intent?.to === 'claim' ? intent : sql),
  most: driver.most,
  compare: ({ row: one = '' }, { row: other = '' }) => (one === other ? 0 : one < other ? -1 : 1),
  maySplit: (error) => AFTER[fateOf(error)].split,
})

const MAX_ATTEMPTS = 5

/**
 * Retries what was rolled back or never ran, and what only reads, for `readsFor`, when its connection has ended. A write whose
 * connection is lost may have run.
 */
async function repeat<Value>(
  driver: Driver,
  once: () => Promise<Value>,
  readsFor: Seconds = 0,
): Promise<Value> {
  const begun = performance.now()
  let attempts = 0
  const backOff = async () => {
    attempts += 1
    if (attempts < MAX_ATTEMPTS) await sleep(Math.random() * 10 * 2 ** attempts)
    return attempts < MAX_ATTEMPTS
  }
  const waitForLock = createPatience()
  for (;;) {
    try {
      return await once()
    } catch (error) {
      const fate = fateOf(error)
      const readAgain = fate === 'lost' && performance.now() - begun < readsFor * 1000
      if (!AFTER[fate].repeat && !readAgain) throw storageError(error, driver)
      const again = fate === 'locked' ? waitForLock() : backOff()
      if (!(await again)) throw storageError(error, driver)
    }
  }
}
