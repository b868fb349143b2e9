import type { Sequelize } from 'sequelize'
import { databaseOf } from '../database-of.ts'
import { moveStatusSequence } from '../end-unspent.ts'
import { MIGRATIONS } from './migrations.ts'
import { createStepTable, recordStep } from './steps.ts'

/** Every statement of `migrate` on an empty database, each harmless when it is run again. Does not connect. */
export function ddlOf(sequelize: Sequelize): string {
  const { dialect } = databaseOf(sequelize)
  const statements = MIGRATIONS.flatMap((step) => [...step.statements(dialect), recordStep(dialect, step)])
  const right = moveStatusSequence(dialect)?.right
  const comments = right === undefined ? [] : [`-- The role of end-unspent needs GRANT ${right} too.`]
  return [...[createStepTable(dialect), ...statements].map((sql) => `${sql};`), ...comments].join('\n')
}
