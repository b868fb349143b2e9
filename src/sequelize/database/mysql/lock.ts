import { setTimeout as sleep } from 'node:timers/promises'
import type { Sequelize } from 'sequelize'
import type { Execute, Wait } from '../dialect.ts'
import type { Driver } from '../driver.ts'
import { codeOf } from '../fate.ts'
import { logOf } from '../log.ts'

/** Server-wide, so it names the database. On Galera it is local to a node: what runs under it can be repeated. */
const NAME = `SHA1(CONCAT('oidc-provider-impersonation ', DATABASE()))`
const MAX_ATTEMPTS = 10

/**
 * A lock of the server that belongs to a connection. Not a transaction: the DDL would end it, and Sequelize returns
 * the connection of one that a deadlock has ended, together with the lock.
 */
export async function withNamedLock(
  { run, fateOf }: Pick<Driver, 'run' | 'fateOf'>,
  sequelize: Sequelize,
  wait: Wait,
  work: (execute: Execute) => Promise<void>,
): Promise<boolean> {
  const { connectionManager } = sequelize
  const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
  const execute: Execute = async (sql) => {
    for (let attempts = 1; ; attempts += 1) {
      try {
        logOf(sequelize).log(`Executing (default): ${sql}`)
        const [result] = await run(connection, { sql }, [[]])
        return result?.rows ?? []
      } catch (error) {
        if (codeOf(error) === 'ER_DUP_KEYNAME') return [] // the index is there
        // On Galera, what another node did at the same moment.
        if (attempts === MAX_ATTEMPTS || fateOf(error) !== 'rolled back') throw error
        await sleep(Math.random() * 10 * 2 ** attempts)
      }
    }
  }
  try {
    if (!(await lock(execute, wait))) return false
    await work(execute)
    return true
  } finally {
    // Closing the connection releases the lock, also where a statement has failed.
    await connectionManager.destroyConnection(connection)
  }
}

async function lock(execute: Execute, { patience, onWait }: Wait): Promise<boolean> {
  const taken = async (seconds: number) => {
    const [row] = await execute(`SELECT GET_LOCK(${NAME}, ${seconds}) AS taken`)
    if (row?.taken === null)
      throw new Error('the wait for another process, which is migrating, was cancelled')
    return Number(row?.taken) === 1
  }
  if (await taken(0)) return true
  onWait('waiting for another process, which is migrating')
  return taken(patience)
}
