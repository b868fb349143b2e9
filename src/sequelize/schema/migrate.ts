import { setTimeout as sleep } from 'node:timers/promises'
import type { Sequelize } from 'sequelize'
import { epochTime, type Seconds } from '../../base/clock.ts'
import { isPlainObject, refuseUnknown } from '../../base/json.ts'
import type { Database } from '../database/database.ts'
import { logOf } from '../database/pool.ts'
import { BEING_MADE } from '../database/standard.ts'
import { databaseOf } from '../drivers.ts'
import { leaseOf } from './lease.ts'
import { isReadOnly, isRefused } from './rights.ts'
import { assertEntitled, look, THIS_VERSION, unsound, type Version } from './sound.ts'
import type { Statement } from './steps.ts'

/** The options of `migrate`. */
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
  const begin = () => migrateTo(THIS_VERSION, sequelize, onWait).finally(() => running.delete(sequelize))
  const migrating = running.get(sequelize) ?? begin()
  running.set(sequelize, migrating)
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

/** Looks what is left, and runs it, until nothing is. Only work needs the lease, and rights to create. */
export async function migrateTo(
  version: Version,
  sequelize: Sequelize,
  onWait: (reason: string) => void,
  attempts = ATTEMPTS,
): Promise<void> {
  const database = databaseOf(sequelize)
  const { dialect } = database
  const lease = leaseOf(sequelize, database)
  let found = await look(database, version)
  let givenUp = 0
  /** How often, by what it makes. */
  const tried = new Map<string, number>()
  const wait = async () => {
    if (givenUp === 0) {
      givenUp = epochTime() + PATIENCE
      onWait(`${WAITING} its lease ends in ${await lease.left()} s`)
    }
    if (epochTime() > givenUp)
      throw new Error(`another process has been migrating for more than ${PATIENCE} s`)
    await sleep(100 + Math.random() * 100)
  }
  /** Returns whether it has run. If not, what is left may have changed. */
  const perform = async (next: Statement): Promise<boolean> => {
    const is = found.catalogue.get(next.makes)
    if (is === BEING_MADE) return pause()
    const times = (tried.get(next.makes) ?? 0) + 1
    tried.set(next.makes, times)
    // A statement that finds its name taken elsewhere succeeds, and makes nothing.
    if (times > attempts)
      throw new Error(`${next.makes} is missing after ${attempts} attempts to make it: ${RENAMED}`)
    try {
      // The remains of an index that was not finished.
      if (is !== undefined && dialect.dropIndex)
        await dialect.change(sequelize, dialect.dropIndex(next.makes.replace('index ', '')))
      await dialect.change(sequelize, next.sql)
      return true
    } catch (error) {
      const { left } = await look(database, version)
      // Another process may have done the same at this moment.
      if (left[0]?.makes !== next.makes) return false
      if (!dialect.isInTheWay(error)) throw error
      // Who is in the way is asked while they still are.
      if (times >= attempts) throw new Error(await obstacle(database, next.table, attempts))
      return pause()
    }
  }
  const performAll = async () => {
    for (const next of found.left) {
      const begins = next.step === undefined
      if (!begins && !(await lease.take())) return wait()
      givenUp = 0
      if (!(await (begins ? perform(next) : lease.during(() => perform(next))))) return
    }
  }
  try {
    for (; found.left.length > 0 && !found.isStuck; found = await look(database, version)) await performAll()
  } catch (error) {
    throw isRefused(error) ? unsound(forOwner(found.faults)) : error
  } finally {
    await lease.end()
  }
  if (found.faults.length > 0) throw unsound(found.faults)
  // Nothing is to be done: what can only be read now is the matter of `ready`, as is what others lock.
  if (sequelize.getDialect() !== 'sqlite')
    await assertEntitled(sequelize).catch((error: unknown) => {
      if (!isReadOnly(error)) throw error
    })
  if (found.unknown.length > 0)
    logOf(sequelize).log(`warning: the database has steps of a later version: ${found.unknown.join(', ')}`)
}

const WAITING = 'waiting for another process, which is migrating or was killed while it did:'

/** To a role that may not put it right. */
const forOwner = (faults: readonly string[]): string[] =>
  faults.map((fault) => fault.replace(/ migrate`$/, '$& with the role that owns the tables'))

const RENAMED = 'was a table renamed, whose indexes keep their names?'

const pause = () => sleep(200 + Math.random() * 1800, false)

async function obstacle({ find, dialect }: Database, table: string, attempts: number): Promise<string> {
  const sql = dialect.blockers?.(table)
  const rows = sql === undefined ? [] : await find(sql, []).catch(() => [])
  const who = rows.map(({ id }) => String(id)).join(', ')
  const by = who && `, by the connections ${who}`
  return `${table} was locked at each of ${attempts} attempts to change it${by}: call migrate again`
}
