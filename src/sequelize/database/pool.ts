/** Runs statements on connections of a Sequelize's own pool, past its query layer. */
import type { Sequelize } from 'sequelize'
import type { Binding, Driver, Result } from './driver.ts'
import { AFTER } from './fate.ts'

/** Runs a text once for each statement of it, in one transaction. */
export type Run = (
  sql: string,
  statements: readonly { readonly bind: Binding }[],
) => Promise<readonly Result[]>

/** What running a statement needs of a Sequelize, whose types do not show the log. */
interface Pool extends Pick<Sequelize, 'connectionManager'> {
  log(text: string): void
}

export function onPool(sequelize: Sequelize, driver: Driver): Run {
  const pool = sequelize as Sequelize & Pool
  const { connectionManager } = pool
  return async (sql, statements) => {
    const bindings = statements.map(({ bind }) => bind)
    // Always on the primary: a replica that lags would show a spent token as unspent.
    const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
    try {
      // Without the bound values, which include hashes.
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
