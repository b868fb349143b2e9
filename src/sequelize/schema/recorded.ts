/** The steps that a database says it has. */
import type { Database } from '../database/database.ts'
import { codeOf } from '../database/fate.ts'
import { StorageError } from '../database/storage-error.ts'
import { text } from '../database/values.ts'
import { STEPS } from '../tables.ts'
import { isRefused } from './rights.ts'
import type { Step } from './steps.ts'

export interface Recorded {
  readonly name: string
  readonly fingerprint: string
  readonly older: string
}

const SELECT_STEPS = `SELECT name, fingerprint, older FROM ${STEPS.name} ORDER BY name`

/** None where their table is missing. */
export async function recordedSteps(database: Database): Promise<Recorded[]> {
  try {
    const rows = await database.find(SELECT_STEPS, [])
    return rows.map((row) => ({
      name: text(row.name),
      fingerprint: text(row.fingerprint),
      older: text(row.older),
    }))
  } catch (error) {
    if (error instanceof StorageError && error.schemaIsBehind) return []
    if (!isRefused(error)) throw error
    const reason = `the role has no SELECT on ${STEPS.name}: grant it`
    throw new StorageError(`storage failed: ${reason}`, { code: codeOf(error), forOperators: reason })
  }
}

/** Steps that are not recorded. */
export const pendingSteps = (steps: readonly Step[], recorded: readonly Recorded[]): Step[] =>
  steps.filter((step) => !recorded.some(({ name }) => name === step.name))

/** Steps of a later version. */
export const unknownSteps = (steps: readonly Step[], recorded: readonly Recorded[]): Recorded[] =>
  recorded.filter(({ name }) => !steps.some((step) => step.name === name))
