import type { Dialect } from '../dialect.ts'
import { insertOrReplace, selectFound, selectSlice, standard, updateFound } from '../standard.ts'
import { withLease } from './lease.ts'

export const sqliteDialect: Dialect = {
  ...standard,
  insertOrReplace,
  bindId: (hex) => Buffer.from(hex, 'hex'),
  // Only one of the two modules has a code for it.
  isDuplicateKey: (error) => error instanceof Error && /UNIQUE constraint failed/.test(error.message),

  selectNewest: (slice) => selectSlice(slice, `INDEXED BY ${slice.index}`),
  selectNewestOf: (rows) => selectFound(rows, `INDEXED BY ${rows.index}`),
  joinEach: (table, on) => `CROSS JOIN ${table} t ON ${on}`,

  // SQLite has one writer at a time, so there is no order to keep.
  updateInOrder: (rows) => updateFound(rows),
  deleteOldest: ({ table, key, where, age, limit }) => `DELETE FROM ${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${table} WHERE ${where} ORDER BY ${age} LIMIT ${limit})`,

  types: {
    id: 'BLOB',
    hash: 'BLOB',
    small: 'INTEGER',
    int: 'INTEGER',
    big: 'INTEGER',
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
