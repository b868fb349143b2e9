import type { Dialect } from '../dialect.ts'
import { codeOf } from '../driver.ts'
import { byBytes, indexOn, quoted, selectBy, standard } from '../standard.ts'

const tablesOf = (tables: readonly string[]) =>
  `m.type IN ('table', 'view') AND m.name IN (${quoted(tables)})`

const by = (index: string): string => `INDEXED BY ${index}`

export const sqliteDialect: Dialect = {
  ...byBytes,
  ...standard,

  selectNewest: (walk, ...others) =>
    selectBy(walk.index === undefined ? '' : by(walk.index), walk, ...others),
  by,

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

  // A change is one write: others wait for it as for any other.
  addColumn: (table, column) => `ALTER TABLE ${table} ADD COLUMN ${column}`,
  createIndex: (index) => `CREATE INDEX ${indexOn(index)}`,
  async change(sequelize, sql) {
    await sequelize.query(sql)
  },
  printed: (sql) => sql,
  isInTheWay: (error) => codeOf(error) === 'SQLITE_BUSY',

  // A primary key of one whole number has no index of its own.
  catalogue: (tables) => `SELECT 'column ' || m.name || '.' || p.name AS name, p.type
      || CASE WHEN p.pk > 0 AND m.sql LIKE '% ' || p.name || ' INTEGER PRIMARY KEY AUTOINCREMENT%'
        THEN ' AUTOINCREMENT' ELSE '' END
      || CASE WHEN p."notnull" = 0 AND p.pk = 0 THEN '' ELSE ' NOT NULL' END AS shape, 'table ' || m.name AS also
    FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE ${tablesOf(tables)}
    UNION ALL SELECT 'index ' || name, 'on (' || names || ')' || COALESCE(rows, ''),
      CASE WHEN one AND rows IS NULL THEN 'key (' || names || ') of ' || place END
    FROM (SELECT m.name AS place, l.name AS name, l."unique" AS one,
        (SELECT group_concat(name, ', ') FROM pragma_index_info(l.name)) AS names,
        (SELECT CASE WHEN l.partial THEN substr(sql, instr(sql, ' WHERE ')) END
          FROM sqlite_master WHERE name = l.name) AS rows
      FROM sqlite_master m JOIN pragma_index_list(m.name) l WHERE ${tablesOf(tables)})
    UNION ALL SELECT 'key (' || p.name || ') of ' || m.name, '', NULL
    FROM sqlite_master m JOIN pragma_table_info(m.name) p ON p.pk = 1 WHERE ${tablesOf(tables)}
      AND (SELECT MAX(pk) FROM pragma_table_info(m.name)) = 1`,
  size: (table) => `SELECT COUNT(*) AS number FROM ${table}`,
  perEntry: 1.5,
  hasPartialIndexes: true,
}
