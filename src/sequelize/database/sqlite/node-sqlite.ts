/**
 * Node's own SQLite as a Sequelize `dialectModule`: nothing to install, nothing to compile. It offers as much
 * of the `sqlite3` package's interface as Sequelize 6 calls.
 *
 * The driver is synchronous: a statement that waits for a lock blocks the event loop, and a transaction of this very
 * process may hold the lock. So it waits for `BUSY_TIMEOUT` at most, and is tried again after a pause.
 */
import { isBuiltin } from 'node:module'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { createPatience } from '../patience.ts'
import type { Binding, Result } from '../text.ts'

/** Milliseconds. */
const BUSY_TIMEOUT = 20
const MAX_PREPARED = 200

type Parameters = Readonly<Record<string, unknown>> | readonly unknown[]
interface Changes {
  readonly lastID: number
  readonly changes: number
}
type Callback<Rows = unknown> = (this: Changes, error: Error | null, rows?: Rows) => void

const OPEN_READONLY = 1
const OPEN_READWRITE = 2
const OPEN_CREATE = 4

/** Does not load the module: Node 22 warns about it as soon as it is loaded. Earlier releases lack it, or parts of it. */
function assertSqlite(): void {
  const { node } = process.versions
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const fits = major > 22 || (major === 22 && minor >= 18)
  if (fits && isBuiltin('node:sqlite')) return
  throw new Error(`nodeSqlite needs Node 22.18 or newer with node:sqlite: this is Node ${node}`)
}

class Database {
  readonly filename: string
  /** Set by Sequelize on the connections it opens for transactions. */
  uuid?: string
  readonly #database: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(filename: string, mode: number, opened: (error: Error | null) => void) {
    this.filename = filename
    const readOnly = (mode & OPEN_READWRITE) === 0
    this.#database = open(filename, readOnly)
    // Readers do not wait for the writer. A commit is on disk before it is confirmed (synchronous = FULL, the
    // default), so that a spent token stays spent when the power fails. The journal belongs to the file: who may
    // only read cannot change it.
    const writeAhead = () => {
      if (!readOnly) this.#database.exec('PRAGMA journal_mode = WAL')
    }
    // Sequelize assigns the connection after the constructor returns, and uses it in this callback.
    untilUnlocked(writeAhead, opened)
  }

  serialize(work: () => void): void {
    work()
  }

  run(sql: string, parameters?: Parameters | Callback, done?: Callback): this {
    return this.#call(sql, parameters, done, (statement, bound) => {
      const { lastInsertRowid, changes } = statement.run(...bound)
      return { lastID: Number(lastInsertRowid), changes: Number(changes) }
    })
  }

  all(sql: string, parameters?: Parameters | Callback, done?: Callback): this {
    return this.#call(sql, parameters, done, (statement, bound) => ({ rows: statement.all(...bound) }))
  }

  /** Runs a statement once for each binding, all of them or none: one commit makes them durable. */
  runAll(sql: string, bindings: readonly Binding[]): Result[] {
    const runEach = () => bindings.map((bound) => this.#runOne(sql, bound))
    try {
      return bindings.length === 1 ? runEach() : this.#atomically(runEach)
    } catch (error) {
      throw asSqliteError(error)
    }
  }

  /** A savepoint, because a database in memory has one connection, which may be inside a transaction of the host. */
  #atomically<Value>(work: () => Value): Value {
    const execute = (sql: string) => void this.#prepare(sql).run()
    const outermost = !this.#database.isTransaction
    execute('SAVEPOINT together')
    try {
      const value = work()
      execute('RELEASE together')
      return value
    } catch (error) {
      // Releasing the outermost savepoint commits, which may be what has just failed: only a rollback always ends it.
      const ending = outermost ? ['ROLLBACK'] : ['ROLLBACK TO together', 'RELEASE together']
      // After some failures SQLite has ended the transaction by itself.
      if (this.#database.isTransaction) ending.forEach(execute)
      throw error
    }
  }

  #runOne(sql: string, bound: Binding): Result {
    const statement = this.#prepare(sql)
    if (sql.startsWith('SELECT')) return { rows: statement.all(...bound), affected: 0 }
    return { rows: [], affected: Number(statement.run(...bound).changes) }
  }

  close(done?: (error: Error | null) => void): void {
    this.#prepared.clear()
    this.#database.close()
    if (done) queueMicrotask(() => done(null))
  }

  #call(
    sql: string,
    parameters: Parameters | Callback | undefined,
    done: Callback | undefined,
    execute: (statement: StatementSync, bound: SQLInputValue[]) => Partial<Changes> & { rows?: unknown },
  ): this {
    const [given, callback] = typeof parameters === 'function' ? [undefined, parameters] : [parameters, done]
    untilUnlocked(
      () => execute(this.#prepare(sql), bind(given ?? [])),
      (error, outcome) => {
        const { rows, lastID = 0, changes = 0 } = outcome ?? {}
        callback?.call({ lastID, changes }, error, rows)
      },
    )
    return this
  }

  #prepare(sql: string): StatementSync {
    const known = this.#prepared.get(sql)
    if (known) return known
    const statement = this.#database.prepare(sql)
    if (this.#prepared.size >= MAX_PREPARED) {
      const [oldest] = this.#prepared.keys()
      if (oldest !== undefined) this.#prepared.delete(oldest)
    }
    this.#prepared.set(sql, statement)
    return statement
  }
}

