import type { Sequelize } from 'sequelize'
import type { Seconds } from '../../clock.ts'
import type { Database } from '../database/database.ts'
import { StorageError } from '../database/storage-error.ts'
import { databaseOf } from '../database-of.ts'
import { MODELS, type Table, TOKEN_TABLES } from '../tables.ts'
import { pendingSteps, unknownSteps } from './recorded.ts'
import { missingRights } from './rights.ts'
import { faultsOf, look, THIS_VERSION } from './sound.ts'

export interface Status {
  /** Names of steps. */
  readonly applied: readonly string[]
  readonly pending: readonly string[]
  /** Steps of a later version. */
  readonly unknown: readonly string[]
  readonly tables: readonly TableStatus[]
  /** What is wrong, and what to do; none where this version works with the tables. */
  readonly faults: readonly string[]
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
  const found = await look(database, THIS_VERSION)
  const { steps } = THIS_VERSION
  const unknown = unknownSteps(steps, found.recorded).map(({ name }) => name)
  const pending = pendingSteps(steps, found.recorded).map(({ name }) => name)
  const tables: TableStatus[] = []
  for (const table of [...TOKEN_TABLES, MODELS]) tables.push(await tableStatus(database, table))
  const faults = faultsOf(database, THIS_VERSION, found)
  const rights = faults.length > 0 ? [] : await missingRights(sequelize)
  return {
    applied: found.recorded.map(({ name }) => name).filter((name) => !unknown.includes(name)),
    pending,
    unknown,
    tables,
    faults: [
      ...faults,
      ...rights.map(({ right, table }) => `the role has no ${right} on ${table}: grant it, if it serves`),
    ],
  }
}

async function tableStatus(database: Database, { name, written = 'NULL' }: Table): Promise<TableStatus> {
  try {
    const [row] = await database.find(`SELECT COUNT(*) AS number, ${written} AS oldest FROM ${name}`, [])
    const oldest = row?.oldest ?? undefined
    return {
      name,
      rows: Number(row?.number),
      ...(oldest !== undefined && { oldest: Math.floor(Number(oldest)) }),
    }
  } catch (error) {
    if (error instanceof StorageError && error.schemaIsBehind) return { name }
    throw error
  }
}
