/** Whether a version works with a database, and what is left to do: by its catalogue, its recorded steps, and rights. */
import type { Sequelize } from 'sequelize'
import type { Database } from '../database/database.ts'
import { codeOf } from '../database/fate.ts'
import { StorageError, schemaIsBehind } from '../database/storage-error.ts'
import type { Row } from '../database/text.ts'
import { text } from '../database/values.ts'
import { LEASE, MODELS, RECORDS_VIEW, STEPS, type Table, TOKEN_TABLES } from '../tables.ts'
import { type Catalogue, faultsOfShape, isMade, MIGRATE, RECREATE, readCatalogue } from './catalogue.ts'
import { isRefused, missingRights } from './rights.ts'
import { ALL_STEPS, allOf, fingerprintOf, type Statement, type Step } from './steps.ts'

/** What a version makes. */
export interface Version {
  readonly steps: readonly Step[]
  readonly tables: readonly Table[]
}

export const THIS_VERSION: Version = { steps: ALL_STEPS, tables: [...TOKEN_TABLES, STEPS, MODELS] }

export interface Found {
  /** And of each step that is recorded, as `step 001-subject-tokens`, its fingerprint. */
  readonly catalogue: Catalogue
  /** Names of steps: those that are recorded, those of the version that are not, and recorded ones of a later version. */
  readonly applied: readonly string[]
  readonly pending: readonly string[]
  readonly unknown: readonly string[]
  /** All that is wrong, but for rights: each in one sentence with what to do. */
  readonly faults: readonly string[]
  /** Whether no step may run. */
  readonly isStuck: boolean
  /** The statements of steps that have not done what they do, or of which a table or an index has gone since. */
  readonly left: readonly Statement[]
}

/** A table of builds before the first release. */
const OTHERS = 'impersonation_migrations'

export async function look(database: Database, { steps, tables }: Version): Promise<Found> {
  const { dialect } = database
  const recorded = await recordedSteps(database)
  const names = [...tables, LEASE, RECORDS_VIEW].map(({ name }) => name)
  const catalogue = await readCatalogue(database, [...names, OTHERS])
  for (const row of recorded) catalogue.set(`step ${text(row.name)}`, text(row.fingerprint))
  const fingerprint = ({ name }: Step) => catalogue.get(`step ${name}`)

  const later = recorded.filter(({ name }) => !steps.some((step) => step.name === text(name)))
  const others = steps.filter(
    (step) => ![undefined, fingerprintOf(dialect, step, steps)].includes(fingerprint(step)),
  )
  const isOther = catalogue.has(`table ${OTHERS}`) || catalogue.has('column subject_tokens.token_hash')
  const refusals = [
    ...(recorded.length === 0 && isOther ? [`the tables of subject tokens were ${MADE_BY_OTHERS}`] : []),
    ...others.map(({ name }) => `the step ${name} was ${MADE_BY_OTHERS}`),
    ...later
      .filter(({ older }) => text(older) !== 'may run')
      .map(({ name }) => `the step ${text(name)} is of a later version, ${MAY_NOT_RUN}`),
  ]
  const pending = steps.filter((step) => fingerprint(step) === undefined)
  const faults = [
    ...pending.map(({ name }) => `the step ${name} has not been applied: ${MIGRATE}`),
    ...faultsOfShape(dialect, catalogue, tables),
  ]
  const missing = allOf(dialect, steps).filter(({ makes }) => !isMade(catalogue, makes))
  // A view that someone has dropped stays away, but for one that went with its table.
  const left = missing.filter(
    ({ step, isView }) =>
      !(isView && catalogue.has(`step ${step}`)) || missing.some((one) => one.step === step && !one.isView),
  )
  return {
    catalogue,
    applied: steps.filter((step) => !pending.includes(step)).map(({ name }) => name),
    pending: pending.map(({ name }) => name),
    unknown: later.map(({ name }) => text(name)),
    faults: refusals.length > 0 ? refusals : faults,
    isStuck: refusals.length > 0 || (pending.length === 0 && faults.some((one) => !one.endsWith(MIGRATE))),
    left: pending.length > 0 || left.some(({ step }) => step !== undefined) ? left : [],
  }
}

const MADE_BY_OTHERS = `made by another build: ${RECREATE}`
const MAY_NOT_RUN = 'and this one may not run with it: update it'

/** None where their table is missing. */
async function recordedSteps(database: Database): Promise<readonly Row[]> {
  try {
    return await database.find(`SELECT name, fingerprint, older FROM ${STEPS.name} ORDER BY name`, [])
  } catch (error) {
    if (error instanceof StorageError && error.schemaIsBehind) return []
    throw isRefused(error) ? unsound([`the role has no SELECT on ${STEPS.name}: grant it`], error) : error
  }
}

export function unsound(faults: readonly string[], cause?: unknown): StorageError {
  const reason = faults.join('; ')
  return new StorageError(`storage failed: ${reason}`, { code: codeOf(cause), forOperators: reason })
}

/** For what the store of subject tokens needs. @throws {StorageError} that says what is wrong, and what to do. */
export async function assertSound(sequelize: Sequelize, database: Database): Promise<void> {
  const tables = [...TOKEN_TABLES, STEPS]
  const { faults, isStuck, pending } = await look(database, { steps: ALL_STEPS, tables })
  if (pending.length > 0 && !isStuck) throw schemaIsBehind()
  if (faults.length > 0) throw unsound(faults)
  await assertEntitled(sequelize)
}

/** Roles that had all their rights. */
const entitled = new WeakSet<Sequelize>()

/** For the same. @throws {StorageError} that names what is to be granted. */
export async function assertEntitled(sequelize: Sequelize): Promise<void> {
  if (entitled.has(sequelize)) return
  const missing = await missingRights(sequelize, [...TOKEN_TABLES, STEPS])
  // Another role may purge.
  const needed = missing.filter(({ right }) => right !== 'DELETE')
  if (needed.length > 0)
    throw unsound(needed.map(({ right, table }) => `the role has no ${right} on ${table}: grant it`))
  entitled.add(sequelize)
}
