import type { Schema } from '../dialect.ts'
import { codeOf } from '../fate.ts'
import { logOf } from '../log.ts'
import { quoted } from '../standard.ts'

interface Client {
  query(sql: string, done: (error: Error | null, result: unknown) => void): void
}

const send = (connection: object, sql: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    ;(connection as Client).query(sql, (error, result) => (error ? reject(error) : resolve(result)))
  })

/** The algorithm is named, so that the server refuses what would copy the table. */
export const mysqlSchema: Schema = {
  addColumn: (table, column) =>
    `ALTER TABLE ${table} ADD COLUMN /*M! IF NOT EXISTS */ ${column}, ALGORITHM=INSTANT`,
  createIndex: ({ name, table, columns }) =>
    `ALTER TABLE ${table} ADD INDEX /*M! IF NOT EXISTS */ ${name} (${columns}), ALGORITHM=INPLACE, LOCK=NONE`,
  /** On a connection of its own: MySQL takes the limit for a session only, which ends with it. */
  async change(sequelize, sql) {
    const { connectionManager } = sequelize
    const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
    try {
      const rows = await send(connection, 'SELECT VERSION() AS version')
      const { version } = Object(Array.isArray(rows) ? rows[0] : undefined)
      const isMariadb = String(version).includes('MariaDB')
      if (!isMariadb) await send(connection, 'SET SESSION lock_wait_timeout = 1')
      logOf(sequelize).log(`Executing (default): ${sql}`)
      await send(connection, isMariadb ? `SET STATEMENT lock_wait_timeout = 1 FOR ${sql}` : sql)
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
