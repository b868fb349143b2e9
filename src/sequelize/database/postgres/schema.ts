import type { Schema } from '../dialect.ts'
import { codeOf } from '../fate.ts'
import { BEING_MADE, indexOn, quoted, UNFINISHED } from '../standard.ts'

/** Where the search path of the connection finds them. */
const oids = (tables: readonly string[]) => tables.map((name) => `to_regclass('${name}')`).join(', ')

/** No index is made in a transaction, and what waits for others while it is made holds up no one. */
const isOfIndex = (sql: string) => /^(CREATE|DROP) INDEX/.test(sql)

export const postgresSchema: Schema = {
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
