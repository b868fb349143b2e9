import { setTimeout as sleep } from 'node:timers/promises'
import type { Sequelize } from 'sequelize'
import type { Seconds } from '../../clock.ts'
import { isPlainObject, refuseUnknown } from '../../plain-json.ts'
import type { Database } from '../database/database.ts'
import { logOf } from '../database/log.ts'
import { databaseOf } from '../database-of.ts'
import { isMade, readCatalogue } from './catalogue.ts'
import type { Statement } from './create.ts'
import { type Holds, withLease } from './lease.ts'
import { isReadOnly, isRefused } from './rights.ts'
import {
  assertEntitled,
  faultsOf,
  forOwner,
  look,
  stepsToDo,
  THIS_VERSION,
  tellUnknown,
  unsound,
  type Version,
} from './sound.ts'
import { begin, recordStep, type Step, statementsOf } from './steps.ts'

/** What `migrate` can be told. */
export interface MigrateOptions {
  /** Called once, with a sentence, if `migrate` has to wait for another process. Default: Sequelize's `logging`. */
  readonly onWait?: (reason: string) => void
}

/**
 * Brings the tables up to date while people work. Safe to call from every process at every start, at the same time: one
 * migrates, the others wait and find the work done. One connection is enough, and in a database that is up to date nothing
 * is changed.
 *
 * @throws {TypeError} for a dialect other than `sqlite`, `postgres` and `mysql`, and for an unknown or wrong option.
 * @throws {Error} when the tables do not fit afterwards, or the role lacks a right: it says what is wrong, and what to do.
 * So do tables that another build has made, and a step of a later version with which this one may not run. Otherwise what
 * the database says.
 * Finished statements stay in force then: call it again, and it goes on from there.
 * @example
 * await migrate(sequelize)
 */
export async function migrate(sequelize: Sequelize, options: MigrateOptions = {}): Promise<void> {
  const onWait = waitListener(options) ?? ((reason) => logOf(sequelize).log(reason))
  let migrating = running.get(sequelize)
  if (!migrating) {
    migrating = migrateTo(THIS_VERSION, sequelize, onWait).finally(() => running.delete(sequelize))
    running.set(sequelize, migrating)
  }
  await migrating
}

/** One at a time on one pool: each waiting call would hold a connection that the running one needs. */
const running = new WeakMap<Sequelize, Promise<void>>()

function waitListener(options: MigrateOptions): MigrateOptions['onWait'] {
  if (!isPlainObject(options)) throw new TypeError('migrate takes an options object')
  const { onWait, ...others }: MigrateOptions = options
  refuseUnknown(Object.keys(others))
  if (onWait !== undefined && typeof onWait !== 'function') {
    throw new TypeError('option onWait must be a function')
  }
  return onWait
}

/** For another process to finish. */
const PATIENCE: Seconds = 120

const ATTEMPTS = 60

/** Reads first, because most starts find nothing to do: only work needs the lease, and rights to create. */
export async function migrateTo(
  version: Version,
  sequelize: Sequelize,
  onWait: (reason: string) => void,
  attempts = ATTEMPTS,
): Promise<void> {
  const database = databaseOf(sequelize)
  const left = async () => {
    const found = await look(database, version)
    return { found, steps: stepsToDo(database, version, found) }
  }
  const work = async () => {
    const change: Change = { sequelize, database, attempts, holds: async () => true }
    for (const statement of begin(database.dialect)) await perform(change, statement)
    const isOver = async () => (await left()).steps.length === 0
    const wait = { patience: PATIENCE, onWait, isOver }
    const done = await withLease(sequelize, database, wait, async (holds) =>
      applySteps(version, (await left()).steps, { ...change, holds }),
    )
    if (!done) throw new Error(`another process has been migrating for more than ${PATIENCE} s`)
  }
  let { found, steps } = await left()
  while (steps.length > 0) {
    const faults = faultsOf(database, version, found)
    await work().catch((error: unknown) => {
      throw isRefused(error) ? unsound(forOwner(faults)) : error
    })
    ;({ found, steps } = await left())
  }
  const faults = faultsOf(database, version, found)
  if (faults.length > 0) throw unsound(faults)
  // Nothing is to be done: what can only be read now is the matter of `ready`, as is what others lock.
  if (sequelize.getDialect() !== 'sqlite')
    await assertEntitled(sequelize).catch((error: unknown) => {
      if (!isReadOnly(error)) throw error
    })
  tellUnknown(sequelize, version, found)
}

interface Change {
  readonly sequelize: Sequelize
  readonly database: Database
  /** How often what others are in the way of is tried. */
  readonly attempts: number
  readonly holds: Holds
}

/** Returns early when the lease went to another process, which is waited for then. */
async function applySteps(version: Version, steps: readonly Step[], change: Change): Promise<void> {
  const { database } = change
  const { dialect } = database
  for (const step of steps) {
    for (const statement of statementsOf(dialect, step, version.steps))
      if (!(await perform(change, statement))) return
    await database.write(recordStep(dialect, step, version.steps), [])
  }
}

/**
 * Runs a statement until the catalogue says that it has done what it does, and not at all if it says so now. Returns
 * `false` if the lease is lost.
 */
async function perform(change: Change, { sql, makes }: Statement): Promise<boolean> {
  const { sequelize, database, attempts, holds } = change
  const { schema } = database.dialect
  const pause = () => sleep(200 + Math.random() * 1800)
  for (let tried = 0; ; ) {
    const catalogue = await readCatalogue(database, [makes.table])
    if (isMade(catalogue, makes)) return true
    if (!(await holds())) return false
    const rest = catalogue.indexes.find(({ name }) => name === makes.index)
    if (rest?.building) {
      await pause()
      continue
    }
    if (tried === attempts) throw new Error(await obstacle(change, makes.table))
    tried += 1
    try {
      // What is left of one that was not finished.
      if (rest && schema.dropIndex) await schema.change(sequelize, schema.dropIndex(rest.name))
      await schema.change(sequelize, sql)
    } catch (error) {
      // Another process may have done the same at this moment.
      if (isMade(await readCatalogue(database, [makes.table]), makes)) return true
      if (!schema.isInTheWay(error)) throw error
      // Who is in the way is asked while they still are.
      if (tried < attempts) await pause()
    }
  }
}

async function obstacle({ database, attempts }: Change, table: string): Promise<string> {
  const sql = database.dialect.schema.blockers?.(table)
  const rows = sql === undefined ? [] : await database.find(sql, []).catch(() => [])
  const who = rows.map(({ id }) => String(id)).join(', ')
  const by = who && `, by the connections ${who}`
  return `${table} was locked at each of ${attempts} attempts to change it${by}: call migrate again`
}
