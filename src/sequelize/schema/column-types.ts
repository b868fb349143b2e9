import type { Dialect } from '../database/dialect.ts'

interface ColumnTypes {
  /** Ids and hashes of our own. */
  readonly ascii: string
  /** Names from outside, compared byte by byte. */
  readonly name: string
  /** Text that is only read back. */
  readonly text: string
}

export const COLUMN_TYPES: Readonly<Record<Dialect, ColumnTypes>> = {
  sqlite: { ascii: 'TEXT', name: 'TEXT', text: 'TEXT' },
  // The database's own collation may order and compare as a language does.
  postgres: { ascii: 'VARCHAR(64) COLLATE "C"', name: 'TEXT COLLATE "C"', text: 'TEXT' },
  mysql: {
    ascii: 'VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin',
    // 255 code points of four bytes.
    name: 'VARBINARY(1020)',
    text: 'MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
  },
}

/** Row locks and crash safety, whatever the server's default engine is. */
export const tableOptions = (dialect: Dialect): string => (dialect === 'mysql' ? ' ENGINE = InnoDB' : '')

/** MySQL limits the bytes of an index entry; a name is told apart by far fewer than it may hold. */
export const indexed = (dialect: Dialect, column: string): string =>
  dialect === 'mysql' ? `${column}(191)` : column
