/**
 * Who migrates: a row that names its holder and when the lease ends. Connections do not survive poolers, rows do. If the
 * holder dies, the lease runs out; if it is slow, a second process does the same work, which is harmless.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sequelize } from 'sequelize'
import { epochTime, type Seconds } from '../../clock.ts'
import type { Database } from '../database/database.ts'
import { text } from '../database/values.ts'
import { columnsOf, LEASE } from '../tables.ts'

const LIFE: Seconds = 30
/** Where the only connection is busy with a statement, so that the lease cannot be renewed. */
const LIFE_ON_ONE_CONNECTION: Seconds = 600

const TAKE = `UPDATE ${LEASE.name} SET holder = $1, expires_at = $2
  WHERE id = 1 AND (holder = $1 OR expires_at <= $3)`
const END = `UPDATE ${LEASE.name} SET expires_at = 0 WHERE id = 1 AND holder = $1`
const LOOK = `SELECT holder, expires_at FROM ${LEASE.name} WHERE id = 1`

/** Waiting for another process. */
export interface Wait {
  readonly patience: Seconds
  /** Called once, and only if there is something to wait for. */
  readonly onWait: (reason: string) => void
  /** Whether what was to be done has been done meanwhile. */
  readonly isOver: () => Promise<boolean>
}

/** Whether this process still holds the lease, which it renews. */
export type Holds = () => Promise<boolean>

/** Runs `work` when no other process does. Returns `false` if another one is still at work after `patience`. */
export async function withLease(
  sequelize: Sequelize,
  database: Database,
  { patience, onWait, isOver }: Wait,
  work: (holds: Holds) => Promise<void>,
): Promise<boolean> {
  const alone = hasOneConnection(sequelize)
  const holder = `${alone ? 'on one connection ' : ''}${randomBytes(16).toString('hex')}`
  const life = alone ? LIFE_ON_ONE_CONNECTION : LIFE
  const holds: Holds = async () => {
    const now = epochTime()
    if ((await database.write(TAKE, [holder, now + life, now])) === 1) return true
    // MariaDB and MySQL do not count a row that is as it was.
    const [row] = await database.find(LOOK, [])
    return row !== undefined && text(row.holder) === holder
  }
  await database.write(database.dialect.insertNew({ table: LEASE.name, columns: columnsOf(LEASE) }), [
    1,
    '',
    0,
  ])
  const givenUp = epochTime() + patience
  for (let attempts = 1; !(await holds()); attempts += 1) {
    if (attempts === 1) onWait(await describe(database))
    if (epochTime() > givenUp) return false
    await sleep(100 + Math.random() * 100)
    if (await isOver()) return true
  }
  // What fails here is noticed before the next statement.
  const renewal = setInterval(() => void holds().catch(() => {}), (life / 3) * 1000)
  try {
    await work(holds)
    return true
  } finally {
    clearInterval(renewal)
    await database.write(END, [holder]).catch(() => {})
  }
}

/** SQLite does not count: who writes there is alone while it does. */
const hasOneConnection = (sequelize: Sequelize): boolean =>
  sequelize.getDialect() !== 'sqlite' && Object(Reflect.get(sequelize, 'options')).pool?.max === 1

async function describe(database: Database): Promise<string> {
  const [row] = await database.find(LOOK, [])
  const seconds = Math.max(0, Number(row?.expires_at ?? 0) - epochTime())
  return `waiting for another process, which is migrating or was killed while it did: its lease ends in ${seconds} s`
}
