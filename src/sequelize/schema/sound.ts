/** Whether this version works with a database: by the steps that are recorded, the catalogue, and the rights of the role. */
import type { Sequelize } from 'sequelize'
import type { Database } from '../database/database.ts'
import { logOf } from '../database/log.ts'
import { StorageError, schemaIsBehind } from '../database/storage-error.ts'
import { MODELS, RECORDS_VIEW, STEPS, type Table, TOKEN_TABLES } from '../tables.ts'
import { type Catalogue, isMade, isTable, readCatalogue } from './catalogue.ts'
import { pendingSteps, type Recorded, recordedSteps, unknownSteps } from './recorded.ts'
import { missingRights } from './rights.ts'
import { faultsOfShape, MIGRATE, RECREATE } from './shape.ts'
import { ALL_STEPS, fingerprintOf, type Step, statementsOf } from './steps.ts'

/** What a version makes. */
export interface Version {
  readonly steps: readonly Step[]
  readonly tables: readonly Table[]
}

export const THIS_VERSION: Version = { steps: ALL_STEPS, tables: [...TOKEN_TABLES, STEPS, MODELS] }

export interface Found {
  readonly recorded: readonly Recorded[]
  readonly catalogue: Catalogue
}

export async function look(database: Database, { tables }: Version): Promise<Found> {
  const recorded = await recordedSteps(database)
  const names = tables.map(({ name }) => name)
  return { recorded, catalogue: await readCatalogue(database, [...names, RECORDS_VIEW.name, OTHERS]) }
}

/** A table of builds before the first release. */
const OTHERS = 'impersonation_migrations'

/** What `migrate` does not touch. */
function refusals({ dialect }: Database, { steps }: Version, { recorded, catalogue }: Found): string[] {
  const isOther = (step: Step) =>
    recorded.some(
      ({ name, fingerprint }) => name === step.name && fingerprint !== fingerprintOf(dialect, step, steps),
    )
  const hasOthers =
    isTable(catalogue, OTHERS) ||
    isMade(catalogue, { table: TOKEN_TABLES[0]?.name ?? '', column: 'token_hash' })
  return [
    ...(recorded.length === 0 && hasOthers
      ? [`the tables of subject tokens were made by another build: ${RECREATE}`]
      : []),
    ...steps.filter(isOther).map(({ name }) => `the step ${name} was made by another build: ${RECREATE}`),
    ...unknownSteps(steps, recorded)
      .filter(({ older }) => older !== 'may run')
      .map(
        ({ name }) => `the step ${name} is of a later version, and this one may not run with it: update it`,
      ),
  ]
}

/** All that is wrong, but for rights. */
export function faultsOf(database: Database, version: Version, found: Found): string[] {
  const refused = refusals(database, version, found)
  if (refused.length > 0) return refused
  const pending = pendingSteps(version.steps, found.recorded)
  return [
    ...pending.map(({ name }) => `the step ${name} has not been applied: ${MIGRATE}`),
    ...faultsOfShape(database.dialect, found.catalogue, version.tables),
  ]
}

/**
 * The steps that are not recorded, and those of which a table or an index has gone since.
 *
 * @throws {StorageError} for what no step puts right.
 */
export function stepsToDo(database: Database, version: Version, found: Found): Step[] {
  const { dialect } = database
  const { steps } = version
  const pending = pendingSteps(steps, found.recorded)
  const refused = refusals(database, version, found)
  const faults = refused.length > 0 ? refused : faultsOf(database, version, found)
  if (refused.length > 0 || (pending.length === 0 && faults.some((fault) => !fault.endsWith(MIGRATE))))
    throw unsound(faults)
  const isDone = (step: Step) =>
    statementsOf(dialect, step, steps).every(({ makes }) => makes.view || isMade(found.catalogue, makes))
  return steps.filter((step) => pending.includes(step) || !isDone(step))
}

/** As told to a role that may not put it right. */
export const forOwner = (faults: readonly string[]): string[] =>
  faults.map((fault) => fault.replace(/ migrate`$/, '$& with the role that owns the tables'))

export const unsound = (faults: readonly string[]): StorageError => {
  const reason = faults.join('; ')
  return new StorageError(`storage failed: ${reason}`, { forOperators: reason })
}

/** Steps of a later version with which this one may run. */
export function tellUnknown(sequelize: Sequelize, { steps }: Version, { recorded }: Found): void {
  const names = unknownSteps(steps, recorded).map(({ name }) => name)
  if (names.length > 0)
    logOf(sequelize).log(`warning: the database has steps of a later version: ${names.join(', ')}`)
}

/** Roles that had all their rights. */
const entitled = new WeakSet<Sequelize>()

/** For what the store of subject tokens needs. @throws {StorageError} that says what is wrong, and what to do. */
export async function assertSound(sequelize: Sequelize, database: Database): Promise<void> {
  const version = { steps: ALL_STEPS, tables: [...TOKEN_TABLES, STEPS] }
  const found = await look(database, version)
  const refused = refusals(database, version, found)
  if (refused.length > 0) throw unsound(refused)
  if (pendingSteps(version.steps, found.recorded).length > 0) throw schemaIsBehind()
  const faults = faultsOf(database, version, found)
  if (faults.length > 0) throw unsound(faults)
  await assertEntitled(sequelize)
}

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
