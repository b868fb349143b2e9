import type { Sequelize } from 'sequelize'
import type { Seconds } from '../clock.ts'
import { createDatabase, type Database } from './database/database.ts'
import { TIMEOUT } from './database/time-limit.ts'
import { driverOf } from './drivers.ts'

/** By the time limit of their statements. */
const opened = new WeakMap<Sequelize, Map<Seconds, Database>>()

/** The one `Database` of a Sequelize with this time limit. @throws {TypeError} for a dialect without a driver. */
export function databaseOf(sequelize: Sequelize, timeout = TIMEOUT): Database {
  const databases = opened.get(sequelize) ?? new Map<Seconds, Database>()
  opened.set(sequelize, databases)
  let database = databases.get(timeout)
  if (!database) {
    database = createDatabase(sequelize, driverOf(sequelize), timeout)
    databases.set(timeout, database)
  }
  return database
}
