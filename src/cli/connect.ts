import { Sequelize } from 'sequelize'
import { readDatabaseUrl } from './database-url.ts'

/** Opens the database a URL names. @throws {TypeError} for a URL that names none. */
export const connect = (url: string): Sequelize => new Sequelize({ ...readDatabaseUrl(url), logging: false })
