/**
 * A statement on a connection of Sequelize's own pool, without Sequelize around it: its `query` costs as much CPU
 * again as the driver does. Hooks, scopes and a surrounding transaction do not apply, and none of them may: a
 * spend inside somebody's transaction would be undone with it.
 */
import { createHash } from 'node:crypto'
import type { Sequelize } from 'sequelize'
import type { Dialect } from './dialect.ts'
import { isNodeSqlite, nodeSqlite } from './node-sqlite.ts'
import { PostgresStatement } from './postgres-statement.ts'

/** What Sequelize's pool hands out; its types tell no more. */
export type Connection = object
export type Bound = string | number | Buffer | null
/** What the parameters of a statement stand for: `$1` is the first. */
export type Binding = readonly Bound[]
export type Row = Readonly<Record<string, unknown>>

/** Rows of a reading statement, and how many rows a writing one touched. */
export interface Result {
  readonly rows: readonly Row[]
  readonly affected: number
}

/** Runs a statement once for each binding, in one transaction, and answers in their order. */
type Run = (connection: Connection, sql: string, bindings: readonly Binding[]) => Promise<readonly Result[]>

export const RUN: Readonly<Record<Dialect, Run>> = { postgres: onPostgres, mysql: onMysql, sqlite: onSqlite }

/** Whether several bindings can go in one transaction without a round trip more; elsewhere it is one at a time. */
export function takesSeveral(sequelize: Sequelize): boolean {
  const dialect = sequelize.getDialect()
  if (dialect === 'sqlite') return Reflect.get(sequelize.connectionManager, 'lib') === nodeSqlite
  return dialect === 'postgres'
}

interface PostgresConnection {
  query(statement: PostgresStatement): void
}

function onPostgres(
  connection: Connection,
  sql: string,
  bindings: readonly Binding[],
): Promise<readonly Result[]> {
  return new Promise((resolve, reject) => {
    const statement = new PostgresStatement(nameFor(sql), sql, bindings, (error, results) =>
      error || !results ? reject(error) : resolve(results),
    )
    ;(connection as PostgresConnection).query(statement)
  })
}

interface MysqlConnection {
  execute(sql: string, values: Binding, done: (error: Error | null, result: unknown) => void): void
}

function onMysql(
  connection: Connection,
  sql: string,
  bindings: readonly Binding[],
): Promise<readonly Result[]> {
  const { text, order } = positional(sql)
  const bind = arrange(theOnly(bindings), order)
  return new Promise((resolve, reject) => {
    const mysql = connection as MysqlConnection
    mysql.execute(text, bind, (error, result) => {
      if (error) reject(error)
      else if (Array.isArray(result)) resolve([{ rows: result, affected: 0 }])
      else resolve([{ rows: [], affected: Number(Reflect.get(Object(result), 'affectedRows')) }])
    })
  })
}

interface Sqlite3Connection {
  all(sql: string, bind: Binding, done: (error: Error | null, rows?: readonly Row[]) => void): void
  run(sql: string, bind: Binding, done: (this: { changes: number }, error: Error | null) => void): void
}

async function onSqlite(
  connection: Connection,
  sql: string,
  bindings: readonly Binding[],
): Promise<readonly Result[]> {
  const { text, order } = positional(sql)
  if (isNodeSqlite(connection)) {
    return connection.runAll(
      text,
      bindings.map((bind) => arrange(bind, order)),
    )
  }
  return [await onSqlite3(connection as Sqlite3Connection, text, arrange(theOnly(bindings), order))]
}

function onSqlite3(sqlite3: Sqlite3Connection, text: string, bind: Binding): Promise<Result> {
  return new Promise((resolve, reject) => {
    if (text.startsWith('SELECT')) {
      sqlite3.all(text, bind, (error, rows = []) => (error ? reject(error) : resolve({ rows, affected: 0 })))
    } else {
      sqlite3.run(text, bind, function (error) {
        if (error) reject(error)
        else resolve({ rows: [], affected: this.changes })
      })
    }
  })
}

/** What a driver that cannot run several in one transaction is given. */
function theOnly([bind, ...more]: readonly Binding[]): Binding {
  if (!bind || more.length > 0) throw new TypeError('one binding at a time')
  return bind
}

const names = new Map<string, string>()

/** A name of its own for each text, the same in every process. */
function nameFor(sql: string): string {
  let name = names.get(sql)
  if (name === undefined) {
    name = `impersonation_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`
    names.set(sql, name)
  }
  return name
}

interface Positional {
  readonly text: string
  /** Which of the bound values stands at each `?`. */
  readonly order: readonly number[]
}

const positionals = new Map<string, Positional>()

/** MySQL knows no `$1`, and Node's SQLite binds by name where there is one. */
function positional(sql: string): Positional {
  let known = positionals.get(sql)
  if (!known) {
    const order: number[] = []
    const text = sql.replace(/\$(\d+)/g, (_, position: string) => {
      order.push(Number(position))
      return '?'
    })
    known = { text, order }
    positionals.set(sql, known)
  }
  return known
}

const arrange = (bind: Binding, order: readonly number[]): Bound[] =>
  order.map((position) => bind[position - 1] ?? null)
