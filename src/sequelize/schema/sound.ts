/** Whether a version works with a database, and what is left to do: by its catalogue, its recorded steps, and rights. */
import type { Sequelize } from 'sequelize'
import type { Database } from '../database/database.ts'
import type { Dialect } from '../database/dialect.ts'
import { codeOf } from '../database/driver.ts'
import { BEING_MADE, UNFINISHED } from '../database/standard.ts'
import { failedFor, SCHEMA_IS_BEHIND, StorageError } from '../database/storage-error.ts'
import { optionalText, type Row, text } from '../database/text.ts'
import { LEASE, RECORDS_VIEW, SERVED, STEPS, type Table, TOKEN_TABLES } from '../tables.ts'
import { isRefused, missingRights } from './rights.ts'
import { ALL_STEPS, allOf, fingerprintOf, partsOf, type Step } from './steps.ts'

/** The definition of each part, in SQL, by names such as `table subject_tokens` and `column subject_tokens.open`. */
type Catalogue = ReadonlyMap<string, string>

export async function readCatalogue(
  database: Database,
  tables: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const row of await database.find(database.dialect.catalogue(tables), [])) {
    found.set(text(row.name), text(row.shape))
    const also = optionalText(row.also)
    if (also !== undefined) found.set(also, '')
  }
  return found
}

const isUnfinished = (shape: string | undefined): boolean => shape === UNFINISHED || shape === BEING_MADE

/** Whether it is there, whatever it is. An index that was not finished is none. */
const isMade = (catalogue: Catalogue, name: string): boolean =>
  catalogue.has(name) && !isUnfinished(catalogue.get(name))

const MIGRATE = 'run `oidc-impersonation migrate`'
const RECREATE = 'dump and re-create'

/** The faults, each in one sentence with its remedy. Columns and tables beyond ours are welcome. */
export function faultsOfShape(dialect: Dialect, found: Catalogue, tables: readonly Table[]): string[] {
  return tables.flatMap((table) => {
    const [itself, ...parts] = partsOf(dialect, table)
    const looked = found.has(`table ${table.name}`) ? parts : [itself]
    return looked.flatMap((part) => (part ? faultOf(part, found.get(part.name)) : []))
  })
}

function faultOf({ name, shape }: { name: string; shape: string }, is: string | undefined): string[] {
  if (is === shape) return []
  const byMigrate = /^(table|index)/.test(name)
  if (is === undefined) {
    const add = `add it${shape && ` as ${shape}`}, or ${RECREATE}`
    return [`the ${name} is missing: ${byMigrate ? MIGRATE : add}`]
  }
  if (isUnfinished(is)) return [`the ${name} is ${is}: ${MIGRATE}`]
  const change = byMigrate ? `drop it, and ${MIGRATE}` : `change it, or ${RECREATE}`
  return [`the ${name} is ${is}, not ${shape}: ${change}`]
}

/** The parts that a version makes. */
export interface Version {
  readonly steps: readonly Step[]
  readonly tables: readonly Table[]
}

export const THIS_VERSION: Version = { steps: ALL_STEPS, tables: SERVED }

/** A table of builds before the first release. */
const OTHERS = 'impersonation_migrations'

export async function look(database: Database, { steps, tables }: Version) {
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
    /** And of each step that is recorded, as `step 001-subject-tokens`, its fingerprint. */
    catalogue: catalogue as Catalogue,
    // Names of steps: those that are recorded, those of the version that are not, and recorded ones of a later version.
    applied: steps.filter((step) => !pending.includes(step)).map(({ name }) => name),
    pending: pending.map(({ name }) => name),
    unknown: later.map(({ name }) => text(name)),
    /** All that is wrong, but for rights: each in one sentence with what to do. */
    faults: refusals.length > 0 ? refusals : faults,
    /** Whether no step may run. */
    isStuck: refusals.length > 0 || (pending.length === 0 && faults.some((one) => !one.endsWith(MIGRATE))),
    /** The statements of steps that have not done what they do, or of which a table or an index has gone since. */
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

export const unsound = (faults: readonly string[], cause?: unknown): StorageError =>
  failedFor(faults.join('; '), { code: codeOf(cause) })

/** Checks the tables of the store. @throws {StorageError} that says what is wrong, and what to do. */
export async function assertSound(sequelize: Sequelize, database: Database): Promise<void> {
  const tables = [...TOKEN_TABLES, STEPS]
  const { faults, isStuck, pending } = await look(database, { steps: ALL_STEPS, tables })
  if (pending.length > 0 && !isStuck) throw failedFor(SCHEMA_IS_BEHIND)
  if (faults.length > 0) throw unsound(faults)
  await assertEntitled(sequelize)
}

/** Roles that had all their rights. */
const entitled = new WeakSet<Sequelize>()

/** Checks the rights of the role. @throws {StorageError} that names the rights to grant. */
export async function assertEntitled(sequelize: Sequelize): Promise<void> {
  if (entitled.has(sequelize)) return
  const missing = await missingRights(sequelize, [...TOKEN_TABLES, STEPS])
  // Another role may purge.
  const needed = missing.filter(({ right }) => right !== 'DELETE')
  if (needed.length > 0)
    throw unsound(needed.map(({ right, table }) => `the role has no ${right} on ${table}: grant it`))
  entitled.add(sequelize)
}
