import type { Dialect } from '../dialect.ts'
import { codeOf } from '../fate.ts'
import { foundOf, idsIn, insertOrReplace, standard } from '../standard.ts'
import { postgresSchema } from './schema.ts'

const bindId = (hex: string): string => hex

export const postgresDialect: Dialect = {
  ...standard,
  insertOrReplace,
  bindId,
  isDuplicateKey: (error) => codeOf(error) === '23505',

  /**
   * Written so that the planner has one index to choose, and reads no more of it than it returns. A first column in a
   * list has an order that no other index gives. The lower bound stands outside: with both, a planner that does not know
   * their values would expect few keys between them, and collect all of them.
   */
  selectNewest(slice) {
    const { table, index, equal, where = 'true', key, from, below, limit, oldest } = slice
    const [[first, value] = [], ...others] = Object.entries(equal)
    // By a primary key of two columns a pair is compared: a planner expects more of that than of equality, and keeps the order.
    if (index === undefined && others.length === 0) {
      const [bound, direction] = oldest ? [`>= (${value}, ${from})`, ''] : [`< (${value}, ${below})`, 'DESC']
      return `SELECT newest.* FROM (SELECT ${foundOf(slice)}, ${first} AS of_first FROM ${table}
        WHERE (${first}, ${key}) ${bound} AND ${where} ORDER BY ${first} ${direction}, ${key} ${direction} LIMIT ${limit}) newest
        WHERE of_first = ${value} AND found >= ${from} AND found < ${below}`
    }
    const conditions = [
      `${first} = ANY (ARRAY[${value}])`,
      ...others.map(([column, its]) => `${column} = ${its}`),
      `${key} < ${below}`,
      where,
    ]
    const newest = `SELECT ${foundOf(slice)} FROM ${table} WHERE ${conditions.join(' AND ')}
      ORDER BY ${first} DESC, ${key} DESC LIMIT ${limit}`
    return `SELECT newest.* FROM (${newest}) newest WHERE found >= ${from}`
  },
  // OFFSET keeps the planner from walking an index that sorts by the key until it has found enough.
  selectNewestOf: ({ table, where, from, below, limit, ...columns }) => `SELECT of_index.* FROM
      (SELECT ${foundOf(columns)} FROM ${table} WHERE ${where} OFFSET 0) of_index
      WHERE found >= ${from} AND found < ${below} ORDER BY found DESC LIMIT ${limit}`,
  by: () => '',
  // A planner that counts them would rather read all rows of the issuer, if it expects those to be few.
  idsFrom: (first, ids) =>
    ids.length === 1
      ? idsIn(bindId)(first, ids)
      : {
          among: (column) => `${column} = ANY (ARRAY(SELECT UNNEST($${first}::UUID[])))`,
          bind: [`{${ids.join(',')}}`],
        },
  // OFFSET keeps the planner from merging or hashing the two.
  joinEach: (table, alias, on) => `CROSS JOIN LATERAL ${onlyOf(table, alias, on)}`,
  lookUpEach: (table, alias, on) => `LEFT JOIN LATERAL ${onlyOf(table, alias, on)} ON true`,

  // By their places: what is locked stays there, and no planner reads the table to join it with itself.
  deleteOldest: ({ table, where, age, limit }) => `DELETE FROM ${table} WHERE ctid = ANY (ARRAY
    (SELECT ctid FROM ${table} WHERE ${where} ORDER BY ${age} LIMIT ${limit} FOR UPDATE SKIP LOCKED))`,

  // Inserted numbers do not move an identity.
  moveSequence(table, column, by) {
    const sequence = `pg_get_serial_sequence('${table}', '${column}')`
    return {
      sql: `SELECT setval(${sequence}, nextval(${sequence}) + ${by})`,
      right: `UPDATE ON SEQUENCE ${table}_${column}_seq`,
      mayMove: `SELECT 1 AS may WHERE has_sequence_privilege(${sequence}, 'UPDATE')`,
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

  createView: (name, select) => [
    `CREATE OR REPLACE VIEW ${name} AS ${select}`,
    // From version 15 on.
    `DO 'BEGIN IF current_setting(''server_version_num'')::INTEGER >= 150000
      THEN ALTER VIEW ${name} SET (security_invoker = true); END IF; END'`,
  ],
  legible: (column) => column,

  schema: postgresSchema,
}

const onlyOf = (table: string, alias: string, on: string): string =>
  `(SELECT ${alias}.* FROM ${table} ${alias} WHERE ${on} OFFSET 0) ${alias}`
