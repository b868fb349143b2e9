/** Answers for operators: the state of a database, the steps of `migrate`, and its statements for someone else to run. */
import type { Sequelize } from 'sequelize'
import type { Seconds } from '../../base/clock.ts'
import { StorageError } from '../database/storage-error.ts'
import { databaseOf } from '../drivers.ts'
import { MODELS, TOKEN_TABLES, TOKENS } from '../tables.ts'
import { grantsTo, missingRights } from './rights.ts'
import { look, THIS_VERSION, unsound } from './sound.ts'
import { ALL_STEPS, allOf } from './steps.ts'

export type Status = Awaited<ReturnType<typeof statusOf>>

/** Counting may take as long. */
const PATIENCE: Seconds = 300

/**
 * The names of steps, those of a later version among them, how full the tables are, and what is wrong, with what to do. Counts
 * every row, which takes a while on large tables.
 */
export async function statusOf(sequelize: Sequelize) {
  const database = databaseOf(sequelize, PATIENCE)
  const { applied, pending, unknown, faults } = await look(database, THIS_VERSION)
  // `rows` is missing with its table; `oldest`, when a row was first written, where there is none or rows do not say.
  const tables: { readonly name: string; readonly rows?: number; readonly oldest?: Seconds }[] = []
  for (const { name, written = 'NULL' } of [...TOKEN_TABLES, MODELS]) {
    const sql = `SELECT COUNT(*) AS number, ${written} AS oldest FROM ${name}`
    const [row] = await database.find(sql, []).catch((error: unknown) => {
      // It is missing, or that of another build.
      if (error instanceof StorageError && error.schemaIsBehind) return []
      throw error
    })
    const oldest = row?.oldest ?? undefined
    tables.push({
      name,
      ...(row && { rows: Number(row.number) }),
      ...(oldest !== undefined && { oldest: Math.floor(Number(oldest)) }),
    })
  }
  const missing = faults.length > 0 ? [] : await missingRights(sequelize)
  const lacking = missing.map(
    ({ right, table }) => `the role has no ${right} on ${table}: grant it, if it serves`,
  )
  return { applied, pending, unknown, tables, faults: [...faults, ...lacking] }
}

export interface Estimate {
  readonly step: string
  readonly sql: string
  /** How many the table has now, perhaps estimated. Absent where there is no table. */
  readonly rows?: number
  readonly bytes?: number
  /** Expected. */
  readonly seconds: number
}

/** The steps of `migrate`, and how long they take. @throws {StorageError} for a database that it refuses. */
export async function estimate(sequelize: Sequelize): Promise<Estimate[]> {
  const database = databaseOf(sequelize)
  const { dialect } = database
  const { left, faults, isStuck, catalogue } = await look(database, THIS_VERSION)
  if (isStuck) throw unsound(faults)
  const estimates: Estimate[] = []
  for (const { step, sql, table, makes } of left) {
    if (step === undefined || makes === `step ${step}`) continue
    const [size] = catalogue.has(`table ${table}`) ? await database.find(dialect.size(table), []) : []
    const rows = Number(size?.number ?? 0)
    estimates.push({
      step,
      sql: dialect.printed(sql),
      ...(size && { rows, ...(Number(size.bytes) > 0 && { bytes: Number(size.bytes) }) }),
      seconds: makes.startsWith('index') ? (rows * dialect.perEntry) / 1e6 : 0,
    })
  }
  return estimates
}

/** Every statement of `migrate` on an empty database, in order, and the grants of the role that serves. Does not connect. */
export function ddlOf(sequelize: Sequelize, role?: string): string {
  const { dialect } = databaseOf(sequelize)
  const statements = [
    ...allOf(dialect, ALL_STEPS).map(({ sql }) => dialect.printed(sql)),
    ...(role === undefined ? [] : grantsTo(role)),
  ]
  const right = dialect.moveSequence?.(TOKENS.name, 'number', 0).right
  const comments = right === undefined ? [] : [`-- Another role for end-unspent needs GRANT ${right} too.`]
  return [...statements.map((sql) => `${sql};`), ...comments].join('\n')
}
