import type { Schema } from '../dialect.ts'
import { codeOf } from '../fate.ts'
import { indexOn, quoted } from '../standard.ts'

const tablesOf = (tables: readonly string[]) =>
  `m.type IN ('table', 'view') AND m.name IN (${quoted(tables)})`

/** A change is one write: others wait for it as for any other. */
export const sqliteSchema: Schema = {
  addColumn: (table, column) => `ALTER TABLE ${table} ADD COLUMN ${column}`,
  createIndex: (index) => `CREATE INDEX ${indexOn(index)}`,
  async change(sequelize, sql) {
    await sequelize.query(sql)
  },
  printed: (sql) => sql,
  isInTheWay: (error) => codeOf(error) === 'SQLITE_BUSY',

  columns: (tables) => `SELECT m.name AS place, p.name AS name, p."notnull" = 0 AND p.pk = 0 AS nullable,
      p.type || CASE WHEN p.pk > 0 AND m.sql LIKE '% ' || p.name || ' INTEGER PRIMARY KEY AUTOINCREMENT%'
        THEN ' AUTOINCREMENT' ELSE '' END AS type
    FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE ${tablesOf(tables)}`,
  // A primary key of one whole number has no index of its own.
  indexes: (tables) => `SELECT m.name AS place, l.name AS name, l."unique" AS one, 1 AS valid,
      (SELECT group_concat(name) FROM pragma_index_info(l.name)) AS keyed,
      (SELECT CASE WHEN l.partial THEN substr(sql, instr(sql, ' WHERE ') + 7) END
        FROM sqlite_master WHERE name = l.name) AS predicate
    FROM sqlite_master m JOIN pragma_index_list(m.name) l WHERE ${tablesOf(tables)}
    UNION ALL SELECT m.name, p.name, 1, 1, p.name, NULL
    FROM sqlite_master m JOIN pragma_table_info(m.name) p ON p.pk = 1 WHERE ${tablesOf(tables)}
      AND (SELECT MAX(pk) FROM pragma_table_info(m.name)) = 1`,
  size: (table) => `SELECT COUNT(*) AS number FROM ${table}`,
  perEntry: 1.5,
  hasPartialIndexes: true,
}
