import { codeOf, type Driver } from '../driver.ts'
import { toPositional } from '../standard.ts'
import type { Binding, Bound, Row } from '../text.ts'
import { sqliteDialect } from './dialect.ts'
import { isNodeSqlite } from './node-sqlite.ts'

/** The parts that both modules for SQLite share. */
const sqlite: Omit<Driver, 'most' | 'run'> = {
  dialect: sqliteDialect,

  fateOf(error) {
    if (codeOf(error) === 'SQLITE_BUSY') return 'locked'
    return typeof Reflect.get(Object(error), 'errcode') === 'number' ? 'refused' : 'unknown'
  },

  // No code of its own: SQLite has one for every error in SQL.
  isSchemaBehind: (error) =>
    error instanceof Error && /no such (table|column)|has no column named/.test(error.message),
}

/** Node's own SQLite: several bindings share a commit. */
export const nodeDriver: Driver = {
  ...sqlite,
  most: () => 32,
  async run(connection, text, bindings) {
    if (!isNodeSqlite(connection)) throw new TypeError('not a connection of nodeSqlite')
    const [sql] = toPositional(text, [])
    return connection.runAll(
      sql,
      bindings.map((bind) => toPositional(text, bind)[1]),
    )
  },
}

interface Sqlite3 {
  all(sql: string, bind: Binding, done: (error: Error | null, rows?: readonly Row[]) => void): void
  run(sql: string, bind: Bound[], done: (this: { changes: number }, error: Error | null) => void): void
}

/** The `sqlite3` package, one statement at a time. */
export const sqlite3Driver: Driver = {
  ...sqlite,
  most: () => 1,
  run: (connection, text, [bind = []]) =>
    new Promise((resolve, reject) => {
      const sqlite3 = connection as Sqlite3
      const [sql, values] = toPositional(text, bind)
      if (sql.startsWith('SELECT')) {
        sqlite3.all(sql, values, (error, rows = []) =>
          error ? reject(error) : resolve([{ rows, affected: 0 }]),
        )
      } else {
        sqlite3.run(sql, values, function (error) {
          if (error) reject(error)
          else resolve([{ rows: [], affected: this.changes }])
        })
      }
    }),
}
