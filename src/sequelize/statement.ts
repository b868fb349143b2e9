/** Bound statements, one fixed text each, so that the server's prepared statements stay few. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sequelize } from 'sequelize'
import type { Binding, Result, Row } from './driver.ts'
import { isRepeatable, storageError } from './faults.ts'
import { inSync, isCluster } from './galera.ts'
import { runAlone, runInGroup } from './group.ts'

export type { Bound, Row } from './driver.ts'

/** Reads one row at most. */
export async function readRow(sequelize: Sequelize, sql: string, bind: Binding): Promise<Row | undefined> {
  const { rows } = await inSyncIfMissed(sequelize, sql, (text) => runInGroup(sequelize, text, bind))
  return rows[0]
}

/**
 * Writes at most one row, and answers whether it did. `row` names it, the same in every process; statements of
 * one text may share a transaction, which touches its rows in the order of their names.
 */
export async function writeRow(
  sequelize: Sequelize,
  sql: string,
  bind: Binding,
  row: string,
): Promise<boolean> {
  const { affected } = await inSyncIfMissed(sequelize, sql, (text) => runInGroup(sequelize, text, bind, row))
  return affected === 1
}

/** Runs a writing statement by itself, and answers how many rows it touched. */
export async function write(sequelize: Sequelize, sql: string, bind: Binding): Promise<number> {
  return (await inSyncIfMissed(sequelize, sql, (text) => runAlone(sequelize, text, bind))).affected
}

/** Reads rows. */
export async function read(sequelize: Sequelize, sql: string, bind: Binding): Promise<readonly Row[]> {
  return (await inSyncIfMissed(sequelize, sql, (text) => runAlone(sequelize, text, bind))).rows
}

/** Writes to every row that matches, and answers how many; also those another node of a cluster has just committed. */
export async function writeAll(sequelize: Sequelize, sql: string, bind: Binding): Promise<number> {
  const complete = (await isCluster(sequelize)) ? inSync(sql) : sql
  return (await attempt(() => runAlone(sequelize, complete, bind))).affected
}

/** On a cluster, a statement that met no row is run once more where all that was committed is visible. */
async function inSyncIfMissed(
  sequelize: Sequelize,
  sql: string,
  once: (sql: string) => Promise<Result>,
): Promise<Result> {
  const result = await attempt(() => once(sql))
  if (result.rows.length > 0 || result.affected > 0 || !(await isCluster(sequelize))) return result
  return attempt(() => once(inSync(sql)))
}

const MAX_ATTEMPTS = 5

/**
 * Repeats a statement the database says had no effect, so this cannot spend twice. A lost
 * connection is never repeated: nobody knows whether the statement ran.
 */
async function attempt(once: () => Promise<Result>): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await once()
    } catch (error) {
      if (attempts === MAX_ATTEMPTS || !isRepeatable(error)) throw storageError(error)
      await sleep(Math.random() * 10 * 2 ** attempts)
    }
  }
}
