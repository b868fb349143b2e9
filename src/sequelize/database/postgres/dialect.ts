import type { Dialect } from '../dialect.ts'
import { codeOf } from '../fate.ts'
import { idsIn, standard } from '../standard.ts'
import { postgresSchema } from './schema.ts'

const bindId = (hex: string): string => hex

export const postgresDialect: Dialect = {
  ...standard,
  bindId,
  isDuplicateKey: (error) => codeOf(error) === '23505',

  /**
   * Written so that the planner has one index to choose, and reads no more of it than it returns. A first column in a
   * list has an order that no other index gives. The lower bound stands outside: with both, a planner that does not know
   * their values would expect few keys between them, and collect all of them.
   */
  selectNewest({ table, equal, key, columns, where = 'true', from, below, limit, oldest }) {
    const [[first, value] = [], ...others] = Object.entries(equal)
    const selected = [`${key} AS found`, columns].filter(Boolean).join(', ')
    // By a primary key of two columns a pair is compared: a planner expects more of that than of equality, and keeps the order.
    if (others.length === 0) {
      const [bound, direction] = oldest ? [`>= (${value}, ${from})`, ''] : [`< (${value}, ${below})`, 'DESC']
      return `SELECT * FROM (SELECT ${selected}, ${first} AS of_first FROM ${table}
        WHERE (${first}, ${key}) ${bound} AND ${where} ORDER BY ${first} ${direction}, ${key} ${direction} LIMIT ${limit}) newest
        WHERE of_first = ${value} AND found >= ${from} AND found < ${below}`
    }
    const equals = others.map(([column, its]) => `${column} = ${its}`).join(' AND ')
    return `SELECT * FROM (SELECT ${selected} FROM ${table}
        WHERE ${first} = ANY (ARRAY[${value}]) AND ${equals} AND ${key} < ${below} AND ${where}
        ORDER BY ${first} DESC, ${key} DESC LIMIT ${limit}) newest
      WHERE found >= ${from}`
  },
  by: () => '',
  // A planner without statistics would rather read all rows of the issuer, if it expects those to be few. OFFSET keeps it
  // from that where a table looks smaller than it is, because no one reads its texts.
  idsFrom: (first, ids) =>
    ids.length === 1
      ? idsIn(bindId)(first, ids)
      : {
          among: (column) => `${column} = ANY (ARRAY(SELECT UNNEST($${first}::UUID[])))`,
          each: (table, alias, column) => `UNNEST($${first}::UUID[]) ids (id) CROSS JOIN LATERAL
            (SELECT * FROM ${table} WHERE issuer = $1 AND ${column} = ids.id OFFSET 0) ${alias}`,
          bind: [`{${ids.join(',')}}`],
        },

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
