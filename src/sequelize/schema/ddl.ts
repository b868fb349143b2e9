import type { Sequelize } from 'sequelize'
import { databaseOf } from '../database/database.ts'
import { MIGRATIONS } from './migrations.ts'
import { createStepTable, recordStep } from './steps.ts'

/** Every statement of `migrate` on an empty database, each harmless when it is run again. Does not connect. */
export function ddlOf(sequelize: Sequelize): string {
  const { dialect } = databaseOf(sequelize)
  const statements = MIGRATIONS.flatMap((step) => [...step.statements(dialect), recordStep(dialect, step)])
  return [createStepTable(dialect), ...statements].map((sql) => `${sql};`).join('\n')
}
