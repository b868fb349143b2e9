import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { whileHeld } from '../../fixtures/lease.ts'
import { onEachKind } from '../../fixtures/on-database.ts'
import { NOW, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'
import { statusOf } from '../../src/sequelize/schema/status.ts'
import { ALL_STEPS, recordStep, statementsOf } from '../../src/sequelize/schema/steps.ts'

const NONE = '0'.repeat(32)

const CLI = path.resolve(import.meta.dirname, '../../src/cli/main.ts')

onEachKind((kind) => {
  describe('migrations', () => {
    let database: Database
    beforeEach(async () => {
      database = await openDatabase(kind, { migrated: false })
    })
    afterEach(() => database.close())

    const done = async () => {
      const rows = await database.sequelize.query<{ name: string }>(
        'SELECT name FROM impersonation_steps ORDER BY name',
        { type: QueryTypes.SELECT },
      )
      return rows.map(({ name }) => name)
    }
    /** As a process that ended before it could record the step. */
    const beginFirstStep = async (count?: number) => {
      const { dialect } = driverOf(database.sequelize)
      const statements = ALL_STEPS.slice(0, 1).flatMap((step) => statementsOf(dialect, step))
      for (const { sql } of statements.slice(0, count)) await database.sequelize.query(sql)
    }
    const ALL = ['001-subject-tokens', '002-oidc-models', '003-sessions']

    it('run once, and again without harm', async () => {
      await migrate(database.sequelize)
      await migrate(database.sequelize)
      expect(await done()).to.deep.equal(ALL)
    })

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
      expect(reads).to.have.length(kind === 'mysql' ? 4 : 3)
      for (const sql of reads) expect(sql).to.match(/^Executing \(default\): (SELECT|SHOW) /)
    })

    it('are harmless when every statement of theirs runs again', async () => {
      const { dialect } = driverOf(database.sequelize)
      await migrate(database.sequelize)
      for (const step of ALL_STEPS)
        for (const { sql, makes } of statementsOf(dialect, step)) {
          const again = dialect.schema.change(database.sequelize, sql)
          // SQLite cannot be told to add a column only if it is missing.
          if (kind !== 'sqlite' || makes.column === undefined) await again
          else
            expect(String(await again.catch((error: unknown) => error))).to.include('duplicate column name')
        }
      expect((await statusOf(database.sequelize)).faults).to.deep.equal([])
    })

    it('run no statement of which the catalogue says that it has been done', async () => {
      await migrate(database.sequelize)
      await database.sequelize.query('DELETE FROM impersonation_steps')
      database.statements.length = 0
      await migrate(database.sequelize)
      expect(await done()).to.deep.equal(ALL)
      expect(database.statements.filter((sql) => /: (CREATE|ALTER|DROP|SET)/.test(sql))).to.deep.equal([])
    })

    const later = (name: string, older: string) =>
      database.sequelize.query(
        `INSERT INTO impersonation_steps (name, fingerprint, older, finished_at) VALUES ('${name}', 'x', '${older}', 1)`,
      )

    it('go on beside steps of a later version with which this one may run, and log a warning', async () => {
      await migrate(database.sequelize)
      await later('900-later', 'may run')
      await later('901-latest', 'may run')
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

    it('refuse a step of a later version with which this one may not run, by name', async () => {
      await migrate(database.sequelize)
      await later('900-contract', 'may not run')
      await refused('the step 900-contract is of a later version', 'update it')
      expect(await createSubjectTokenStore(database.sequelize).find('https://id.example.com', NONE)).to.equal(
        undefined,
      )
    })

    it('record what they made, and refuse a step of the same name that another build has made', async () => {
      await migrate(database.sequelize)
      const [rows] = await database.sequelize.query('SELECT * FROM impersonation_steps')
      for (const row of rows as Record<string, unknown>[]) {
        expect(row.fingerprint).to.match(/^[0-9a-f]{64}$/)
        expect(row.older).to.equal('may run')
        expect(Number(row.finished_at)).to.be.within(NOW - 10, NOW + 600)
      }
      await database.sequelize.query(
        `UPDATE impersonation_steps SET fingerprint = 'other' WHERE name = '001-subject-tokens'`,
      )
      await refused('001-subject-tokens')
    })

    for (const [of, statements] of [
      ['without steps', ['CREATE TABLE subject_tokens (id INTEGER, token_hash INTEGER)']],
      ['with steps of their own', ['CREATE TABLE impersonation_migrations (name INTEGER)']],
    ] as const) {
      it(`refuse tables of another build, ${of}`, async () => {
        for (const sql of statements) await database.sequelize.query(sql)
        await refused('the tables of subject tokens')
      })
    }

    const refused = async (what: string, advice = 'dump and re-create') => {
      const { sequelize } = database
      for (const call of [() => migrate(sequelize), () => createSubjectTokenStore(sequelize).ready?.()]) {
        const error = await Promise.resolve(call()).catch((thrown: unknown) => thrown)
        expect(error).to.have.property('forOperators').that.includes(what).and.includes(advice)
      }
      const { faults } = await statusOf(sequelize)
      expect(faults).to.have.length(1)
      expect(faults[0]).to.include(what).and.include(advice)
    }

    it('tell what they wait for, once, and go on when it is over', async () => {
      const { promise: waited, resolve } = Promise.withResolvers<string>()
      const reasons: string[] = []
      const onWait = (reason: string) => {
        reasons.push(reason)
        resolve(reason)
      }
      let migrating: Promise<void> | undefined
      await whileHeld(database.connect(), async () => {
        migrating = migrate(database.sequelize, { onWait })
        await waited
      })
      await migrating
      expect(await done()).to.deep.equal(ALL)
      expect(reasons).to.have.length(1)
      expect(reasons[0]).to.match(/^waiting for another process, .* its lease ends in (2\d|30) s$/)
    })

    it('tell it to the log of Sequelize, unless told otherwise', async () => {
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
    })

    it('are found done by one that has waited for another', async () => {
      const { promise: waited, resolve } = Promise.withResolvers<void>()
      let migrating: Promise<void> | undefined
      const other = database.connect()
      await whileHeld(other, async () => {
        migrating = migrate(database.sequelize, { onWait: () => resolve() })
        await waited
        for (const step of ALL_STEPS) {
          const { dialect } = driverOf(other)
          for (const { sql } of statementsOf(dialect, step)) await dialect.schema.change(other, sql)
          await other.query(recordStep(dialect, step))
        }
        await migrating
      })
    })

    it('make an index anew that someone has dropped', async () => {
      await migrate(database.sequelize)
      const on = kind === 'mysql' ? ' ON subject_tokens' : ''
      await database.sequelize.query(`DROP INDEX subject_tokens_open${on}`)
      expect((await statusOf(database.sequelize)).faults).to.deep.equal([
        'the index subject_tokens_open is missing: run `oidc-impersonation migrate`',
      ])
      await migrate(database.sequelize)
      expect((await statusOf(database.sequelize)).faults).to.deep.equal([])
    })

    it('are asked for by name at the first request without tables, or without a column', async () => {
      const store = createSubjectTokenStore(database.sequelize)
      const failing = async () => {
        const error: unknown = await store.find('https://id.example.com', NONE).catch((thrown) => thrown)
        expect(error).to.be.an('error').with.property('message').that.includes('oidc-impersonation migrate')
        expect(error).to.have.property('forOperators').that.includes('oidc-impersonation migrate')
      }
      await failing()
      await migrate(database.sequelize)
      await database.sequelize.query('ALTER TABLE subject_token_uses RENAME COLUMN scope TO renamed')
      await failing()
    })

    it('are what a store needs to be ready, and every column of theirs', async () => {
      const store = createSubjectTokenStore(database.sequelize)
      const reason = async () => String(await store.ready?.().catch((error: unknown) => error))
      expect(await reason()).to.include('oidc-impersonation migrate')
      await migrate(database.sequelize)
      expect(await reason()).to.equal('undefined')
      await database.sequelize.query('ALTER TABLE subject_token_uses RENAME COLUMN scope TO renamed')
      expect(await reason()).to.include('the column subject_token_uses.scope is missing: add it as')
    })

    it('continue where a step was cut short', async () => {
      await beginFirstStep(4)
      await migrate(database.sequelize)
      expect(await done()).to.deep.equal(ALL)
    })

    it('upgrade a database with live tokens without losing one', async () => {
      await beginFirstStep()
      const store = createSubjectTokenStore(database.sequelize)
      const token = newToken()
      await store.insert(token)
      const refusal: unknown = await store.find(token.issuer, token.id).catch((error: unknown) => error)
      expect(refusal).to.have.property('forOperators').that.includes('oidc-impersonation migrate')
      await migrate(database.sequelize)
      const found = (await store.find(token.issuer, token.id)) ?? expect.fail('not found')
      expect(await store.consume(found, NOW, newUse())).to.equal(true)
      await createAdapter(database.sequelize)('Session').upsert('s', { jti: 's' }, 60)
    })
  })
})
