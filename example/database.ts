/** Where the example keeps its records, codes, sessions and grants. */
import { Sequelize } from 'sequelize'
import { nodeSqlite } from '../src/sequelize/index.ts' // yours: 'oidc-provider-impersonation/sequelize'

export interface DatabaseOptions {
  /** The URL of a PostgreSQL database. Without it, an SQLite file is used. */
  readonly databaseUrl?: string
  /** The SQLite file. */
  readonly storage?: string
}

export function openDatabase({ databaseUrl, storage = 'example.sqlite' }: DatabaseOptions): Sequelize {
  if (databaseUrl) return new Sequelize(databaseUrl, { logging: false })
  return new Sequelize({ dialect: 'sqlite', dialectModule: nodeSqlite, storage, logging: false })
}
