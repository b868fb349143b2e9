/** Which steps of the schema a database has, as its table `impersonation_migrations` lists them. */
import type { Database } from '../database/database.ts'
import type { Dialect } from '../database/dialect.ts'
import { StorageError } from '../database/storage-error.ts'
import type { Row } from '../database/text.ts'
import { text } from '../database/values.ts'
import type { Migration } from './migration.ts'
import { MIGRATIONS } from './migrations.ts'

const TABLE = 'impersonation_migrations'

export const SELECT_STEPS = `SELECT name FROM ${TABLE} ORDER BY name`

export const createStepTable = ({ types, tableOptions }: Dialect): string =>
  `CREATE TABLE IF NOT EXISTS ${TABLE} (name ${types.ascii} NOT NULL PRIMARY KEY)${tableOptions}`

/** Two processes may finish the same step: on a cluster the lock can be local to a node. */
export const recordStep = (dialect: Dialect, { name }: Migration): string =>
  dialect.insertNew({ table: TABLE, columns: ['name'] }).replace('$1', `'${name}'`)

export const namesOf = (rows: readonly Row[]): string[] => rows.map(({ name }) => text(name))

/** The names of the steps that were applied; none where the table is missing. */
export async function appliedSteps(database: Database): Promise<string[]> {
  try {
    return namesOf(await database.find(SELECT_STEPS, []))
  } catch (error) {
    if (error instanceof StorageError && error.schemaIsBehind) return []
    throw error
  }
}

export const pendingSteps = (applied: readonly string[]): Migration[] =>
  MIGRATIONS.filter(({ name }) => !applied.includes(name))

/** Steps of a later version. */
export const unknownSteps = (applied: readonly string[]): string[] =>
  applied.filter((name) => !MIGRATIONS.some((step) => step.name === name))
