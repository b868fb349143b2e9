import type { Dialect } from '../dialect.ts'
import { codeOf } from '../driver.ts'
import { logOf } from '../pool.ts'
import { byBytes, insertInto, quoted, replacing, selectBy } from '../standard.ts'

interface Client {
  query(sql: string, done: (error: Error | null, result: unknown) => void): void
}

const send = (connection: object, sql: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    ;(connection as Client).query(sql, (error, result) => (error ? reject(error) : resolve(result)))
  })

const by = (index: string): string => `FORCE INDEX (${index})`

export const mysqlDialect: Dialect = {
  ...byBytes,
  /** Texts are compared as bytes, because collations ignore case and trailing spaces. */
  bindName: (name) => (name === undefined ? null : Buffer.from(name)),
  claim: insertInto,
  // IGNORE would turn errors in the data into warnings.
  insertNew: (rows) => `${insertInto(rows)} ON DUPLICATE KEY UPDATE ${rows.columns[0]} = ${rows.columns[0]}`,
  writeOnce(rows) {
    const [first, ...others] = rows.once
    // MySQL assigns from left to right: the column that decides is the last.
    const set = [...others, first].map(
      (column) => `${column} = IF(${first} IS NULL, VALUES(${column}), ${column})`,
    )
    return `${insertInto(rows)} ON DUPLICATE KEY UPDATE ${set.join(', ')}`
  },
  upsert: (row) =>
    `${insertInto(row)} ON DUPLICATE KEY UPDATE ${replacing(row, (column) => `VALUES(${column})`)}`,
  selectNewest: (walk, ...others) => selectBy(by(walk.index ?? 'PRIMARY'), walk, ...others),
  by,

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

  // The algorithm is named, so that the server refuses what would copy the table.
  addColumn: (table, column) =>
    `ALTER TABLE ${table} ADD COLUMN /*M! IF NOT EXISTS */ ${column}, ALGORITHM=INSTANT`,
  createIndex: ({ name, table, columns }) =>
    `ALTER TABLE ${table} ADD INDEX /*M! IF NOT EXISTS */ ${name} (${columns}), ALGORITHM=INPLACE, LOCK=NONE`,
  /** On a connection of its own: the limit is one of the session, which ends with it. */
  async change(sequelize, sql) {
    const { connectionManager } = sequelize
    const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
    try {
      await send(connection, 'SET SESSION lock_wait_timeout = 1')
      logOf(sequelize).log(`Executing (default): ${sql}`)
      await send(connection, sql)
    } finally {
      await connectionManager.destroyConnection(connection)
    }
  },
  // MySQL takes the comment for one.
  printed: (sql) =>
    sql.startsWith('ALTER') ? `/*M! SET STATEMENT lock_wait_timeout = 1 FOR */ ${sql}` : sql,
  // A lock that was not to be had, and what another node of Galera did at the same moment.
  isInTheWay: (error) => ['ER_LOCK_WAIT_TIMEOUT', 'ER_LOCK_DEADLOCK'].includes(codeOf(error) ?? ''),
  blockers: () => `SELECT p.id FROM information_schema.innodb_trx JOIN information_schema.processlist p
    ON p.id = trx_mysql_thread_id WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID() ORDER BY p.id`,

  catalogue: (tables) => `SELECT CONCAT('column ', table_name, '.', column_name) AS name,
      CONCAT(UPPER(IF(data_type IN ('smallint', 'int', 'bigint'), data_type, column_type)),
        IF(collation_name IS NULL, '', CONCAT(' CHARACTER SET ', character_set_name, ' COLLATE ', collation_name)),
        IF(extra LIKE '%auto_increment%', ' AUTO_INCREMENT', ''), IF(is_nullable = 'YES', '', ' NOT NULL')) AS shape,
      CONCAT('table ', table_name) AS also
    FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN (${quoted(tables)})
    UNION ALL SELECT CONCAT('index ', name), CONCAT('on (', names, ')'),
      IF(one, CONCAT('key (', names, ') of ', place), NULL)
    FROM (SELECT table_name AS place, index_name AS name, MAX(non_unique) = 0 AS one,
        GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ', ') AS names
      FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name IN (${quoted(tables)})
      GROUP BY table_name, index_name) i`,
  size: (table) => `SELECT table_rows AS number, data_length AS bytes
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '${table}'`,
  perEntry: 8,
  hasPartialIndexes: false,
}
