/** Runs statements on connections of a Sequelize's own pool, past its query layer. */
import type { Sequelize } from 'sequelize'
import { type Seconds, within } from '../../base/clock.ts'
import type { StoreMeasures } from '../../tokens/store.ts'
import { AFTER, type Driver, Failure, type Fate } from './driver.ts'
import type { Binding, Result, Text } from './text.ts'

/** Runs a text once for each statement of it, in one transaction. Rejects with a `Failure`. */
export type Run = (
  text: Text,
  statements: readonly { readonly bind: Binding }[],
) => Promise<readonly Result[]>

/** `timeout` limits twice: how long a connection is waited for, and then how long the statement runs. */
export function onPool(sequelize: Sequelize, driver: Driver, timeout: Seconds, tally: Tally): Run {
  const { connectionManager } = sequelize
  const log = logOf(sequelize)

  const prepare = async (sql: string, times: number): Promise<object> => {
    try {
      // Without the bound values, which include hashes.
      for (let time = 0; time < times; time += 1) log.log(`Executing (default): ${sql}`)
      // Always on the primary: a replica that lags would show a spent token as unspent.
      const connecting = connectionManager.getConnection({ type: 'write', useMaster: true })
      const late = (connection: object) => connectionManager.releaseConnection(connection)
      const got = within(timeout, connecting, { late, isIdle: true })
      return await countWait(tally, got)
    } catch (error) {
      tally.failures.unsent += 1
      throw new Failure('unsent', error)
    }
  }

  const drop = (connection: object) => {
    // At once: Sequelize would say goodbye first, and wait for a server that may be gone.
    driver.destroy?.(connection)
    void connectionManager.destroyConnection(connection).catch(() => {})
  }

  return async (text, statements) => {
    const connection = await prepare(text.sql, statements.length)
    try {
      const bindings = statements.map(({ bind }) => bind)
      const results = await within(timeout, driver.run(connection, text, bindings), { isIdle: true })
      if (results.length !== bindings.length) throw new Error('not as many results as bindings')
      connectionManager.releaseConnection(connection)
      return results
    } catch (error) {
      const fate = driver.fateOf(error)
      tally.failures[fate] += 1
      if (AFTER[fate].keep) connectionManager.releaseConnection(connection)
      else drop(connection)
      throw new Failure(fate, error)
    }
  }
}

/** Counts of one database's statements since the process began. Metrics read them at any time. */
export interface Tally extends StoreMeasures {
  readonly failures: Record<Fate, number>
  waits: number
  waited: number
  waiting: number
}

export function createTally(): Tally {
  const fates = Object.keys(AFTER).map((fate) => [fate, 0])
  return { failures: Object.fromEntries(fates), waits: 0, waited: 0, waiting: 0 }
}

/** Counts how long a connection is waited for, whatever comes of it. */
async function countWait<Value>(tally: Tally, wait: Promise<Value>): Promise<Value> {
  const begun = performance.now()
  tally.waits += 1
  tally.waiting += 1
  try {
    return await wait
  } finally {
    tally.waiting -= 1
    tally.waited += (performance.now() - begun) / 1000
  }
}

/** The log of a Sequelize, which its types do not show. */
export const logOf = (sequelize: Sequelize) => sequelize as Sequelize & { log(text: string): void }
