import type { Sequelize } from 'sequelize'
import { databaseOf } from '../database-of.ts'
import { grantsTo } from './rights.ts'
import { moveNumbers } from './sequence.ts'
import { ALL_STEPS, begin, recordStep, statementsOf } from './steps.ts'

/**
 * Every statement of `migrate` on an empty database, in order, and the grants of the role that serves. Does not connect.
 */
export function ddlOf(sequelize: Sequelize, role?: string): string {
  const { dialect } = databaseOf(sequelize)
  const printed = (statements: readonly { readonly sql: string }[]) =>
    statements.map(({ sql }) => dialect.schema.printed(sql))
  const statements = [
    ...printed(begin(dialect)),
    ...ALL_STEPS.flatMap((step) => [...printed(statementsOf(dialect, step)), recordStep(dialect, step)]),
    ...(role === undefined ? [] : grantsTo(role)),
  ]
  const right = moveNumbers(dialect)?.right
  const comments = right === undefined ? [] : [`-- Another role for end-unspent needs GRANT ${right} too.`]
  return [...statements.map((sql) => `${sql};`), ...comments].join('\n')
}
