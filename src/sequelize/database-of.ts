import type { Sequelize } from 'sequelize'
import type { Seconds } from '../clock.ts'
import { createDatabase, type Database } from './database/database.ts'
import type { Driver } from './database/driver.ts'
import { TIMEOUT } from './database/time-limit.ts'
import { driverOf } from './drivers.ts'

interface Opened {
  readonly driver: Driver
  /** By the time limit of their statements. */
  readonly databases: Map<Seconds, Database>
}
const opened = new WeakMap<Sequelize, Opened>()

/** The one `Database` of a Sequelize with this time limit. @throws {TypeError} for a dialect without a driver. */
export function databaseOf(sequelize: Sequelize, timeout = TIMEOUT): Database {
  const { driver, databases } = opened.get(sequelize) ?? open(sequelize, driverOf(sequelize))
  let database = databases.get(timeout)
  if (!database) {
    database = createDatabase(sequelize, driver, timeout)
    databases.set(timeout, database)
  }
  return database
}

/** Gives a Sequelize a driver of a test's own. */
export function openDatabase(sequelize: Sequelize, driver: Driver): Database {
  open(sequelize, driver)
  return databaseOf(sequelize)
}

function open(sequelize: Sequelize, driver: Driver): Opened {
  const known: Opened = { driver, databases: new Map() }
  opened.set(sequelize, known)
  if (driver.beforeConnect) sequelize.addHook('beforeConnect', driver.beforeConnect)
  return known
}
