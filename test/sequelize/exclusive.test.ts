/** What one process at a time does to a database server. `migrations.test.ts` has more, on each database. */
import { expect } from 'chai'
import { QueryTypes, type Sequelize, Transaction } from 'sequelize'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { recordPauses } from '../../fixtures/pauses.ts'
import type { Execute } from '../../src/sequelize/database/dialect.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'

const WAITING = {
  postgres: `SELECT pid AS id FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'advisory'`,
  mysql: `SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND state = 'User lock'`,
}
/** What ends the wait of a connection. */
const ENDS = {
  postgres: {
    'its connection ends': (id: number) => `SELECT pg_terminate_backend(${id})`,
    'its wait is cancelled': (id: number) => `SELECT pg_cancel_backend(${id})`,
  },
  mysql: {
    'its connection ends': (id: number) => `KILL ${id}`,
    'its wait is cancelled': (id: number) => `KILL QUERY ${id}`,
  },
} as const

const failureOf = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => new Error('did not fail'),
    (error: Error) => error,
  )

/** Runs `work`, waiting for others; tells when it waits. */
function exclusively(sequelize: Sequelize, work: (execute: Execute) => Promise<void>) {
  const { promise: waits, resolve } = Promise.withResolvers<string>()
  const done = driverOf(sequelize).dialect.exclusively(sequelize, { patience: 10, onWait: resolve }, work)
  return { done, waits }
}

for (const kind of ['postgres', 'mysql'] as const) {
  describe(`what one process at a time does, on ${kind}`, () => {
    let database: Database
    beforeOn(kind, async () => {
      database = await openDatabase(kind, { migrated: false })
      await database.sequelize.query('CREATE TABLE steps (name VARCHAR(64) PRIMARY KEY)')
    })
    after(() => database?.close())

    const waitingIds = async () => {
      for (;;) {
        const rows = await database.sequelize.query<{ id: number }>(WAITING[kind], {
          type: QueryTypes.SELECT,
        })
        if (rows.length > 0) return rows.map(({ id }) => id)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }

    it('sees what the process before it has done, however strict the transactions of the host are', async () => {
      const { SERIALIZABLE } = Transaction.ISOLATION_LEVELS
      const strict = database.connect({ isolationLevel: SERIALIZABLE })
      let seen: readonly unknown[] = []
      let late: Promise<boolean> | undefined
      const first = exclusively(database.connect(), async (execute) => {
        const other = exclusively(strict, async (ask) => {
          seen = await ask('SELECT name FROM steps')
        })
        late = other.done
        await other.waits
        await execute(`INSERT INTO steps (name) VALUES ('one')`)
      })
      expect(await first.done).to.equal(true)
      expect(await late).to.equal(true)
      expect(seen.map((row) => String(Reflect.get(Object(row), 'name')))).to.deep.equal(['one'])
    })

    for (const [what, end] of Object.entries(ENDS[kind])) {
      it(`fails if ${what}: no other process has done the work`, async () => {
        let failure: Error | undefined
        const first = exclusively(database.connect(), async () => {
          const late = exclusively(database.connect(), async () => {})
          await late.waits
          for (const id of await waitingIds()) await database.sequelize.query(end(id)).catch(() => {})
          failure = await failureOf(late.done)
        })
        await first.done
        expect(failure?.message).to.match(/connection|terminat|closed|cancel|interrupt/i)
      })
    }

    it('fails with the reason of a statement that is refused, once, and lets others go on', async () => {
      const log: string[] = []
      const pool = database.connect({ logging: (text) => void log.push(text) })
      const broken = exclusively(pool, async (execute) => {
        await execute('SELECT none FROM steps')
      })
      expect((await failureOf(broken.done)).message).to.match(/none/)
      expect(log.filter((text) => text.includes('SELECT none'))).to.have.length(1)
      let ran = false
      const next = exclusively(database.connect(), async () => {
        ran = true
      })
      expect(await next.done).to.equal(true)
      expect(ran).to.equal(true)
    })
  })
}

describe('what one process at a time does, on postgres, when it has waited', () => {
  let database: Database
  beforeOn('postgres', async () => {
    database = await openDatabase('postgres', { migrated: false })
  })
  after(() => database?.close())

  it('has the time limit for locks that the host has chosen', async () => {
    const pool = database.connect({ dialectOptions: { lock_timeout: 7000 } })
    let limit: unknown
    let late: Promise<boolean> | undefined
    const first = exclusively(database.connect(), async () => {
      const other = exclusively(pool, async (ask) => {
        const [row] = await ask(`SELECT current_setting('lock_timeout') AS name`)
        limit = row?.name
      })
      late = other.done
      await other.waits
    })
    await first.done
    expect(await late).to.equal(true)
    expect(limit).to.equal('7s')
  })
})

describe('a statement of one process at a time, on mysql', () => {
  let database: Database
  beforeOn('mysql', async () => {
    database = await openDatabase('mysql', { migrated: false })
    await database.sequelize.query('CREATE TABLE steps (name VARCHAR(64))')
    // Counts for its session: a variable is not rolled back with the row.
    await database.sequelize.query(
      `CREATE TRIGGER lose BEFORE INSERT ON steps FOR EACH ROW BEGIN
        SET @tried = IFNULL(@tried, 0) + 1;
        IF @tried < NEW.name THEN
          SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'as Galera says it';
        END IF;
      END`,
    )
  })
  after(() => database?.close())
  /** A row that goes in at this attempt. */
  const insertAt = (attempt: number, tried: (rows: readonly unknown[]) => void = () => {}) =>
    exclusively(database.connect(), async (execute) => {
      await execute(`INSERT INTO steps (name) VALUES ('${attempt}')`)
      tried(await execute('SELECT CAST(@tried AS CHAR) AS times'))
    }).done

  it('that is rolled back is repeated until it is not, after pauses that grow', async () => {
    let rows: readonly unknown[] = []
    const pauses = await recordPauses(() =>
      insertAt(10, (found) => {
        rows = found
      }),
    )
    expect(rows.map((row) => Number(Reflect.get(Object(row), 'times')))).to.deep.equal([10])
    expect(pauses).to.deep.equal([10, 20, 40, 80, 160, 320, 640, 1280, 2560])
  })

  it('that is rolled back ten times fails', async () => {
    let failure: Error | undefined
    await recordPauses(async () => {
      failure = await failureOf(insertAt(11))
    })
    expect(failure).to.include({ code: 'ER_LOCK_DEADLOCK' })
    const rows = await database.sequelize.query(`SELECT name FROM steps WHERE name = '11'`, {
      type: QueryTypes.SELECT,
    })
    expect(rows).to.deep.equal([])
  })
})
