/** What `migrate` would do, and how long that takes. */
import type { Sequelize } from 'sequelize'
import { databaseOf } from '../database-of.ts'
import { isMade, isTable } from './catalogue.ts'
import { look, stepsToDo, THIS_VERSION, type Version } from './sound.ts'
import { statementsOf } from './steps.ts'

export interface Estimate {
  readonly step: string
  readonly sql: string
  /** Of the table as it is, perhaps estimated; absent where there is none. */
  readonly rows?: number
  readonly bytes?: number
  /** Expected. */
  readonly seconds: number
}

/** @throws {StorageError} for what `migrate` refuses. */
export async function estimate(sequelize: Sequelize, version: Version = THIS_VERSION): Promise<Estimate[]> {
  const database = databaseOf(sequelize)
  const { dialect } = database
  const found = await look(database, version)
  const estimates: Estimate[] = []
  for (const step of stepsToDo(database, version, found)) {
    for (const { sql, makes } of statementsOf(dialect, step, version.steps)) {
      if (isMade(found.catalogue, makes)) continue
      const there = isTable(found.catalogue, makes.table)
      const [size] = there ? await database.find(dialect.schema.size(makes.table), []) : []
      const rows = Number(size?.number ?? 0)
      estimates.push({
        step: step.name,
        sql: dialect.schema.printed(sql),
        ...(size && { rows, ...(Number(size.bytes) > 0 && { bytes: Number(size.bytes) }) }),
        seconds: makes.index === undefined ? 0 : (rows * dialect.schema.perEntry) / 1e6,
      })
    }
  }
  return estimates
}
