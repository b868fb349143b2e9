import type { Dialect } from '../dialect.ts'
import { idsIn, selectSlice, standard } from '../standard.ts'
import { sqliteSchema } from './schema.ts'

const bindId = (hex: string): Buffer => Buffer.from(hex, 'hex')
const by = (index: string): string => `INDEXED BY ${index}`

export const sqliteDialect: Dialect = {
  ...standard,
  bindId,
  // Only one of the two modules has a code for it.
  isDuplicateKey: (error) => error instanceof Error && /UNIQUE constraint failed/.test(error.message),

  selectNewest: (slice) => selectSlice(slice, slice.index === undefined ? '' : by(slice.index)),
  by,
  idsFrom: idsIn(bindId),

  deleteOldest: ({ table, key, where, age, limit }) => `DELETE FROM ${table} WHERE (${key.join(', ')}) IN
    (SELECT ${key.join(', ')} FROM ${table} WHERE ${where} ORDER BY ${age} LIMIT ${limit})`,

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
