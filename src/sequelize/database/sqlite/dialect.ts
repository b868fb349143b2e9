import type { Dialect } from '../dialect.ts'
import { insertOrReplace, selectFound, selectSlice, standard } from '../standard.ts'
import { sqliteSchema } from './schema.ts'

export const sqliteDialect: Dialect = {
  ...standard,
  insertOrReplace,
  bindId: (hex) => Buffer.from(hex, 'hex'),
  // Only one of the two modules has a code for it.
  isDuplicateKey: (error) => error instanceof Error && /UNIQUE constraint failed/.test(error.message),

  selectNewest: (slice) => selectSlice(slice, slice.index === undefined ? '' : `INDEXED BY ${slice.index}`),
  selectNewestOf: (rows) => selectFound(rows, `INDEXED BY ${rows.index}`),
  joinEach: (table, alias, on) => `CROSS JOIN ${table} ${alias} ON ${on}`,
  lookUpEach: (table, alias, on) => `LEFT JOIN ${table} ${alias} ON ${on}`,

  deleteOldest: ({ table, key, where, age, limit }) => `DELETE FROM ${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${table} WHERE ${where} ORDER BY ${age} LIMIT ${limit})`,

  types: {
    id: 'BLOB',
    hash: 'BLOB',
    small: 'INTEGER',
    int: 'INTEGER',
    big: 'BIGINT',
    ascii: 'TEXT',
    name: 'TEXT',
    shortName: 'TEXT',
    text: 'TEXT',
    // Without the last word, the number of a deleted row would be handed out again.
    sequence: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    keyBesideSequence: 'UNIQUE',
  },
  byKey: ' WITHOUT ROWID',
  createView: (name, select) => [`CREATE VIEW IF NOT EXISTS ${name} AS ${select}`],
  legible: (column, kind) => (kind === 'id' ? `LOWER(HEX(${column}))` : column),

  schema: sqliteSchema,
}
