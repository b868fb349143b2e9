/**
 * A Galera cluster certifies a write before it confirms it, but for some milliseconds a row written on one node is
 * not visible on another. A statement that found no row is therefore repeated once, after the node has applied
 * everything committed before. A statement that finds its row costs nothing extra.
 */
import { QueryTypes, type Sequelize } from 'sequelize'

const known = new WeakMap<Sequelize, Promise<boolean>>()

/** 7 makes reads, updates, deletes, inserts and replaces wait. */
export async function inSync(sequelize: Sequelize, sql: string): Promise<string | undefined> {
  return (await isCluster(sequelize)) ? `SET STATEMENT wsrep_sync_wait=7 FOR ${sql}` : undefined
}

/** Asked once, when a statement first finds no row. */
function isCluster(sequelize: Sequelize): Promise<boolean> {
  let found = known.get(sequelize)
  if (!found) {
    found = ask(sequelize)
    known.set(sequelize, found)
    found.catch(() => known.delete(sequelize))
  }
  return found
}

async function ask(sequelize: Sequelize): Promise<boolean> {
  // `version` names the product: other kinds of Galera cluster lack `SET STATEMENT`.
  const rows = await sequelize.query<{ Variable_name: string; Value: string }>(
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'version')",
    { type: QueryTypes.SELECT, useMaster: true },
  )
  const value = (name: string) => rows.find((row) => row.Variable_name === name)?.Value
  if (value('wsrep_on') !== 'ON') return false
  if (!value('version')?.includes('MariaDB')) {
    throw new TypeError(
      'only MariaDB Galera clusters are supported: others lack a per-statement wsrep_sync_wait',
    )
  }
  return true
}
