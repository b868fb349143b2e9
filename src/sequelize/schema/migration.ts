import type { Sequelize } from 'sequelize'
import type { Dialect } from '../database/driver.ts'

/** One step of the schema. It must be idempotent: a step that was interrupted runs again from its start. */
export interface Migration {
  readonly name: string
  up(sequelize: Sequelize, dialect: Dialect): Promise<void>
}