function open(filename: string, readOnly: boolean): DatabaseSync {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  try {
    return new DatabaseSync(filename, { readOnly, timeout: BUSY_TIMEOUT })
  } catch (error) {
    throw asSqliteError(error)
  }
}

/** Runs `work` now, and again after pauses while something is locked; then `done`, always in a later microtask. */
function untilUnlocked<Value>(work: () => Value, done: (error: Error | null, value?: Value) => void): void {
  const wait = createPatience()
  const attempt = async (): Promise<void> => {
    try {
      const value = work()
      queueMicrotask(() => done(null, value))
    } catch (thrown) {
      const error = asSqliteError(thrown)
      if (isLocked(error) && (await wait())) return attempt()
      queueMicrotask(() => done(error))
    }
  }
  void attempt()
}

/** Inside a transaction that has read what another has changed since, no patience helps (SQLITE_BUSY_SNAPSHOT). */
const isLocked = (error: Error): boolean =>
  Reflect.get(error, 'code') === 'SQLITE_BUSY' && Reflect.get(error, 'errcode') !== 517

/** Sequelize names its parameters `$1`, `$2` …; SQLite keeps times as numbers and truth as 0 and 1. */
function bind(parameters: Parameters): SQLInputValue[] {
  if (isList(parameters)) return parameters.map(asInput)
  const named = Object.entries(parameters).map(([name, value]) => [name, asInput(value)] as const)
  return [Object.fromEntries(named) as unknown as SQLInputValue]
}

const isList = (parameters: Parameters): parameters is readonly unknown[] => Array.isArray(parameters)

function asInput(value: unknown): SQLInputValue {
  if (value === undefined) return null
  if (typeof value === 'boolean') return Number(value)
  return value as SQLInputValue
}

/** Primary result codes that Sequelize tells apart by name. */
const CODES: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  19: 'SQLITE_CONSTRAINT',
}

function asSqliteError(thrown: unknown): Error {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const extended: unknown = Reflect.get(error, 'errcode')
  const code = typeof extended === 'number' ? CODES[extended & 0xff] : undefined
  if (code) Object.assign(error, { code, message: `${code}: ${error.message}` })
  return error
}

export const isNodeSqlite = (connection: object): connection is Database => connection instanceof Database

/** The members of the module that Sequelize reads. */
export const nodeSqlite = {
  // Sequelize's constructor copies its configuration, and so reads this before any statement hides the reason.
  get Database() {
    assertSqlite()
    return Database
  },
  ...{ OPEN_READONLY, OPEN_READWRITE, OPEN_CREATE },
}
