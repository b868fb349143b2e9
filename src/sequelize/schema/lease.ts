/**
 * Who migrates: a row that names its holder and when the lease ends. A lock of a session would not do in its place: poolers
 * and clusters give the next statement to another session or node, and nothing says so. If the holder dies, the lease runs
 * out; if it is slow, a second process does the same work, which is harmless.
 */
import { randomBytes } from 'node:crypto'
import type { Sequelize } from 'sequelize'
import { epochTime, type Seconds } from '../../base/clock.ts'
import type { Database } from '../database/database.ts'
import { text } from '../database/text.ts'
import { columnsOf, LEASE } from '../tables.ts'

const LIFE: Seconds = 30
/** Where the only connection is busy with a statement, so that the lease cannot be renewed. */
const LIFE_ON_ONE_CONNECTION: Seconds = 600

const TAKE = `UPDATE ${LEASE.name} SET holder = $1, expires_at = $2
  WHERE id = 1 AND (holder = $1 OR expires_at <= $3)`
const END = `UPDATE ${LEASE.name} SET expires_at = 0 WHERE id = 1 AND holder = $1`
const LOOK = `SELECT holder, expires_at FROM ${LEASE.name} WHERE id = 1`

/** Held by one process at a time. */
export function leaseOf(sequelize: Sequelize, database: Database) {
  // SQLite does not count: who writes there is alone while it does.
  const alone =
    sequelize.getDialect() !== 'sqlite' && Object(Reflect.get(sequelize, 'options')).pool?.max === 1
  const holder = `${alone ? 'on one connection ' : ''}${randomBytes(16).toString('hex')}`
  const life = alone ? LIFE_ON_ONE_CONNECTION : LIFE
  const first = database.dialect.insertNew({ table: LEASE.name, columns: columnsOf(LEASE) })
  let taken = false
  /** Takes or renews it. Returns whether this process has it now. */
  const take = async (): Promise<boolean> => {
    const now = epochTime()
    const changed = await database.write(TAKE, [holder, now + life, now])
    const [row] = changed === 1 ? [] : await database.find(LOOK, [])
    if (changed === 0 && !row) {
      await database.write(first, [1, '', 0])
      return take()
    }
    // MariaDB and MySQL do not count a row that is as it was.
    const has = changed === 1 || text(row?.holder) === holder
    taken ||= has
    return has
  }
  return {
    take,
    /** Runs `work`, and renews the lease meanwhile. */
    during<Value>(work: () => Promise<Value>): Promise<Value> {
      // A failure here is noticed before the next statement.
      const renewal = setInterval(() => void take().catch(() => {}), (life / 3) * 1000)
      return work().finally(() => clearInterval(renewal))
    },
    /** Ends it, if this process has taken it. */
    async end(): Promise<void> {
      if (taken) await database.write(END, [holder]).catch(() => {})
    },
    /** Until it ends, whichever process holds it. */
    async left(): Promise<Seconds> {
      const [row] = await database.find(LOOK, [])
      return Math.max(0, Number(row?.expires_at ?? 0) - epochTime())
    },
  }
}
