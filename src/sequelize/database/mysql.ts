/** MariaDB and MySQL, one statement at a time. */
import type { Driver } from './driver.ts'
import { codeOf } from './fate.ts'
import { inSync } from './galera.ts'
import { withNamedLock } from './mysql-lock.ts'
import { toPositional } from './positional.ts'
import { into, replacing } from './standard.ts'

interface Client {
  execute(sql: string, values: unknown, done: (error: Error | null, result: unknown) => void): void
}

export const mysql: Driver = {
  batches: false,
  run: (connection, sql, [bind = []]) =>
    new Promise((resolve, reject) => {
      ;(connection as Client).execute(...toPositional(sql, bind), (error, result) => {
        if (error) reject(error)
        else if (Array.isArray(result)) resolve([{ rows: result, affected: 0 }])
        else resolve([{ rows: [], affected: Number(Reflect.get(Object(result), 'affectedRows')) }])
      })
    }),

  fateOf(error) {
    // The first also from Galera, for a write set that lost; the second from MariaDB, for a row changed since it was read.
    if (['ER_LOCK_DEADLOCK', 'ER_CHECKREAD'].includes(codeOf(error) ?? '')) return 'rolled back'
    const { sqlState, fatal } = Object(error)
    return typeof sqlState === 'string' && fatal !== true ? 'refused' : 'unknown'
  },

  isSchemaBehind: (error) => ['ER_NO_SUCH_TABLE', 'ER_BAD_FIELD_ERROR'].includes(codeOf(error) ?? ''),

  inSync,

  /** As bytes, because collations ignore case and trailing spaces. */
  bindName: (name) => (name === undefined ? null : Buffer.from(name, 'utf8')),
  insert: (row) => `INSERT ${into(row)}`,
  // IGNORE turns errors in the data into warnings too: not for values that could be wrong.
  insertNew: (row) => `INSERT IGNORE ${into(row)}`,
  upsert: (row) => `INSERT ${into(row)} ON DUPLICATE KEY UPDATE
    ${replacing(row, (column) => `VALUES(${column})`)}`,
  // There are no batches whose order it would have to keep.
  updateInOrder({ set, from, where }) {
    const assignments = Object.entries(set).map(([column, value]) => `t.${column} = ${value}`)
    return `UPDATE ${from} SET ${assignments.join(', ')} WHERE ${where}`
  },
  deleteOldest: ({ table, where, age, limit }) =>
    `DELETE FROM ${table} WHERE ${where} ORDER BY ${age} LIMIT ${limit}`,

  types: {
    ascii: 'VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin',
    // 255 code points of four bytes.
    name: 'VARBINARY(1020)',
    // A key of InnoDB holds 3072 bytes.
    shortName: 'VARBINARY(255)',
    text: 'MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
  },
  /** For row locks and crash safety, whatever the server's default engine. */
  tableOptions: ' ENGINE = InnoDB',
  /** The bytes of an index entry are limited, and names differ within far fewer than they may hold. */
  indexed: (column) => `${column}(191)`,
  /** The comment is read by MariaDB only: MySQL has no `IF NOT EXISTS` here. */
  createIndex: ({ name, table, columns }) =>
    `CREATE INDEX /*M! IF NOT EXISTS */ ${name} ON ${table} (${columns})`,
  exclusively: (sequelize, wait, work) => withNamedLock(mysql, sequelize, wait, work),
}
