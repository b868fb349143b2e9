import { QueryTypes, type Sequelize, Transaction } from 'sequelize'
import type { Execute, Wait } from '../dialect.ts'
import { codeOf } from '../fate.ts'
import type { Row } from '../text.ts'

const LOCK = `hashtext('oidc-provider-impersonation')`

/** One transaction: the server releases the lock when it or its connection ends, and after a failure all of it is rolled back. */
export function withAdvisoryLock(
  sequelize: Sequelize,
  wait: Wait,
  work: (execute: Execute) => Promise<void>,
): Promise<boolean> {
  // With a stricter level, what the other process has committed would be invisible after the wait.
  const isolationLevel = Transaction.ISOLATION_LEVELS.READ_COMMITTED
  return sequelize.transaction({ isolationLevel }, async (transaction) => {
    const execute: Execute = (sql) =>
      // The types promise rows for SELECT only.
      sequelize.query<Row>(sql, { transaction, type: QueryTypes.SELECT })
    if (!(await lock(execute, wait))) return false
    await work(execute)
    return true
  })
}

async function lock(execute: Execute, { patience, onWait }: Wait): Promise<boolean> {
  const [free] = await execute(`SELECT pg_try_advisory_xact_lock(${LOCK}) AS taken`)
  if (free?.taken === true) return true
  onWait('waiting for another process, which is migrating')
  try {
    await execute(`SET LOCAL lock_timeout = '${patience}s'`)
    await execute(`SELECT pg_advisory_xact_lock(${LOCK})`)
    await execute('SET LOCAL lock_timeout = DEFAULT')
    return true
  } catch (error) {
    if (codeOf(error) === '55P03') return false // lock_timeout
    throw error
  }
}
