import type { Dialect } from '../dialect.ts'
import { codeOf } from '../driver.ts'
import { BEING_MADE, byBytes, indexOn, quoted, standard, UNFINISHED } from '../standard.ts'

/** Where the search path of the connection finds them. */
const oids = (tables: readonly string[]) => tables.map((name) => `to_regclass('${name}')`).join(', ')

/** No index is made in a transaction, and what waits for others while it is made holds up no one. */
const isOfIndex = (sql: string) => /^(CREATE|DROP) INDEX/.test(sql)

export const postgresDialect: Dialect = {
  ...standard,
  bindId: (hex) => hex,

  /**
   * Written so that the planner has one index to choose, and reads no more of it than it returns. A first column in a
   * list has an order that no other index gives. The lower bound stands outside: with both, a planner that does not know
   * their values would expect few keys between them, and collect all of them.
   */
  selectNewest({ table, id, column, value = '$4', columns, where = 'true' }, limit, oldest) {
    const selected = [`${id} AS found`, columns].filter(Boolean).join(', ')
    // A key of two columns is compared as a pair: a planner expects more rows of that than of equality, and keeps the order.
    if (column === undefined) {
      const [bound, direction] = oldest ? ['>= ($1, $2)', ''] : ['< ($1, $3)', 'DESC']
      return `SELECT * FROM (SELECT ${selected}, issuer AS of_issuer FROM ${table}
        WHERE (issuer, ${id}) ${bound} AND ${where} ORDER BY issuer ${direction}, ${id} ${direction} LIMIT ${limit}) newest
        WHERE of_issuer = $1 AND found >= $2 AND found < $3`
    }
    return `SELECT * FROM (SELECT ${selected} FROM ${table}
        WHERE ${column} = ANY (ARRAY[${value}]) AND issuer = $1 AND ${id} < $3 AND ${where}
        ORDER BY ${column} DESC, ${id} DESC LIMIT ${limit}) newest
      WHERE found >= $2`
  },
  by: () => '',
  // A planner without statistics would rather read all rows of the issuer, if it expects those to be few. OFFSET keeps it
  // from that where a table looks smaller than it is, because no one reads its texts.
  idsFrom: (first, ids) =>
    ids.length === 1
      ? { ...byBytes.idsFrom(first, ids), bind: ids }
      : {
          among: (column) => `${column} = ANY (ARRAY(SELECT UNNEST($${first}::UUID[])))`,
          each: (table, alias, column) => `UNNEST($${first}::UUID[]) ids (id) CROSS JOIN LATERAL
            (SELECT * FROM ${table} WHERE issuer = $1 AND ${column} = ids.id OFFSET 0) ${alias}`,
          bind: [`{${ids.join(',')}}`],
        },

  // Rows are named by their places: a locked row stays there, and no planner reads the table to join it with itself.
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

  addColumn: (table, column) => `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${column}`,
  createIndex: (index) => `CREATE INDEX CONCURRENTLY ${indexOn(index)}`,
  dropIndex: (name) => `DROP INDEX CONCURRENTLY IF EXISTS ${name}`,

  // Statements that are sent together are one transaction, and a pooler gives them to one server. A setting of the
  // session would stay with that server, for others.
  async change(sequelize, sql) {
    await sequelize.query(isOfIndex(sql) ? sql : `SET LOCAL lock_timeout = '1s';\n${sql}`)
  },
  printed: (sql) =>
    sql.startsWith('ALTER') ? `BEGIN;\nSET LOCAL lock_timeout = '1s';\n${sql};\nCOMMIT` : sql,
  // A lock that was not to be had, a deadlock, and two changes of one row of the catalogue.
  isInTheWay: (error) => ['55P03', '40P01', '40001', 'XX000'].includes(codeOf(error) ?? ''),
  // Tables of two databases may have one number.
  blockers: (table) => `SELECT DISTINCT l.pid AS id FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE d.datname = current_database() AND l.relation = to_regclass('${table}')
      AND l.granted AND l.pid <> pg_backend_pid() ORDER BY l.pid`,

  catalogue: (tables) => `SELECT 'column ' || c.relname || '.' || a.attname AS name,
      upper(replace(format_type(a.atttypid, a.atttypmod), 'character varying', 'varchar'))
      || CASE WHEN a.attcollation <> y.typcollation THEN ' COLLATE "' || l.collname || '"' ELSE '' END
      || CASE a.attidentity WHEN 'a' THEN ' GENERATED ALWAYS AS IDENTITY' ELSE '' END
      || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END AS shape, 'table ' || c.relname AS also
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type y ON y.oid = a.atttypid
      LEFT JOIN pg_collation l ON l.oid = a.attcollation
    WHERE c.oid IN (${oids(tables)}) AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT 'index ' || c.relname,
      CASE WHEN i.indisvalid AND i.indisready THEN 'on (' || k.names || ')'
          || COALESCE(' WHERE ' || btrim(pg_get_expr(i.indpred, i.indrelid), '()'), '')
        WHEN EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = c.oid) THEN '${BEING_MADE}'
        ELSE '${UNFINISHED}' END,
      CASE WHEN i.indisunique AND i.indisvalid AND i.indpred IS NULL THEN 'key (' || k.names || ') of ' || t.relname END
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
      CROSS JOIN LATERAL (SELECT string_agg(a.attname, ', ' ORDER BY k.number) AS names
        FROM unnest(i.indkey::INT2[]) WITH ORDINALITY k (attnum, number)
          JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum) k
    WHERE t.oid IN (${oids(tables)})`,
  size: (table) => `SELECT greatest(reltuples, 0) AS number, pg_table_size(oid) AS bytes
    FROM pg_class WHERE oid = to_regclass(${quoted([table])})`,
  perEntry: 2,
  hasPartialIndexes: true,
}
