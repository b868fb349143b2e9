import type { Sequelize } from 'sequelize'
import { nodeSqlite } from '../node-sqlite.ts'
import { dialectOf } from './dialect.ts'
import type { Driver } from './driver.ts'
import { mysql } from './mysql.ts'
import { postgres } from './postgres.ts'
import { nodeDriver, sqlite3Driver } from './sqlite.ts'

export function driverOf(sequelize: Sequelize): Driver {
  const dialect = dialectOf(sequelize)
  if (dialect === 'postgres') return postgres
  if (dialect === 'mysql') return mysql
  return Reflect.get(sequelize.connectionManager, 'lib') === nodeSqlite ? nodeDriver : sqlite3Driver
}
