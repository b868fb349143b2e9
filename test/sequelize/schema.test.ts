/** What operators learn of the tables, and that both ways to make them make the same. */
import { mock } from 'node:test'
import { expect } from 'chai'
import { QueryTypes, Sequelize } from 'sequelize'
import { DATABASES, type Database, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { newToken } from '../../fixtures/subject-tokens.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'
import { ddlOf } from '../../src/sequelize/schema/ddl.ts'
import { statusOf } from '../../src/sequelize/schema/status.ts'

const ALL = ['001-subject-tokens', '002-oidc-models']

for (const kind of DATABASES) {
  describe(`the schema on ${kind}`, () => {
    let database: Database
    beforeOn(kind)
    beforeEach(async () => {
      database = await openDatabase(kind, { migrated: false })
    })
    afterEach(() => database?.close())

    const query = (sql: string) => database.sequelize.query(sql)

    it('is made by the printed statements, after which migrate has nothing to do', async () => {
      const printed = ddlOf(database.sequelize).split(';\n')
      for (const sql of printed) await query(sql)
      database.statements.length = 0
      await migrate(database.sequelize)
      expect(database.statements).to.have.length(1)
      expect(await statusOf(database.sequelize)).to.deep.include({ applied: ALL, pending: [], unknown: [] })
      const last = printed.at(-1)
      if (kind === 'postgres')
        expect(last).to.equal(
          '-- The role of end-unspent needs GRANT UPDATE ON SEQUENCE subject_tokens_status_index_seq too.',
        )
      else expect(last).to.match(/^INSERT [^\n]*;$/)
    })

    it('has a status before it is there', async () => {
      expect(await statusOf(database.sequelize)).to.deep.equal({
        applied: [],
        pending: ALL,
        unknown: [],
        tables: [{ name: 'subject_tokens' }, { name: 'subject_token_actors' }, { name: 'oidc_models' }],
      })
    })

    it('has a status with the numbers of rows, the oldest, and steps of a later version', async () => {
      await migrate(database.sequelize)
      await query(`DELETE FROM impersonation_migrations WHERE name = '${ALL[1]}'`)
      await query(`INSERT INTO impersonation_migrations (name) VALUES ('900-later')`)
      const token = newToken()
      const store = createSubjectTokenStore(database.sequelize)
      for (const createdAt of [token.createdAt, token.createdAt - 9])
        await store.insert({ ...newToken(), createdAt })
      await createAdapter(database.sequelize)('Session').upsert('s', { jti: 's' }, 60)
      await query('UPDATE oidc_models SET written_at = 1700000000900000')
      expect(await statusOf(database.sequelize)).to.deep.equal({
        applied: [ALL[0]],
        pending: [ALL[1]],
        unknown: ['900-later'],
        tables: [
          { name: 'subject_tokens', rows: 2, oldest: token.createdAt - 9 },
          { name: 'subject_token_actors', rows: 0 },
          { name: 'oidc_models', rows: 1, oldest: 1_700_000_000 },
        ],
      })
    })
  })
}

describe('the schema', () => {
  let database: Database
  beforeEach(async () => {
    database = await openDatabase('sqlite', { migrated: false })
  })
  afterEach(() => database.close())

  it('is not said to be missing where the database does not answer', async () => {
    const sequelize = new Sequelize('postgres://nobody@127.0.0.1:1/none', { logging: false })
    const store = createSubjectTokenStore(sequelize)
    for (const ask of [() => statusOf(sequelize), () => store.ready?.(), () => migrate(sequelize)]) {
      const failure = await Promise.resolve(ask()).catch((error: unknown) => error)
      expect(failure).to.be.an('error').with.property('message').that.includes('ECONNREFUSED')
    }
  })

  it('is given up when other processes have been making it for 120 s', async () => {
    const other = database.connect()
    let refused: unknown
    await driverOf(other).dialect.exclusively(other, { patience: 10, onWait: () => {} }, async () => {
      // As if one process after the other had died at it.
      await other.query('UPDATE impersonation_migration_lease SET expires_at = expires_at + 600000')
      mock.timers.enable({ apis: ['Date'], now: Date.now() })
      try {
        const onWait = () => mock.timers.tick(121_000)
        refused = await migrate(database.sequelize, { onWait }).catch((error: unknown) => error)
      } finally {
        mock.timers.reset()
      }
    })
    expect(refused)
      .to.be.an('error')
      .with.property('message', 'another process has been migrating for more than 120 s')
    expect(await statusOf(database.sequelize)).to.deep.include({ applied: [] })
  })

  // Databases of earlier releases have them, and statements name some: a later step may add others.
  it('has these indexes, of which some leave out the rows without a value', async () => {
    await migrate(database.sequelize)
    const found = await database.sequelize.query<{ sql: string }>(
      `SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`,
      { type: QueryTypes.SELECT },
    )
    expect(found.map(({ sql }) => sql.replace('CREATE INDEX ', ''))).to.deep.equal([
      'oidc_models_expires_at ON oidc_models (expires_at)',
      'oidc_models_grant_id ON oidc_models (grant_id)',
      'oidc_models_uid ON oidc_models (uid)',
      'oidc_models_user_code ON oidc_models (user_code)',
      'subject_token_actors_expires_at ON subject_token_actors (expires_at)',
      'subject_tokens_access_token_expires_at ON subject_tokens (issuer, access_token_expires_at, id) WHERE access_token_expires_at IS NOT NULL',
      'subject_tokens_actor_id ON subject_tokens (actor_id, issuer, id) WHERE actor_id IS NOT NULL',
      'subject_tokens_client_id ON subject_tokens (client_id, issuer, id) WHERE client_id IS NOT NULL',
      'subject_tokens_consumed_by ON subject_tokens (consumed_by, issuer, id) WHERE consumed_by IS NOT NULL',
      'subject_tokens_created_by ON subject_tokens (created_by, issuer, id)',
      'subject_tokens_issuer ON subject_tokens (issuer, id)',
      'subject_tokens_replayed ON subject_tokens (replayed, issuer, id) WHERE replayed IS NOT NULL',
      'subject_tokens_revoked_at ON subject_tokens (issuer, revoked_at, stopped_index, access_token_expires_at) WHERE stopped_index IS NOT NULL',
      'subject_tokens_used_actor_id ON subject_tokens (used_actor_id, issuer, id) WHERE used_actor_id IS NOT NULL',
      'subject_tokens_user_id ON subject_tokens (user_id, issuer, id)',
      'subject_tokens_without_actor ON subject_tokens (without_actor, issuer, id) WHERE without_actor IS NOT NULL',
    ])
  })
})
