import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { now } from '../../fixtures/clock.ts'
import { whileHeld } from '../../fixtures/lease.ts'
import { onEachKind, useDatabase } from '../../fixtures/on-database.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'
import { statusOf } from '../../src/sequelize/schema/status.ts'
import { ALL_STEPS, allOf } from '../../src/sequelize/schema/steps.ts'
import { RECORDS_VIEW, STOPS } from '../../src/sequelize/tables.ts'

const NONE = '0'.repeat(32)

const CLI = path.resolve(import.meta.dirname, '../../src/cli/main.ts')

onEachKind((kind) => {
  describe('migrations', () => {
    const database = useDatabase(kind, { each: true, migrated: false })

    const done = async () => {
      const rows = await database.sequelize.query<{ name: string }>(
        'SELECT name FROM impersonation_steps ORDER BY name',
        { type: QueryTypes.SELECT },
      )
      return rows.map(({ name }) => name)
    }
    const ALL = ['001-subject-tokens', '002-oidc-models', '003-sessions', '004-read-only']

    it('run when one process calls them more often than it has connections', async () => {
      const pool = database.connect({ pool: { max: 2, acquire: 5000 } })
      await Promise.all(Array.from({ length: 6 }, () => migrate(pool)))
      expect(await done()).to.deep.equal(ALL)
      const begun = database.statements.filter((sql) => sql.includes('EXISTS impersonation_steps'))
      expect(begun, 'one works, the others wait for it').to.have.length(1)
    })

    it('run when four processes start at once', async () => {
      const run = promisify(execFile)
      const env = { ...process.env, DATABASE_URL: database.url }
      const outputs = await Promise.all(
        Array.from({ length: 4 }, () => run(process.execPath, ['--no-warnings', CLI, 'migrate'], { env })),
      )
      for (const { stdout, stderr } of outputs) {
        expect(stderr).to.match(/^(waiting for another process[^\n]*\n)?$/)
        expect(stdout).to.include('up to date')
      }
      expect(await done()).to.deep.equal(ALL)
    }).timeout(90_000)

    it('need one connection', async () => {
      await migrate(database.connect({ pool: { max: 1, acquire: 3000 } }))
      expect(await done()).to.deep.equal(ALL)
    })

    it('read no row but of steps, and change none, where the database is up to date', async () => {
      await migrate(database.sequelize)
      database.statements.length = 0
      await migrate(database.connect({ pool: { max: 1, acquire: 3000 } }))
      const reads = database.statements.filter((sql) => !sql.endsWith(' WHERE 1 = 0'))
      expect(reads).to.have.length(kind === 'mysql' ? 3 : 2)
      for (const sql of reads) expect(sql).to.match(/^Executing \(default\): (SELECT|SHOW) /)
    })

    it('are harmless when every statement of theirs runs again', async () => {
      const { dialect } = driverOf(database.sequelize)
      await migrate(database.sequelize)
      for (const { sql, makes } of allOf(dialect, ALL_STEPS)) {
        const again = dialect.change(database.sequelize, sql)
        // SQLite cannot be told to add a column only if it is missing.
        if (kind !== 'sqlite' || !makes.startsWith('column')) await again
        else expect(String(await again.catch((error: unknown) => error))).to.include('duplicate column name')
      }
      expect((await statusOf(database.sequelize)).faults).to.deep.equal([])
    })

    it('make again what has gone, with the view that read it', async () => {
      const { sequelize } = database
      await migrate(sequelize)
      await sequelize.query(`DROP VIEW ${RECORDS_VIEW.name}`)
      await migrate(sequelize)
      const looks = () => sequelize.query(`SELECT * FROM ${RECORDS_VIEW.name} WHERE 1 = 0`)
      expect(await looks().catch(() => 'no view'), 'dropped alone').to.equal('no view')
      await sequelize.query(`DROP TABLE ${STOPS.name}`)
      await migrate(sequelize)
      await looks()
      expect((await statusOf(sequelize)).faults).to.deep.equal([])
    })

    // MariaDB and MySQL know an index by its table, too.
    if (kind !== 'mysql')
      it('give up where what they make keeps missing, because another table has the names', async () => {
        await migrate(database.sequelize)
        await database.sequelize.query(`ALTER TABLE ${STOPS.name} RENAME TO stops_of_before`)
        const error = await migrate(database.sequelize).catch((thrown: unknown) => thrown)
        expect(String(error)).to.match(
          /index \w+ is missing after 60 attempts to make it: was a table renamed/,
        )
      })

    it('continue where they were cut short, and run no statement that the catalogue says has been done', async () => {
      const { dialect } = driverOf(database.sequelize)
      const all = allOf(dialect, ALL_STEPS).map(({ sql }) => sql)
      for (const sql of all.slice(0, 7)) await database.sequelize.query(sql)
      database.statements.length = 0
      await migrate(database.sequelize)
      const changes = database.statements.filter((sql) => /: (CREATE|ALTER|DROP|SET)/.test(sql))
      for (const sql of all.slice(0, 7)) expect(changes.some((one) => one.includes(sql))).to.equal(false)
      expect(await done()).to.deep.equal(ALL)
      await database.sequelize.query('DELETE FROM impersonation_steps')
      database.statements.length = 0
      const began = now()
      await migrate(database.sequelize)
      const again = database.statements.filter((sql) => /: (SET[^;]*; )?(CREATE|ALTER|DROP)/.test(sql))
      expect(again).to.deep.equal([])
      const [rows] = await database.sequelize.query('SELECT * FROM impersonation_steps')
      for (const row of rows as Record<string, unknown>[]) {
        expect(row.fingerprint).to.match(/^[0-9a-f]{64}$/)
        expect(row.older).to.equal('may run')
        expect(Number(row.finished_at)).to.be.within(began, now())
      }
      expect(rows).to.have.length(ALL.length)
    })

    it('go on beside steps of a later version with which this one may run, and log a warning', async () => {
      await migrate(database.sequelize)
      for (const name of ['900-later', '901-latest'])
        await database.sequelize.query(
          `INSERT INTO impersonation_steps (name, fingerprint, older, finished_at)
            VALUES ('${name}', 'x', 'may run', 1)`,
        )
      await database.sequelize.query('ALTER TABLE subject_tokens ADD COLUMN later BIGINT')
      database.statements.length = 0
      await migrate(database.sequelize)
      expect(database.statements.at(-1)).to.equal(
        'warning: the database has steps of a later version: 900-later, 901-latest',
      )
      await createSubjectTokenStore(database.sequelize).ready?.()
      expect(await statusOf(database.sequelize)).to.deep.include({
        unknown: ['900-later', '901-latest'],
        faults: [],
      })
    })

    for (const [of, sql] of [
      ['without steps', 'CREATE TABLE subject_tokens (id INTEGER, token_hash INTEGER)'],
      ['with steps of their own', 'CREATE TABLE impersonation_migrations (name INTEGER)'],
    ] as const) {
      it(`refuse tables of another build, ${of}`, async () => {
        const { sequelize } = database
        await sequelize.query(sql)
        const faults = ['the tables of subject tokens were made by another build: dump and re-create']
        for (const call of [() => migrate(sequelize), () => createSubjectTokenStore(sequelize).ready?.()]) {
          const error = await Promise.resolve(call()).catch((thrown: unknown) => thrown)
          expect(error).to.have.property('forOperators', faults[0])
        }
        expect((await statusOf(sequelize)).faults).to.deep.equal(faults)
      })
    }

    it('tell what they wait for, once, and find it done by another process', async () => {
      const { promise: waited, resolve } = Promise.withResolvers<void>()
      const reasons: string[] = []
      const onWait = (reason: string) => {
        reasons.push(reason)
        resolve()
      }
      const other = database.connect()
      await whileHeld(other, async () => {
        const migrating = migrate(database.sequelize, { onWait })
        await waited
        const { dialect } = driverOf(other)
        for (const { sql } of allOf(dialect, ALL_STEPS)) await dialect.change(other, sql)
        await migrating
      })
      expect(reasons).to.have.length(1)
      expect(reasons[0]).to.match(/^waiting for another process, .* its lease ends in (2\d|30) s$/)
    })

    it('tell it to the log of Sequelize, unless told otherwise, and go on when it is over', async () => {
      const { promise: waited, resolve } = Promise.withResolvers<void>()
      const logging = (line: string) => {
        if (line.startsWith('waiting for another process')) resolve()
      }
      let migrating: Promise<void> | undefined
      await whileHeld(database.sequelize, async () => {
        migrating = migrate(database.connect({ logging }))
        await waited
      })
      await migrating
      expect(await done()).to.deep.equal(ALL)
    })

    it('are asked for by name at the first request and by a probe without tables, and without a column', async () => {
      const store = createSubjectTokenStore(database.sequelize)
      const find = () => store.find('https://id.example.com', NONE)
      const expectFailing = async (call: Promise<unknown> | undefined) => {
        const error: unknown = await call?.catch((thrown) => thrown)
        expect(error).to.be.an('error').with.property('message').that.includes('oidc-impersonation migrate')
        expect(error).to.have.property('forOperators').that.includes('oidc-impersonation migrate')
      }
      await expectFailing(find())
      await expectFailing(store.ready?.())
      await migrate(database.sequelize)
      await database.sequelize.query('ALTER TABLE subject_token_uses RENAME COLUMN scope TO renamed')
      await expectFailing(find())
    })
  })
})
