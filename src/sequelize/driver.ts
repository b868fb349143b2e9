/**
 * A statement on a connection of Sequelize's own pool, without Sequelize around it: its `query` costs as much CPU
 * again as the driver does. Hooks, scopes and a surrounding transaction do not apply, and none of them may: a
 * spend inside somebody's transaction would be undone with it.
 */
import { createHash } from 'node:crypto'
import type { Dialect } from './dialect.ts'
import { PostgresStatement } from './postgres-statement.ts'

/** What Sequelize's pool hands out; its types tell no more. */
export type Connection = object
export type Bound = string | number | Buffer | null
export type Row = Readonly<Record<string, unknown>>

/** Rows of a reading statement, and how many rows a writing one touched. */
export interface Result {
  readonly rows: readonly Row[]
  readonly affected: number
}

type Run = (connection: Connection, sql: string, bind: readonly Bound[]) => Promise<Result>

export const RUN: Readonly<Record<Dialect, Run>> = { postgres: onPostgres, mysql: onMysql, sqlite: onSqlite }

interface PostgresConnection {
  query(statement: PostgresStatement): void
}

function onPostgres(connection: Connection, sql: string, bind: readonly Bound[]): Promise<Result> {
  return new Promise((resolve, reject) => {
    const statement = new PostgresStatement(nameFor(sql), sql, bind, (error, result) =>
      error || !result ? reject(error) : resolve(result),
    )
    ;(connection as PostgresConnection).query(statement)
  })
}

interface MysqlConnection {
  execute(sql: string, values: readonly Bound[], done: (error: Error | null, result: unknown) => void): void
}

function onMysql(connection: Connection, sql: string, bind: readonly Bound[]): Promise<Result> {
  const { text, order } = positional(sql)
  const values = order.map((position) => bind[position - 1] ?? null)
  return new Promise((resolve, reject) => {
    const mysql = connection as MysqlConnection
    mysql.execute(text, values, (error, result) => {
      if (error) reject(error)
      else if (Array.isArray(result)) resolve({ rows: result, affected: 0 })
      else resolve({ rows: [], affected: Number(Reflect.get(Object(result), 'affectedRows')) })
    })
  })
}

interface SqliteConnection {
  all(sql: string, bind: object, done: (error: Error | null, rows?: readonly Row[]) => void): void
  run(sql: string, bind: object, done: (this: { changes: number }, error: Error | null) => void): void
}

function onSqlite(connection: Connection, sql: string, bind: readonly Bound[]): Promise<Result> {
  const sqlite = connection as SqliteConnection
  const named = Object.fromEntries(bind.map((value, index) => [`$${index + 1}`, value]))
  return new Promise((resolve, reject) => {
    if (sql.startsWith('SELECT')) {
      sqlite.all(sql, named, (error, rows = []) => (error ? reject(error) : resolve({ rows, affected: 0 })))
    } else {
      sqlite.run(sql, named, function (error) {
        if (error) reject(error)
        else resolve({ rows: [], affected: this.changes })
      })
    }
  })
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

/** MySQL knows no `$1`. */
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
