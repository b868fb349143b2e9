/** Runs statements on connections of a Sequelize's own pool, past its query layer. */
import type { Sequelize } from 'sequelize'
import type { Binding, Driver, Result } from './driver.ts'
import { AFTER } from './fate.ts'

/** Runs a text once for each binding, in one transaction. */
export type Run = (sql: string, bindings: readonly Binding[]) => Promise<readonly Result[]>

/** All that is used of a Sequelize to run a statement. Its types leave the log out. */
interface Pool extends Pick<Sequelize, 'connectionManager'> {
  log(text: string): void
}

export function onPool(sequelize: Sequelize, driver: Driver): Run {
  const pool = sequelize as Sequelize & Pool
  const { connectionManager } = pool
  return async (sql, bindings) => {
    // On the primary always: a replica that lags would show a spent token as unspent.
    const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
    try {
      // Without what they bind: that holds hashes.
      for (const _ of bindings) pool.log(`Executing (default): ${sql}`)
      const results = await driver.run(connection, sql, bindings)
      if (results.length !== bindings.length) throw new Error('not as many results as bindings')
      connectionManager.releaseConnection(connection)
      return results
    } catch (error) {
      if (AFTER[driver.fateOf(error)].keep) connectionManager.releaseConnection(connection)
      else await connectionManager.destroyConnection(connection).catch(() => {})
      throw error
    }
  }
}
