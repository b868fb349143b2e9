/**
 * A Galera cluster certifies a write before it answers, but a row written on one node is for some milliseconds
 * not yet visible on another. A miss may therefore be no miss: it is repeated once, after the node has applied
 * all that was committed before. Where there is no miss this costs nothing.
 */
import { QueryTypes, type Sequelize } from 'sequelize'

const known = new WeakMap<Sequelize, Promise<boolean>>()

/** Once everything committed in the cluster is visible: 7 = to reads, updates and inserts. */
export async function inSync(sequelize: Sequelize, sql: string): Promise<string | undefined> {
  return (await isCluster(sequelize)) ? `SET STATEMENT wsrep_sync_wait=7 FOR ${sql}` : undefined
}

/** Whether the database is a node of a Galera cluster. Asked once, at the first miss. */
function isCluster(sequelize: Sequelize): Promise<boolean> {
  let answer = known.get(sequelize)
  if (!answer) {
    answer = ask(sequelize)
    known.set(sequelize, answer)
    answer.catch(() => known.delete(sequelize))
  }
  return answer
}

async function ask(sequelize: Sequelize): Promise<boolean> {
  // `version` names the product: other clusters of this kind do not know `SET STATEMENT`.
  const rows = await sequelize.query<{ Variable_name: string; Value: string }>(
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'version')",
    { type: QueryTypes.SELECT, useMaster: true },
  )
  const value = (name: string) => rows.find((row) => row.Variable_name === name)?.Value
  if (value('wsrep_on') !== 'ON') return false
  if (!value('version')?.includes('MariaDB')) {
    throw new TypeError('a Galera cluster must be one of MariaDB: reads of others cannot be made to wait')
  }
  return true
}
