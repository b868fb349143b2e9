/** What `impersonation.ready()` says to a readiness probe. */
import { mock } from 'node:test'
import { expect } from 'chai'
import { DATABASES, type Database, openDatabase } from '../fixtures/databases.ts'
import { withDeployment } from '../fixtures/deployment.ts'
import { beforeOn } from '../fixtures/on-database.ts'
import { createImpersonation } from '../src/index.ts'
import { createSubjectTokenStore, migrate } from '../src/sequelize/index.ts'
import type { SubjectTokenStore } from '../src/subject-tokens/store.ts'

const reasonOf = (asking: Promise<void>): Promise<unknown> =>
  asking.then(
    () => 'ready',
    (error: unknown) => (error instanceof Error ? error.message : error),
  )

for (const kind of DATABASES) {
  describe(`ready, on ${kind}`, () => {
    let database: Database
    beforeOn(kind)
    beforeEach(async () => {
      database = await openDatabase(kind, { migrated: false })
    })
    afterEach(() => database?.close())

    /** The reasons that a probe gets before and after `change`. */
    const around = async (change: () => Promise<unknown>): Promise<unknown[]> => {
      const reasons: unknown[] = []
      await withDeployment({ database }, async ({ impersonation }) => {
        reasons.push(await reasonOf(impersonation.ready()))
        await change()
        reasons.push(await reasonOf(impersonation.ready()))
      })
      return reasons
    }
    const query = (sql: string) => database.sequelize.query(sql)

    it('names the command while there are no tables, and resolves once they are there', async () => {
      const [before, after] = await around(() => migrate(database.sequelize))
      expect(before).to.include('run `oidc-impersonation migrate`')
      expect(after).to.equal('ready')
    })

    it('takes a database that a later version has migrated: steps only add', async () => {
      await migrate(database.sequelize)
      const [, after] = await around(async () => {
        await query(
          `INSERT INTO impersonation_steps VALUES ('900-later', 'of a later version', 'may run', 0)`,
        )
        await query('ALTER TABLE subject_tokens ADD COLUMN later BIGINT')
      })
      expect(after).to.equal('ready')
    })
  })
}

describe('ready', () => {
  it('is no before the provider is attached', async () => {
    const database = await openDatabase('sqlite')
    try {
      const impersonation = createImpersonation({ store: createSubjectTokenStore(database.sequelize) })
      const error = await impersonation.ready().catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(TypeError).with.property('message').that.includes('attach(provider)')
    } finally {
      await database.close()
    }
  })

  const without = (database: Database) => ({
    ...createSubjectTokenStore(database.sequelize),
    ready: undefined,
  })

  /** What a probe is told of a store whose `ready` is this one, and the ids that were read from it. */
  const askStore = async (ready: SubjectTokenStore['ready']): Promise<unknown[]> => {
    const database = await openDatabase('sqlite')
    const own = createSubjectTokenStore(database.sequelize)
    const read: string[] = []
    const find: SubjectTokenStore['find'] = (issuer, id) => {
      read.push(id)
      return own.find(issuer, id)
    }
    const told: unknown[] = []
    try {
      await withDeployment({ database, options: { store: { ...own, find, ready } } }, async (deployment) => {
        told.push(await reasonOf(deployment.impersonation.ready()))
      })
      return [...told, ...read]
    } finally {
      await database.close()
    }
  }

  it('is what the `ready` of a store says: nothing is read then', async () => {
    const refuses = async () => {
      throw new Error('not yet')
    }
    expect(await askStore(refuses)).to.deep.equal(['not yet'])
    expect(await askStore(async () => {})).to.deep.equal(['ready'])
  })

  it('is one read from a store without `ready`', async () => {
    expect(await askStore(undefined)).to.deep.equal(['ready', '0'.repeat(32)])
  })

  it('is no while that read fails', async () => {
    const database = await openDatabase('sqlite')
    try {
      await withDeployment({ database, options: { store: without(database) } }, async ({ impersonation }) => {
        expect(await reasonOf(impersonation.ready())).to.equal('ready')
        await database.sequelize.query('DROP TABLE subject_tokens')
        expect(await reasonOf(impersonation.ready())).to.include('run `oidc-impersonation migrate`')
      })
    } finally {
      await database.close()
    }
  })

  it('is no when the store has not responded after 5 s', async () => {
    const database = await openDatabase('sqlite')
    const store = { ...without(database), ready: () => new Promise<void>(() => {}) }
    try {
      await withDeployment({ database, options: { store } }, async ({ impersonation }) => {
        mock.timers.enable({ apis: ['setTimeout'] })
        try {
          const reason = reasonOf(impersonation.ready())
          mock.timers.tick(5000)
          expect(await reason).to.equal('the store did not respond within 5 s')
        } finally {
          mock.timers.reset()
        }
      })
    } finally {
      await database.close()
    }
  })
})
