import { isNodeSqlite } from '../node-sqlite.ts'
import type { Binding, Bound, Driver, Row } from './driver.ts'
import { codeOf } from './fate.ts'
import { toPositional } from './positional.ts'
import { withLease } from './sqlite-lease.ts'
import { insertOrReplace, selectFound, selectSlice, standard, updateFound } from './standard.ts'

/** What both modules for SQLite have in common. */
const sqlite: Omit<Driver, 'most' | 'run'> = {
  ...standard,
  insertOrReplace,

  fateOf(error) {
    if (codeOf(error) === 'SQLITE_BUSY') return 'locked'
    return typeof Reflect.get(Object(error), 'errcode') === 'number' ? 'refused' : 'unknown'
  },

  selectNewest: (slice) => selectSlice(slice, `INDEXED BY ${slice.index}`),
  selectNewestOf: (rows) => selectFound(rows, `INDEXED BY ${rows.index}`),
  joinEach: (table, on) => `CROSS JOIN ${table} t ON ${on}`,

  // No code of its own: SQLite has one for every error in SQL.
  isSchemaBehind: (error) =>
    error instanceof Error && /no such (table|column)|has no column named/.test(error.message),

  // SQLite has one writer at a time, so there is no order to keep.
  updateInOrder: (rows) => updateFound(rows),
  deleteOldest: ({ table, key, where, age, limit }) => `DELETE FROM ${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${table} WHERE ${where} ORDER BY ${age} LIMIT ${limit})`,

  types: {
    ascii: 'TEXT',
    name: 'TEXT',
    shortName: 'TEXT',
    text: 'TEXT',
    // Without the last word, the number of a deleted row would be handed out again.
    sequence: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    keyBesideSequence: 'UNIQUE',
  },
  exclusively: withLease,
}

/** Node's own SQLite: several bindings share a commit. */
export const nodeDriver: Driver = {
  ...sqlite,
  most: () => 8,
  async run(connection, { sql }, bindings) {
    if (!isNodeSqlite(connection)) throw new TypeError('not a connection of nodeSqlite')
    const [text] = toPositional(sql, [])
    return connection.runAll(
      text,
      bindings.map((bind) => toPositional(sql, bind)[1]),
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
  run: (connection, { sql }, [bind = []]) =>
    new Promise((resolve, reject) => {
      const sqlite3 = connection as Sqlite3
      const [text, values] = toPositional(sql, bind)
      if (text.startsWith('SELECT')) {
        sqlite3.all(text, values, (error, rows = []) =>
          error ? reject(error) : resolve([{ rows, affected: 0 }]),
        )
      } else {
        sqlite3.run(text, values, function (error) {
          if (error) reject(error)
          else resolve([{ rows: [], affected: this.changes }])
        })
      }
    }),
}
