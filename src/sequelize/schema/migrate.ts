import type { Sequelize } from 'sequelize'
import type { Seconds } from '../../clock.ts'
import { isPlainObject } from '../../plain-json.ts'
import type { Dialect, Execute } from '../database/dialect.ts'
import { logOf } from '../database/log.ts'
import { databaseOf } from '../database-of.ts'
import {
  appliedSteps,
  createStepTable,
  namesOf,
  pendingSteps,
  recordStep,
  SELECT_STEPS,
  unknownSteps,
} from './steps.ts'

/** What `migrate` can be told. */
export interface MigrateOptions {
  /** Called once, with a sentence, if `migrate` has to wait for another process. Default: Sequelize's `logging`. */
  readonly onWait?: (reason: string) => void
}

/**
 * Brings the tables up to date. Safe to call from every process at every start, at the same time: one migrates,
 * the others wait and find the work done. One connection is enough, and a database that is up to date is only
 * read.
 *
 * @throws {TypeError} for a dialect other than `sqlite`, `postgres` and `mysql`, and for an unknown or wrong option.
 * @throws {Error} when the database has a step that this version does not know; otherwise what the database says.
 * Finished statements stay in force then, except on PostgreSQL, where all are rolled back. Either way, call it again.
 * @example
 * await migrate(sequelize)
 */
export async function migrate(sequelize: Sequelize, options: MigrateOptions = {}): Promise<void> {
  const onWait = waitListener(options) ?? ((reason) => logOf(sequelize).log(reason))
  let work = running.get(sequelize)
  if (!work) {
    work = run(sequelize, onWait).finally(() => running.delete(sequelize))
    running.set(sequelize, work)
  }
  await work
}

/** One at a time on one pool: each waiting call would hold a connection that the running one needs. */
const running = new WeakMap<Sequelize, Promise<void>>()

function waitListener(options: MigrateOptions): MigrateOptions['onWait'] {
  if (!isPlainObject(options)) throw new TypeError('migrate takes an options object')
  const { onWait, ...others }: MigrateOptions = options
  for (const name of Object.keys(others)) throw new TypeError(`unknown option: ${name}`)
  if (onWait !== undefined && typeof onWait !== 'function') {
    throw new TypeError('option onWait must be a function')
  }
  return onWait
}

/** For another process to finish. */
const PATIENCE: Seconds = 120

async function run(sequelize: Sequelize, onWait: (reason: string) => void): Promise<void> {
  const database = databaseOf(sequelize)
  const { dialect } = database
  // Without the lock, which needs rights to write and to create: most starts find nothing to do.
  if (workFor(await appliedSteps(database)).length === 0) return
  const wait = { patience: PATIENCE, onWait }
  const done = await dialect.exclusively(sequelize, wait, (execute) => applySteps(dialect, execute))
  if (!done) throw new Error(`another process has been migrating for more than ${PATIENCE} s`)
}

async function applySteps(dialect: Dialect, execute: Execute): Promise<void> {
  await execute(createStepTable(dialect))
  for (const step of workFor(namesOf(await execute(SELECT_STEPS)))) {
    for (const sql of step.statements(dialect)) await execute(sql)
    await execute(recordStep(dialect, step))
  }
}

function workFor(applied: readonly string[]): ReturnType<typeof pendingSteps> {
  const unknown = unknownSteps(applied)
  if (unknown.length > 0) {
    throw new Error(
      `the database has ${unknown.join(', ')}, which this version of oidc-provider-impersonation does not know: update it`,
    )
  }
  return pendingSteps(applied)
}
