import { nodeSqlite as dialectModule } from './database/sqlite/node-sqlite.ts'

export { createAdapter } from './models/adapter.ts'
export { type MigrateOptions, migrate } from './schema/migrate.ts'
export { type Purged, type PurgeOptions, purge } from './schema/purge.ts'
export { createSubjectTokenStore, type SubjectTokenStoreOptions } from './tokens/store.ts'

/**
 * Node's own SQLite as a `dialectModule` of Sequelize, in place of the `sqlite3` package. Without Node 22.18 or newer,
 * `new Sequelize` throws an error that says so.
 *
 * @example
 * const sequelize = new Sequelize({ dialect: 'sqlite', dialectModule: nodeSqlite, storage: 'data.sqlite' })
 */
export const nodeSqlite: object = dialectModule
