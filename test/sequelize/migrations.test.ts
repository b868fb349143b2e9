import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { stopClock } from '../../fixtures/clock.ts'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { onEachKind } from '../../fixtures/on-database.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'
import { subjectTokens } from '../../src/sequelize/schema/001-subject-tokens.ts'
import { MIGRATIONS } from '../../src/sequelize/schema/migrations.ts'
import { hashSecret, mintSecret } from '../../src/subject-tokens/secret.ts'

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
        'SELECT name FROM impersonation_migrations ORDER BY name',
        { type: QueryTypes.SELECT },
      )
      return rows.map(({ name }) => name)
    }
    /** As a process that ended before it could record the step. */
    const beginFirstStep = async (statements?: number) => {
      for (const sql of subjectTokens.statements(driverOf(database.sequelize).dialect).slice(0, statements))
        await database.sequelize.query(sql)
    }
    const ALL = ['001-subject-tokens', '002-oidc-models']

    it('run once, and again without harm', async () => {
      await migrate(database.sequelize)
      await migrate(database.sequelize)
      expect(await done()).to.deep.equal(ALL)
    })

    it('run when one process calls them more often than it has connections', async () => {
      const pool = database.connect({ pool: { max: 2, acquire: 5000 } })
      await Promise.all(Array.from({ length: 6 }, () => migrate(pool)))
      expect(await done()).to.deep.equal(ALL)
      const begun = database.statements.filter((sql) => sql.includes('EXISTS impersonation_migrations'))
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

    it('only read a database that is up to date, so that no right to change it is needed', async () => {
      await migrate(database.sequelize)
      database.statements.length = 0
      await migrate(database.connect({ pool: { max: 1, acquire: 3000 } }))
      expect(database.statements).to.deep.equal([
        'Executing (default): SELECT name FROM impersonation_migrations ORDER BY name',
      ])
    })

    it('are harmless when every statement of theirs runs again', async () => {
      const { dialect } = driverOf(database.sequelize)
      const wait = { patience: 10, onWait: () => {} }
      await migrate(database.sequelize)
      await dialect.exclusively(database.sequelize, wait, async (execute) => {
        for (const { statements } of MIGRATIONS) {
          for (const sql of statements(dialect)) {
            await execute(sql)
            // As MySQL reads it, which has no such thing.
            await execute(sql.replace('/*M! IF NOT EXISTS */', ''))
          }
        }
      })
    })

    it('refuse a database that a later version has migrated, by name, while what runs goes on', async () => {
      await migrate(database.sequelize)
      await database.sequelize.query(
        `INSERT INTO impersonation_migrations (name) VALUES ('900-later'), ('901-latest')`,
      )
      const error = await migrate(database.sequelize).catch((thrown: unknown) => thrown)
      expect(error).to.be.an('error').with.property('message').that.includes('900-later, 901-latest')
      expect(
        await createSubjectTokenStore(database.sequelize).get('https://id.example.com', 'none'),
      ).to.equal(undefined)
    })

    it('tell what they wait for, once, and go on when it is over', async () => {
      const other = database.connect()
      const { promise: waited, resolve } = Promise.withResolvers<string>()
      const reasons: string[] = []
      const onWait = (reason: string) => {
        reasons.push(reason)
        resolve(reason)
      }
      let migrating: Promise<void> | undefined
      await driverOf(other).dialect.exclusively(other, { patience: 10, onWait }, async () => {
        migrating = migrate(database.sequelize, { onWait })
        await waited
      })
      await migrating
      expect(await done()).to.deep.equal(ALL)
      expect(reasons).to.have.length(1)
      expect(reasons[0]).to.include('waiting for another process')
      if (kind === 'sqlite') expect(reasons[0]).to.match(/lease ends in (2\d|30) s$/)
    })

    it('tell it to the log of Sequelize, unless told otherwise', async () => {
      const { promise: waited, resolve } = Promise.withResolvers<void>()
      const logging = (line: string) => {
        if (line.startsWith('waiting for another process')) resolve()
      }
      let migrating: Promise<void> | undefined
      const wait = { patience: 10, onWait: () => {} }
      await driverOf(database.sequelize).dialect.exclusively(database.sequelize, wait, async () => {
        migrating = migrate(database.connect({ logging }))
        await waited
      })
      await migrating
    })

    it('give up, and say why, when another process takes too long', async () => {
      const other = database.connect()
      const wait = { patience: 0, onWait: () => {} }
      await driverOf(other).dialect.exclusively(other, { ...wait, patience: 10 }, async () => {
        const { sequelize } = database
        const late = driverOf(sequelize).dialect.exclusively(
          sequelize,
          { ...wait, patience: 1 },
          async () => {},
        )
        expect(await late).to.equal(false)
      })
    })

    if (kind === 'sqlite') {
      it('wait for as long as they may, tell it once, and then give up', async () => {
        const attempts: (() => void)[] = []
        const logging = (sql: string) => void (sql.includes('INSERT INTO') && attempts.shift()?.())
        const [other, late] = [database.connect(), database.connect({ logging })]
        const attempt = () => new Promise<void>((resolve) => attempts.push(resolve))
        const clock = stopClock()
        try {
          const wait = { patience: 1, onWait: () => {} }
          await driverOf(other).dialect.exclusively(other, wait, async () => {
            const reasons: string[] = []
            let outcome: boolean | undefined
            const onWait = (reason: string) => reasons.push(reason)
            const waiting = driverOf(late)
              .dialect.exclusively(late, { patience: 1, onWait }, async () => {})
              .then((done) => {
                outcome = done
              })
            await attempt()
            clock.tick(1)
            for (let seen = 0; seen < 3; seen += 1) await Promise.race([attempt(), waiting])
            expect(outcome).to.equal(undefined)
            clock.tick(1)
            await waiting
            expect(outcome).to.equal(false)
            expect(reasons).to.have.length(1)
          })
        } finally {
          clock.restore()
        }
      })

      it('begin when who held them has just ended', async () => {
        const [other, late] = [database.connect(), database.connect()]
        const reasons: string[] = []
        const wait = { patience: 10, onWait: (reason: string) => reasons.push(reason) }
        await driverOf(other).dialect.exclusively(other, wait, async () => {
          late.addHook('beforeQuery', async ({ type }: { type?: string }) => {
            if (type === QueryTypes.SELECT) await other.query('DELETE FROM impersonation_migration_lease')
          })
          expect(await driverOf(late).dialect.exclusively(late, wait, async () => {})).to.equal(true)
        })
        expect(reasons.map((reason) => reason.slice(-18))).to.deep.equal(['lease ends in 0 s'.padStart(18)])
      })
    }

    it('are asked for by name at the first request without tables, or without a column', async () => {
      const store = createSubjectTokenStore(database.sequelize)
      const failing = async () => {
        const error: unknown = await store.get('https://id.example.com', 'none').catch((thrown) => thrown)
        expect(error).to.be.an('error').with.property('message').that.includes('oidc-impersonation migrate')
        expect(error).to.have.property('forOperators').that.includes('oidc-impersonation migrate')
      }
      await failing()
      await migrate(database.sequelize)
      await database.sequelize.query('ALTER TABLE subject_tokens RENAME COLUMN used_scope TO renamed')
      await failing()
    })

    it('are what a store needs to be ready, and every column of theirs', async () => {
      const store = createSubjectTokenStore(database.sequelize)
      const reason = async () => String(await store.ready?.().catch((error: unknown) => error))
      expect(await reason()).to.include('oidc-impersonation migrate')
      await migrate(database.sequelize)
      expect(await reason()).to.equal('undefined')
      await database.sequelize.query('ALTER TABLE subject_tokens RENAME COLUMN used_scope TO renamed')
      expect(await reason()).to.include('oidc-impersonation migrate')
    })

    it('continue where a step was cut short', async () => {
      await beginFirstStep(4)
      await migrate(database.sequelize)
      expect(await done()).to.deep.equal(ALL)
    })

    it('upgrade a database with live tokens without losing one', async () => {
      await beginFirstStep()
      const store = createSubjectTokenStore(database.sequelize)
      const tokenHash = hashSecret(mintSecret())
      const now = Math.floor(Date.now() / 1000)
      await store.insert({
        id: 'live',
        tokenHash,
        issuer: 'https://id.example.com',
        userId: 'alice',
        context: { reason: 'ü' },
        createdBy: 'backend',
        createdAt: now,
        expiresAt: now + 600,
      })
      await migrate(database.sequelize)
      const use = {
        at: now,
        clientId: 'spa',
        resource: 'https://api.example.com',
        accessToken: { format: 'jwt', expiresAt: now + 1 } as const,
      }
      expect(await store.consume('https://id.example.com', tokenHash, now, use)).to.equal(true)
      await createAdapter(database.sequelize)('Session').upsert('s', { jti: 's' }, 60)
    })
  })
})
