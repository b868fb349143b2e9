/** MariaDB and MySQL, one statement at a time. */

import { codeOf, type Driver, isCut } from '../driver.ts'
import { toPositional } from '../standard.ts'
import { type Bound, type Result, type Text, text } from '../text.ts'
import { mysqlDialect } from './dialect.ts'
import { most, runGroup } from './group.ts'

interface Client {
  readonly stream: { destroy(): void }
  destroy(): void
  unprepare(sql: string): void
  execute(sql: string, values: unknown, done: (error: Error | null, result: unknown) => void): void
}

/** Errors that say that the statement did not take effect and can run again at once. */
const ROLLED_BACK: ReadonlySet<string> = new Set([
  'ER_CHECKREAD', // MariaDB: a row that changed since it was read
  'ER_LOCK_DEADLOCK', // also from Galera, for a write set that lost
  'ER_TRANSACTION_ROLLBACK_DURING_COMMIT', // MySQL's group replication, for one that lost
])

/** Errors that say that the statement did not take effect and this connection would refuse it again. */
const TURNED_AWAY: ReadonlySet<string> = new Set([
  'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION', // the server became read-only for this session
  'ER_CLIENT_INTERACTION_TIMEOUT', // idle for too long: said instead of reading the statement
  'ER_CON_COUNT_ERROR', // too many connections: a proxy could reach no server
  'ER_MAX_PREPARED_STMT_COUNT_REACHED', // the end of this connection gives back those that it holds
  'ER_NEED_REPREPARE', // a prepared statement that the server could not renew
  'ER_OPTION_PREVENTS_STATEMENT', // read_only: a replica, or a primary that hands over
  'ER_READ_ONLY_MODE', // the storage engine is read-only
  'ER_UNKNOWN_COM_ERROR', // a node of Galera that has lost its cluster, or is joining it
  'ER_UNKNOWN_STMT_HANDLER', // a prepared statement that is gone: a proxy changed servers
])

/** Errors after which the statement may be in force, although they have the form of a refusal. */
const UNKNOWN: ReadonlySet<string> = new Set([
  'ER_ERROR_DURING_COMMIT', // Galera may have replicated it
  'ER_RUN_HOOK_ERROR', // and so may group replication
  'ER_UNKNOWN_ERROR',
])

const PREPARED_LIMIT =
  'the server holds as many prepared statements as max_prepared_stmt_count allows: raise it'

/** Connection lost, which includes a shutdown, and interrupted: both may strike while the server commits. */
const INTERRUPTED = /^(08|70100)/

/** The code of an error that MariaDB sends before it closes a connection that was killed. */
const KILLED = 1927

/** The driver of one pool, which remembers whether it leads to a cluster. */
export const createMysql = (): Driver => ({ ...mysql, inSync: createInSync() })

const mysql: Driver = {
  dialect: mysqlDialect,
  makesClients: 'createConnection',
  most,

  async run(connection, text, bindings) {
    const execute = executeOn(connection as Client)
    const [bind = []] = bindings
    if (text.intent && bindings.length > 1) return runGroup(execute, text.intent, bindings)
    const [sql, values] = toPositional(text, bind)
    try {
      return [await execute({ ...text, sql }, values)]
    } catch (error) {
      if (text.intent?.to !== 'claim' || codeOf(error) !== 'ER_DUP_ENTRY') throw error
      return [{ rows: [], affected: 0 }]
    }
  },

  fateOf(error) {
    const code = codeOf(error) ?? ''
    if (ROLLED_BACK.has(code)) return 'rolled back'
    if (TURNED_AWAY.has(code)) return 'turned away'
    const { sqlState, fatal, errno } = Object(error)
    if (fatal === true || errno === KILLED || /^08/.test(sqlState) || isCut(error)) return 'lost'
    const reported = typeof sqlState === 'string'
    return reported && !UNKNOWN.has(code) && !INTERRUPTED.test(sqlState) ? 'refused' : 'unknown'
  },

  destroy(connection) {
    const { stream } = connection as Client
    ;(connection as Client).destroy()
    stream.destroy()
  },

  isSchemaBehind: (error) => ['ER_NO_SUCH_TABLE', 'ER_BAD_FIELD_ERROR'].includes(codeOf(error) ?? ''),

  adviceOn: (error) => (codeOf(error) === 'ER_MAX_PREPARED_STMT_COUNT_REACHED' ? PREPARED_LIMIT : undefined),
}

const executeOn =
  (client: Client) =>
  ({ sql, rare }: Text, values: readonly Bound[]): Promise<Result> =>
    new Promise((resolve, reject) => {
      client.execute(sql, values, (error, result) => {
        // `query` would need no prepared statement, but writes the values into the text itself, by rules that the
        // server's SQL mode can change. That is how injections happen.
        if (rare) client.unprepare(sql)
        if (error) reject(error)
        else if (Array.isArray(result)) resolve({ rows: result, affected: 0 })
        else resolve({ rows: [], affected: Number(Reflect.get(Object(result), 'affectedRows')) })
      })
    })

type InSync = NonNullable<Driver['inSync']>

/**
 * A Galera cluster certifies a write before it confirms it, but for some milliseconds a row written on one node is not
 * visible on another. A statement that found no row is therefore repeated once, after the node has applied everything
 * committed before. One that finds its row costs nothing extra. The server is asked what it is at the first that does not.
 */
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
