/** Bound statements, one fixed text each, so that the server's prepared statements stay few. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sequelize } from 'sequelize'
import { dialectOf } from './dialect.ts'
import { type Bound, type Connection, type Result, type Row, RUN } from './driver.ts'
import { isOfServer, isRepeatable, storageError } from './faults.ts'
import { inSync, isCluster } from './galera.ts'

export type { Bound, Row } from './driver.ts'

/** Runs a writing statement, and answers how many rows it touched. */
export async function write(sequelize: Sequelize, sql: string, bind: readonly Bound[]): Promise<number> {
  const { affected } = await attempt(sequelize, sql, bind)
  if (affected > 0 || !(await isCluster(sequelize))) return affected
  return (await attempt(sequelize, inSync(sql), bind)).affected
}

/** Writes to every row that matches, also to those another node of a cluster has just committed. */
export async function writeAll(sequelize: Sequelize, sql: string, bind: readonly Bound[]): Promise<number> {
  const complete = (await isCluster(sequelize)) ? inSync(sql) : sql
  return (await attempt(sequelize, complete, bind)).affected
}

/** Reads rows. */
export async function read(
  sequelize: Sequelize,
  sql: string,
  bind: readonly Bound[],
): Promise<readonly Row[]> {
  const { rows } = await attempt(sequelize, sql, bind)
  if (rows.length > 0 || !(await isCluster(sequelize))) return rows
  return (await attempt(sequelize, inSync(sql), bind)).rows
}

const MAX_ATTEMPTS = 5

/**
 * Repeats a statement the database says had no effect, so this cannot spend twice. A lost
 * connection is never repeated: nobody knows whether the statement ran.
 */
async function attempt(sequelize: Sequelize, sql: string, bind: readonly Bound[]): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await run(sequelize, sql, bind)
    } catch (error) {
      if (attempts === MAX_ATTEMPTS || !isRepeatable(error)) throw storageError(error)
      await sleep(Math.random() * 10 * 2 ** attempts)
    }
  }
}

/** On the primary always: a replica that lags would show a spent token as unspent. */
async function run(sequelize: Sequelize, sql: string, bind: readonly Bound[]): Promise<Result> {
  const { connectionManager } = sequelize
  const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
  try {
    // The deployment's log of statements, without what they bind: that holds hashes.
    log(sequelize, `Executing (default): ${sql}`)
    const result = await RUN[dialectOf(sequelize)](connection, sql, bind)
    connectionManager.releaseConnection(connection)
    return result
  } catch (error) {
    await letGo(sequelize, connection, error)
    throw error
  }
}

/** A connection whose statement the server refused is good; any other failure may have left it broken. */
async function letGo(
  { connectionManager }: Sequelize,
  connection: Connection,
  error: unknown,
): Promise<void> {
  if (isOfServer(error)) connectionManager.releaseConnection(connection)
  else await connectionManager.destroyConnection(connection).catch(() => {})
}

function log(sequelize: Sequelize, message: string): void {
  const write: unknown = Reflect.get(sequelize, 'log')
  if (typeof write === 'function') write.call(sequelize, message)
}
