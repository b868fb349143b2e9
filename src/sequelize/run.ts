/** A statement on a connection of Sequelize's pool. */
import type { Sequelize } from 'sequelize'
import { dialectOf } from './dialect.ts'
import { type Binding, type Connection, type Result, RUN } from './driver.ts'
import { isOfServer } from './faults.ts'

/**
 * Runs a statement once for each binding, all of them or none, and answers in their order. On the primary always:
 * a replica that lags would show a spent token as unspent.
 */
export async function run(
  sequelize: Sequelize,
  sql: string,
  bindings: readonly Binding[],
): Promise<readonly Result[]> {
  const { connectionManager } = sequelize
  const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
  try {
    // The deployment's log of statements, without what they bind: that holds hashes.
    for (const _ of bindings) log(sequelize, `Executing (default): ${sql}`)
    const results = await RUN[dialectOf(sequelize)](connection, sql, bindings)
    if (results.length !== bindings.length) throw new Error('not as many results as bindings')
    connectionManager.releaseConnection(connection)
    return results
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
