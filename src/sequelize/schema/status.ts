import type { Sequelize } from 'sequelize'
import type { Seconds } from '../../clock.ts'
import type { Database } from '../database/database.ts'
import { StorageError } from '../database/storage-error.ts'
import { databaseOf } from '../database-of.ts'
import { appliedSteps, pendingSteps, unknownSteps } from './steps.ts'

export interface Status {
  /** Names of steps. */
  readonly applied: readonly string[]
  readonly pending: readonly string[]
  /** Steps of a later version. */
  readonly unknown: readonly string[]
  readonly tables: readonly TableStatus[]
}

interface TableStatus {
  readonly name: string
  /** `undefined` where the table is missing. */
  readonly rows?: number
  /** When its oldest row was written; `undefined` where there is none, or rows do not say. */
  readonly oldest?: Seconds
}

/** Counting may take as long. */
const PATIENCE: Seconds = 300

/** What a database holds. Counts every row, which takes a while on large tables. */
export async function statusOf(sequelize: Sequelize): Promise<Status> {
  const database = databaseOf(sequelize, PATIENCE)
  const steps = await appliedSteps(database)
  const unknown = unknownSteps(steps)
  return {
    applied: steps.filter((name) => !unknown.includes(name)),
    pending: pendingSteps(steps).map(({ name }) => name),
    unknown,
    tables: [
      await tableStatus(database, 'subject_tokens', 'MIN(created_at)'),
      await tableStatus(database, 'subject_token_actors', 'NULL'),
      await tableStatus(database, 'oidc_models', 'MIN(written_at) / 1000000'),
    ],
  }
}

async function tableStatus(database: Database, name: string, oldest: string): Promise<TableStatus> {
  try {
    const [row] = await database.find(`SELECT COUNT(*) AS number, ${oldest} AS oldest FROM ${name}`, [])
    const written = row?.oldest ?? undefined
    return {
      name,
      rows: Number(row?.number),
      ...(written !== undefined && { oldest: Math.floor(Number(written)) }),
    }
  } catch (error) {
    if (error instanceof StorageError && error.schemaIsBehind) return { name }
    throw error
  }
}
