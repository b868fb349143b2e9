/**
 * A Galera cluster certifies a write before it confirms it, but for some milliseconds a row written on one node is
 * not visible on another. A statement that found no row is therefore repeated once, after the node has applied
 * everything committed before. A statement that finds its row costs nothing extra.
 */
import type { Driver } from '../driver.ts'
import { text } from '../values.ts'

type InSync = NonNullable<Driver['inSync']>

/** For one server or cluster, which is asked what it is when a statement first finds no row. */
export function createInSync(): InSync {
  let known: Promise<boolean> | undefined
  return async (sql, find) => {
    known ??= isCluster(find)
    known.catch(() => {
      known = undefined
    })
    // 7 makes reads, updates, deletes, inserts and replaces wait.
    return (await known) ? `SET STATEMENT wsrep_sync_wait=7 FOR ${sql}` : undefined
  }
}

async function isCluster(find: Parameters<InSync>[1]): Promise<boolean> {
  // `version` names the product: other kinds of Galera cluster lack `SET STATEMENT`.
  const rows = await find("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'version')")
  const value = (name: string) => text(rows.find((row) => row.Variable_name === name)?.Value ?? '')
  if (value('wsrep_on') !== 'ON') return false
  if (!value('version').includes('MariaDB')) {
    throw new TypeError(
      'only MariaDB Galera clusters are supported: others lack a per-statement wsrep_sync_wait',
    )
  }
  return true
}
