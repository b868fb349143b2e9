import type { Dialect } from '../dialect.ts'
import { codeOf } from '../fate.ts'
import { insertOrReplace, selectSlice, standard, updateFound } from '../standard.ts'
import { withAdvisoryLock } from './lock.ts'

export const postgresDialect: Dialect = {
  ...standard,
  insertOrReplace,
  bindId: (hex) => hex,
  isDuplicateKey: (error) => codeOf(error) === '23505',

  /**
   * Written so that the planner has one index to choose, and reads no more of it than it returns. A first column in a
   * list has an order that no other index gives. The lower bound stands outside: with both, a planner that does not know
   * their values would expect few keys between them, and collect all of them.
   */
  selectNewest(slice) {
    if (slice.only) return selectSlice(slice, '')
    const { table, equal, key, from, below, limit } = slice
    const [[first, value] = [], ...others] = Object.entries(equal)
    const conditions = [
      `${first} = ANY (ARRAY[${value}])`,
      ...others.map(([column, its]) => `${column} = ${its}`),
      `${key} < ${below}`,
    ]
    const newest = `SELECT ${key} AS found FROM ${table} WHERE ${conditions.join(' AND ')}
      ORDER BY ${first} DESC, ${key} DESC LIMIT ${limit}`
    return `SELECT found FROM (${newest}) newest WHERE found >= ${from}`
  },
  // OFFSET keeps the planner from walking an index that sorts by the key until it has found enough.
  selectNewestOf: ({ table, where, key, from, below, limit }) => `SELECT found FROM
      (SELECT ${key} AS found FROM ${table} WHERE ${where} OFFSET 0) of_index
      WHERE found >= ${from} AND found < ${below} ORDER BY found DESC LIMIT ${limit}`,
  // OFFSET keeps the planner from merging or hashing the two.
  joinEach: (table, on) => `CROSS JOIN LATERAL (SELECT t.* FROM ${table} t WHERE ${on} OFFSET 0) t`,

  updateInOrder: (rows) => updateFound(rows, ` ORDER BY t.${rows.order} COLLATE "C" FOR UPDATE OF t`),
  deleteOldest: ({ table, key, where, age, limit }) => `DELETE FROM ${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${table} WHERE ${where} ORDER BY ${age} LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,

  // Inserted numbers do not move an identity.
  moveSequence(table, column, by) {
    const sequence = `pg_get_serial_sequence('${table}', '${column}')`
    return {
      sql: `SELECT setval(${sequence}, nextval(${sequence}) + ${by})`,
      right: `UPDATE ON SEQUENCE ${table}_${column}_seq`,
    }
  },

  // The database's default collation may compare as a language does.
  types: {
    id: 'UUID',
    hash: 'BYTEA',
    small: 'SMALLINT',
    int: 'INTEGER',
    big: 'BIGINT',
    ascii: 'VARCHAR(64) COLLATE "C"',
    name: 'TEXT COLLATE "C"',
    shortName: 'TEXT COLLATE "C"',
    text: 'TEXT',
    sequence: 'BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE',
    keyBesideSequence: 'PRIMARY KEY',
  },

  exclusively: withAdvisoryLock,
}
