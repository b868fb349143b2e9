import type { Sequelize } from 'sequelize'
import { nodeSqlite } from '../node-sqlite.ts'
import type { Driver } from './driver.ts'
import { mysql } from './mysql.ts'
import { postgres } from './postgres.ts'
import { nodeDriver, sqlite3Driver } from './sqlite.ts'

/**
 * The driver that is written for the database of a Sequelize.
 *
 * @throws {TypeError} for a dialect, or a client of one, that none is written for.
 */
export function driverOf(sequelize: Sequelize): Driver {
  const dialect = sequelize.getDialect()
  if (dialect === 'mariadb') {
    throw new TypeError(
      "use dialect 'mysql' with the mysql2 package for MariaDB: the mariadb connector breaks raw queries",
    )
  }
  if (Reflect.get(Object(Reflect.get(sequelize, 'options')), 'native')) {
    throw new TypeError('pg-native is not supported: leave the option `native` out')
  }
  if (dialect === 'postgres') return postgres
  if (dialect === 'mysql') return mysql
  if (dialect === 'sqlite') return moduleOf(sequelize) === nodeSqlite ? nodeDriver : sqlite3Driver
  throw new TypeError(`dialect ${dialect} is not supported`)
}

/** The `dialectModule`, which Sequelize keeps under a name that its types leave out. */
const moduleOf = (sequelize: Sequelize): unknown => Reflect.get(sequelize.connectionManager, 'lib')
