import type { Dialect } from '../dialect.ts'
import { codeOf } from '../fate.ts'
import { idsIn, into, replacing, selectSlice } from '../standard.ts'
import { mysqlSchema } from './schema.ts'

const bindId = (hex: string): Buffer => Buffer.from(hex, 'hex')
const by = (index: string): string => `FORCE INDEX (${index})`

export const mysqlDialect: Dialect = {
  /** As bytes, because collations ignore case and trailing spaces. */
  bindName: (name) => (name === undefined ? null : Buffer.from(name)),
  bindId,
  insert: (rows) => `INSERT ${into(rows)}`,
  claim: (row) => `INSERT ${into(row)}`,
  isDuplicateKey: (error) => codeOf(error) === 'ER_DUP_ENTRY',
  // IGNORE would turn errors in the data into warnings.
  insertNew: (rows) => `INSERT ${into(rows)} ON DUPLICATE KEY UPDATE ${rows.columns[0]} = ${rows.columns[0]}`,
  writeOnce(rows) {
    // MySQL assigns from left to right: the column that decides is the last of its group.
    const set = rows.once.flatMap(([first, ...others]) =>
      [...others, first].map((column) => `${column} = IF(${first} IS NULL, VALUES(${column}), ${column})`),
    )
    return `INSERT ${into(rows)} ON DUPLICATE KEY UPDATE ${set.join(', ')}`
  },
  upsert: (row) => `INSERT ${into(row)} ON DUPLICATE KEY UPDATE
    ${replacing(row, (column) => `VALUES(${column})`)}`,
  selectNewest: (slice) => selectSlice(slice, by(slice.index ?? 'PRIMARY')),
  by,
  idsFrom: idsIn(bindId),
  deleteOldest: ({ table, where, age, limit }) =>
    `DELETE FROM ${table} WHERE ${where} ORDER BY ${age} LIMIT ${limit}`,

  types: {
    id: 'BINARY(16)',
    hash: 'BINARY(32)',
    small: 'SMALLINT',
    int: 'INT',
    big: 'BIGINT',
    ascii: 'VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin',
    // 255 code points of four bytes.
    name: 'VARBINARY(1020)',
    // A key of InnoDB holds 3072 bytes.
    shortName: 'VARBINARY(255)',
    text: 'MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    sequence: 'BIGINT NOT NULL AUTO_INCREMENT UNIQUE',
    keyBesideSequence: 'PRIMARY KEY',
  },
  /** For row locks and crash safety, whatever the server's default engine. */
  tableOptions: ' ENGINE = InnoDB',
  // InnoDB keeps every table so.
  byKey: '',
  createView: (name, select) => [`CREATE OR REPLACE SQL SECURITY INVOKER VIEW ${name} AS ${select}`],
  legible(column, kind) {
    if (kind === 'id') return `LOWER(HEX(${column}))`
    return kind === 'name' ? `CONVERT(${column} USING utf8mb4)` : column
  },
  /** The bytes of an index entry are limited, and names differ within far fewer than they may hold. */
  indexed: (column) => `${column}(191)`,
  schema: mysqlSchema,
}
