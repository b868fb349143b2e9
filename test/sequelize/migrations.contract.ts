import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { driverOf } from '../../src/sequelize/database/drivers.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'
import { subjectTokens } from '../../src/sequelize/schema/001-subject-tokens.ts'
import { hashSecret, mintSecret } from '../../src/subject-tokens/secret.ts'

const CLI = path.resolve(import.meta.dirname, '../../src/cli/main.ts')

export function migrationContract(kind: DatabaseKind): void {
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
    })

    it('run when ten processes start at once', async () => {
      const run = promisify(execFile)
      const env = { ...process.env, DATABASE_URL: database.url }
      const outputs = await Promise.all(
        Array.from({ length: 10 }, () => run(process.execPath, ['--no-warnings', CLI, 'migrate'], { env })),
      )
      for (const { stdout, stderr } of outputs) {
        expect(stderr).to.equal('')
        expect(stdout).to.include('up to date')
      }
      expect(await done()).to.deep.equal(ALL)
    }).timeout(90_000)

    it('continue where a step was cut short', async () => {
      await subjectTokens.up(database.sequelize, driverOf(database.sequelize))
      await subjectTokens.up(database.sequelize, driverOf(database.sequelize))
      await migrate(database.sequelize)
      expect(await done()).to.deep.equal(ALL)
    })

    it('upgrade a database with live tokens without losing one', async () => {
      await subjectTokens.up(database.sequelize, driverOf(database.sequelize))
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
}
