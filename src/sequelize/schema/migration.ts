import type { Sequelize } from 'sequelize'
import type { Dialect } from '../database/driver.ts'

/** One step of the schema. Idempotent: a step that was cut short is run again from its start. */
export interface Migration {
  readonly name: string
  up(sequelize: Sequelize, dialect: Dialect): Promise<void>
}
