import type { EventEmitter } from 'node:events'
import type { Sequelize } from 'sequelize'
import type { Seconds } from '../base/clock.ts'
import { createDatabase, type Database } from './database/database.ts'
import type { Driver } from './database/driver.ts'
import { createMysql } from './database/mysql/driver.ts'
import { logOf } from './database/pool.ts'
import { createPostgres } from './database/postgres/driver.ts'
import { nodeDriver, sqlite3Driver } from './database/sqlite/driver.ts'
import { nodeSqlite } from './database/sqlite/node-sqlite.ts'

const drivers = new WeakMap<Sequelize, Driver>()

/** The one driver of a Sequelize. @throws {TypeError} for a dialect or client library without a driver. */
export function driverOf(sequelize: Sequelize): Driver {
  const known = drivers.get(sequelize)
  if (known) return known
  const driver = chooseDriver(sequelize)
  drivers.set(sequelize, driver)
  if (driver.beforeConnect) sequelize.addHook('beforeConnect', driver.beforeConnect)
  if (driver.makesClients) listenToClients(sequelize, driver.makesClients)
  return driver
}

/**
 * Sequelize listens for a client's errors only after it has been told that the client is connected. A server that ends the
 * session in between would end the process, by an `error` event that no one hears. No hook sees a client before that, so
 * this Sequelize gets its library with a maker of clients that listens from the start. The error reaches Sequelize all
 * the same: by its next statement on that connection.
 */
function listenToClients({ connectionManager }: Sequelize, maker: string): void {
  const library: object = Reflect.get(connectionManager, 'lib')
  const heard = <Client extends EventEmitter>(client: Client) => client.on('error', () => {})
  const made = new Proxy(Reflect.get(library, maker), {
    apply: (make, self, args) => heard(Reflect.apply(make, self, args)),
    construct: (Client, args, target) => heard(Reflect.construct(Client, args, target)),
  })
  Reflect.set(connectionManager, 'lib', Object.create(library, { [maker]: { value: made } }))
}

/** A new database is added here. */
function chooseDriver(sequelize: Sequelize): Driver {
  const dialect = sequelize.getDialect()
  if (dialect === 'mariadb') {
    throw new TypeError(
      "use dialect 'mysql' with the mysql2 package for MariaDB: the mariadb connector breaks raw queries",
    )
  }
  if (Reflect.get(Object(Reflect.get(sequelize, 'options')), 'native')) {
    throw new TypeError('pg-native is not supported: leave the option `native` out')
  }
  refuseSchema(sequelize)
  if (dialect === 'postgres') return createPostgres((text) => logOf(sequelize).log(text))
  if (dialect === 'mysql') return createMysql()
  if (dialect === 'sqlite')
    return {
      ...(Reflect.get(sequelize.connectionManager, 'lib') === nodeSqlite ? nodeDriver : sqlite3Driver),
    }
  throw new TypeError(`dialect ${dialect} is not supported`)
}

/** Sequelize adds these to SQL that it writes itself, not to bound SQL: the tables would silently be elsewhere. */
function refuseSchema(sequelize: Sequelize): void {
  const options = Object(Reflect.get(sequelize, 'options'))
  const given = {
    schema: options.schema,
    'define.schema': options.define?.schema,
    searchPath: options.searchPath,
  }
  for (const [name, value] of Object.entries(given)) {
    if (value) {
      throw new TypeError(
        `option ${name} of Sequelize is not supported: give impersonation a Sequelize without it, and choose the schema by the connection (PostgreSQL: dialectOptions.options '-c search_path=…')`,
      )
    }
  }
}

/** Databases by the time limit of their statements. */
const opened = new WeakMap<Sequelize, Map<Seconds, Database>>()

/** The one `Database` of a Sequelize with this time limit. @throws {TypeError} for a dialect without a driver. */
export function databaseOf(sequelize: Sequelize, timeout = TIMEOUT): Database {
  const databases = opened.get(sequelize) ?? new Map<Seconds, Database>()
  opened.set(sequelize, databases)
  const database = databases.get(timeout) ?? createDatabase(sequelize, driverOf(sequelize), timeout)
  databases.set(timeout, database)
  return database
}

/** The time that storage may take unless a store is told otherwise. */
export const TIMEOUT: Seconds = 10
/** A write may wait for a connection, and then for the database: status lists look back for two minutes. */
const LONGEST: Seconds = 30

/** @throws {TypeError} for what is no time limit. */
export function readTimeout(given: unknown = TIMEOUT): Seconds {
  if (typeof given === 'number' && Number.isInteger(given) && given >= 1 && given <= LONGEST) return given
  throw new TypeError(`option timeout must be whole seconds from 1 to ${LONGEST}`)
}
