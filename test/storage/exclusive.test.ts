/** How one process at a time migrates. `migrations.test.ts` has more, on each database. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import type { Database } from '../../fixtures/databases.ts'
import { whileHeld } from '../../fixtures/lease.ts'
import { describeOn, onEachKind, useDatabase } from '../../fixtures/on-database.ts'
import { recordPauses } from '../../fixtures/pauses.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { migrate } from '../../src/sequelize/index.ts'
import { statusOf } from '../../src/sequelize/schema/status.ts'

const leaseOf = async ({ sequelize }: Pick<Database, 'sequelize'>) => {
  const [row] = await sequelize.query<{ holder: string; expires_at: number }>(
    'SELECT holder, expires_at FROM impersonation_lease',
    { type: QueryTypes.SELECT },
  )
  return { holder: String(row?.holder), life: Number(row?.expires_at) - Date.now() / 1000 }
}

for (const kind of ['postgres', 'mysql'] as const)
  describeOn(kind, `a change of a table in use, on ${kind}`, () => {
    const database = useDatabase(kind)

    it('waits for a lock for a second, in a transaction of its own, and leaves the session as it was', async () => {
      const pool = database.connect({ pool: { max: 1 } })
      const { dialect } = driverOf(pool)
      const transaction = await database.sequelize.transaction()
      await database.sequelize.query('SELECT 1 FROM subject_tokens', { transaction })
      const begun = performance.now()
      const sql = dialect.addColumn('subject_tokens', 'more BIGINT')
      const failure = await dialect.change(pool, sql).catch((error: unknown) => error)
      expect(performance.now() - begun).to.be.within(900, 5000)
      expect(dialect.isInTheWay(failure)).to.equal(true)
      if (kind === 'postgres') {
        const rows = await pool.query('SHOW lock_timeout', { type: QueryTypes.SELECT })
        expect(rows).to.deep.equal([{ lock_timeout: '0' }])
      }
      await transaction.commit()
      await dialect.change(pool, sql)
    })

    if (kind === 'mysql')
      it('is refused where it would copy the table', async () => {
        const { dialect } = driverOf(database.sequelize)
        const sql = 'ALTER TABLE subject_tokens MODIFY context TEXT, ALGORITHM=INPLACE, LOCK=NONE'
        const failure = await dialect.change(database.sequelize, sql).catch((error: unknown) => error)
        expect(failure).to.have.property('code', 'ER_ALTER_OPERATION_NOT_SUPPORTED_REASON')
      })
  })

describeOn('postgres', 'an index of a table in use, on postgres', () => {
  const database = useDatabase('postgres')

  it('is removed where it was not finished, and made anew', async () => {
    const { sequelize } = database
    await sequelize.query(
      `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'subject_tokens_user_id'::regclass`,
    )
    expect((await statusOf(sequelize)).faults).to.deep.equal([
      'the index subject_tokens_user_id is invalid, because it was not finished: run `oidc-impersonation migrate`',
    ])
    database.statements.length = 0
    await migrate(sequelize)
    const changes = database.statements.flatMap((sql) => /: ((?:CREATE|DROP) .*)/.exec(sql)?.[1] ?? [])
    expect(changes).to.deep.equal([
      'DROP INDEX CONCURRENTLY IF EXISTS subject_tokens_user_id',
      'CREATE INDEX CONCURRENTLY IF NOT EXISTS subject_tokens_user_id ON subject_tokens (user_id, issuer, id)',
    ])
    expect((await statusOf(sequelize)).faults).to.deep.equal([])
  })

  it('is waited for where another process is making it, and left alone', async () => {
    const { sequelize } = database
    await sequelize.query('DROP INDEX subject_tokens_user_id')
    // A writer holds up the other process, not this one.
    const transaction = await database.sequelize.transaction()
    await sequelize.query('UPDATE subject_tokens SET open = 0', { transaction })
    const making = database
      .connect()
      .query('CREATE INDEX CONCURRENTLY subject_tokens_user_id ON subject_tokens (user_id, issuer, id)')
    while ((await statusOf(sequelize)).faults.every((fault) => !fault.includes('invalid'))) await sleep(20)
    database.statements.length = 0
    const migrating = migrate(sequelize)
    await sleep(300)
    await transaction.commit()
    await Promise.all([making, migrating])
    expect(database.statements.filter((sql) => /: (DROP|CREATE) INDEX/.test(sql))).to.deep.equal([])
    expect((await statusOf(sequelize)).faults).to.deep.equal([])
  })
})

onEachKind((kind) => {
  describe('the lease of who migrates', () => {
    const database = useDatabase(kind, { each: true, migrated: false })

    it('lasts 30 s, is renewed by its holder, and ends with the work', async () => {
      const held = await whileHeld(database.sequelize, async (holds) => {
        expect((await leaseOf(database)).life).to.be.within(27, 30.1)
        expect(await holds()).to.equal(true)
        expect(await holds(), 'in the same second').to.equal(true)
      })
      expect(held).to.equal(true)
      expect((await leaseOf(database)).life).to.be.below(0)
    })

    it('is had by one at a time', async () => {
      await whileHeld(database.sequelize, async () => {
        expect(await whileHeld(database.connect(), async () => {})).to.equal(false)
      })
    })

    it('goes to another process when it has run out, and the first one notices', async () => {
      const other = database.connect()
      await whileHeld(database.sequelize, async (holds) => {
        await other.query('UPDATE impersonation_lease SET expires_at = 0')
        await whileHeld(other, async () => {
          expect(await holds()).to.equal(false)
        })
        expect(await holds()).to.equal(true)
      })
    })

    it('ends with work that fails', async () => {
      const failure = await whileHeld(database.sequelize, async () => {
        throw new Error('no')
      }).catch((error: unknown) => error)
      expect(failure).to.have.property('message', 'no')
      expect((await leaseOf(database)).life).to.be.below(0)
    })

    it('says that it cannot be renewed, and lasts longer, where there is one connection', async () => {
      await whileHeld(database.connect({ pool: { max: 1 } }), async () => {
        const { holder, life } = await leaseOf(database)
        // Who writes to SQLite is alone while it does.
        expect(holder.startsWith('on one connection')).to.equal(kind !== 'sqlite')
        const [least, most] = kind === 'sqlite' ? [27, 30.1] : [590, 600.1]
        expect(life).to.be.within(least, most)
      })
    })

    it('stops a migration before its next statement when it is lost, which then waits and goes on', async () => {
      const other = database.connect()
      const reasons: string[] = []
      let taken: Promise<unknown> | undefined
      const made = () => database.statements.filter((sql) => /CREATE TABLE/.test(sql)).length
      const logging = (sql: string) => {
        database.statements.push(sql)
        // After the two tables of migrations, and the first two of ours.
        if (made() !== 4 || taken) return
        taken = other.query(
          `UPDATE impersonation_lease SET holder = 'other', expires_at = ${Math.ceil(Date.now() / 1000) + 3}`,
        )
      }
      await migrate(database.connect({ logging }), { onWait: (reason) => reasons.push(reason) })
      expect(reasons).to.have.length(1)
      expect((await statusOf(database.sequelize)).faults).to.deep.equal([])
    })
  })
})

describe('a change that others are in the way of', () => {
  const database = useDatabase('sqlite', { each: true, migrated: false })

  const migrateWhile = async (fails: () => boolean) => {
    const { dialect } = driverOf(database.sequelize)
    const { change } = dialect
    let attempts = 0
    let failure: unknown
    const pauses = await recordPauses(async () => {
      Object.assign(dialect, {
        change: async (...args: Parameters<typeof change>) => {
          if (!args[1].includes('subject_tokens_open')) return change(...args)
          attempts += 1
          if (fails()) throw Object.assign(new Error('locked'), { code: 'SQLITE_BUSY' })
          return change(...args)
        },
      })
      try {
        await migrate(database.sequelize)
      } catch (error) {
        failure = error
      } finally {
        Object.assign(dialect, { change })
      }
    })
    return { attempts, failure, pauses }
  }

  it('is tried again after pauses', async () => {
    let left = 3
    const { attempts, failure, pauses } = await migrateWhile(() => {
      left -= 1
      return left >= 0
    })
    expect({ attempts, failure }).to.deep.equal({ attempts: 4, failure: undefined })
    expect(pauses).to.deep.equal([1100, 1100, 1100])
  })

  it('is given up after 60 attempts, by name', async () => {
    const { attempts, failure } = await migrateWhile(() => true)
    expect(attempts).to.equal(60)
    expect(failure)
      .to.have.property('message')
      .that.matches(/^subject_tokens was locked at each of 60 attempts to change it/)
    await migrate(database.sequelize)
  })
})
