/** What operators learn of the tables, and that both ways to make them make the same. */
import { mock } from 'node:test'
import { expect } from 'chai'
import { QueryTypes, Sequelize } from 'sequelize'
import { DATABASES, type Database, openDatabase } from '../../fixtures/databases.ts'
import { whileHeld } from '../../fixtures/lease.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { newToken } from '../../fixtures/subject-tokens.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'
import { ddlOf } from '../../src/sequelize/schema/ddl.ts'
import { estimate } from '../../src/sequelize/schema/estimate.ts'
import { statusOf } from '../../src/sequelize/schema/status.ts'

const ALL = ['001-subject-tokens', '002-oidc-models', '003-sessions']
const TABLES = [
  ...['subject_tokens', 'subject_token_uses', 'subject_token_stops', 'subject_token_actors'],
  ...['subject_token_acknowledgements', 'impersonation_issuers', 'oidc_models'],
]

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
      expect(database.statements.filter((sql) => !/: (SELECT|SHOW) | WHERE 1 = 0$/.test(sql))).to.deep.equal(
        [],
      )
      expect(await statusOf(database.sequelize)).to.deep.include({ applied: ALL, pending: [], faults: [] })
      const last = printed.at(-1)
      if (kind === 'postgres')
        expect(last).to.equal(
          '-- Another role for end-unspent needs GRANT UPDATE ON SEQUENCE subject_tokens_number_seq too.',
        )
      else expect(last).to.match(/^INSERT [^\n]*;$/)
    })

    it('has a status before it is there', async () => {
      expect(await statusOf(database.sequelize)).to.deep.equal({
        applied: [],
        pending: ALL,
        unknown: [],
        tables: TABLES.map((name) => ({ name })),
        faults: [
          ...ALL.map((name) => `the step ${name} has not been applied: run \`oidc-impersonation migrate\``),
          ...[...TABLES.slice(0, 6), 'impersonation_steps', ...TABLES.slice(6)].map(
            (name) => `the table ${name} is missing: run \`oidc-impersonation migrate\``,
          ),
        ],
      })
    })

    it('has a status with the numbers of rows, the oldest, and steps of a later version', async () => {
      await migrate(database.sequelize)
      await query(`DELETE FROM impersonation_steps WHERE name = '${ALL[1]}'`)
      await query(
        `INSERT INTO impersonation_steps (name, fingerprint, older, finished_at)
          VALUES ('900-later', 'x', 'may run', 1)`,
      )
      const token = newToken()
      const store = createSubjectTokenStore(database.sequelize)
      for (const createdAt of [token.createdAt, token.createdAt - 9])
        await store.insert({ ...newToken(), createdAt })
      await createAdapter(database.sequelize)('Session').upsert('s', { jti: 's' }, 60)
      await query('UPDATE oidc_models SET written_at = 1700000000900000')
      expect(await statusOf(database.sequelize)).to.deep.equal({
        applied: [ALL[0], ALL[2]],
        pending: [ALL[1]],
        unknown: ['900-later'],
        tables: [
          { name: 'subject_tokens', rows: 2, oldest: token.createdAt - 9 },
          ...TABLES.slice(1, 5).map((name) => ({ name, rows: 0 })),
          { name: 'impersonation_issuers', rows: 1 },
          { name: 'oidc_models', rows: 1, oldest: 1_700_000_000 },
        ],
        faults: ['the step 002-oidc-models has not been applied: run `oidc-impersonation migrate`'],
      })
    })

    /** What `status` and a server that starts say of a change. */
    const saysOf = async (...changes: string[]) => {
      await migrate(database.sequelize)
      for (const sql of changes) await query(sql)
      const { faults } = await statusOf(database.sequelize)
      const refusal = await createSubjectTokenStore(database.sequelize)
        .ready?.()
        .catch((error: unknown) => error)
      expect(refusal).to.have.property('forOperators', faults.join('; '))
      const failure = await migrate(database.sequelize).catch((error: unknown) => error)
      const left = (await statusOf(database.sequelize)).faults
      if (left.length > 0) expect(failure).to.have.property('forOperators', left.join('; '))
      return { faults, left }
    }
    const RUN = 'run `oidc-impersonation migrate`'

    it('names a column that is missing, and what it is', async () => {
      const type = kind === 'mysql' ? 'INT' : 'INTEGER'
      const { faults, left } = await saysOf(
        'ALTER TABLE subject_token_uses RENAME COLUMN live TO gone',
        `DROP INDEX subject_token_uses_live${kind === 'mysql' ? ' ON subject_token_uses' : ''}`,
      )
      expect(faults[0]).to.equal(
        `the column subject_token_uses.live is missing: add it as ${type}, or dump and re-create`,
      )
      expect(faults[1]).to.equal(`the index subject_token_uses_live is missing: ${RUN}`)
      expect(left).to.deep.equal(faults)
    })

    if (kind !== 'sqlite')
      it('names a column of another type, and one that may or may not lack a value against the rules', async () => {
        const change = {
          postgres: [
            'DROP VIEW subject_token_records',
            'ALTER TABLE subject_token_stops ALTER COLUMN ends TYPE INTEGER',
            'ALTER TABLE subject_token_stops ALTER COLUMN number DROP NOT NULL',
            'ALTER TABLE subject_tokens ALTER COLUMN scope TYPE VARCHAR(64)',
          ],
          mysql: [
            'ALTER TABLE subject_token_stops MODIFY ends INT',
            'ALTER TABLE subject_token_stops MODIFY number BIGINT',
            'ALTER TABLE subject_tokens MODIFY scope VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
          ],
        }[kind]
        const [int, text, wide] = {
          postgres: ['INTEGER', 'VARCHAR(64)', 'TEXT'],
          mysql: [
            'INT',
            'VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
            'MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
          ],
        }[kind] as [string, string, string]
        expect((await saysOf(...change)).left).to.deep.equal([
          `the column subject_tokens.scope is ${text}, not ${wide}: change it, or dump and re-create`,
          'the column subject_token_stops.number is BIGINT, not BIGINT NOT NULL: change it, or dump and re-create',
          `the column subject_token_stops.ends is ${int}, not BIGINT: change it, or dump and re-create`,
        ])
      })

    it('names an index on other columns or rows', async () => {
      const name = 'subject_tokens_actor_id'
      const { left } = await saysOf(
        `DROP INDEX ${name}${kind === 'mysql' ? ' ON subject_tokens' : ''}`,
        `CREATE INDEX ${name} ON subject_tokens (issuer, id)`,
      )
      const rows = kind === 'mysql' ? '' : ' WHERE actor_id IS NOT NULL'
      expect(left).to.deep.equal([
        `the index ${name} is on (issuer, id), not on (actor_id, issuer, id)${rows}: drop it, and ${RUN}`,
      ])
    })

    if (kind !== 'sqlite')
      it('names a key that is missing', async () => {
        const { left } = await saysOf(
          kind === 'postgres'
            ? 'ALTER TABLE subject_token_uses DROP CONSTRAINT subject_token_uses_pkey'
            : 'ALTER TABLE subject_token_uses DROP PRIMARY KEY',
        )
        expect(left).to.deep.equal([
          'the key (issuer, token_id) of subject_token_uses is missing: add it, or dump and re-create',
        ])
      })

    it('has a table made anew that is missing', async () => {
      const { faults, left } = await saysOf('DROP TABLE subject_token_acknowledgements')
      expect(faults).to.deep.equal([`the table subject_token_acknowledgements is missing: ${RUN}`])
      expect(left).to.deep.equal([])
    })

    it('may have more than this version knows', async () => {
      await migrate(database.sequelize)
      await query('ALTER TABLE subject_tokens ADD COLUMN later BIGINT')
      await query('CREATE INDEX subject_tokens_later ON subject_tokens (later)')
      expect((await statusOf(database.sequelize)).faults).to.deep.equal([])
    })

    it('tells what a migration would do, and how long it may take', async () => {
      const all = await estimate(database.sequelize)
      expect(all).to.have.length(28)
      for (const one of all) expect(one).to.have.property('seconds', 0)
      expect(all.some(({ rows }) => rows !== undefined)).to.equal(false)
      await migrate(database.sequelize)
      expect(await estimate(database.sequelize)).to.deep.equal([])
      for (let count = 0; count < 3; count += 1)
        await createSubjectTokenStore(database.sequelize).insert(newToken())
      if (kind !== 'sqlite') await query(`ANALYZE ${kind === 'mysql' ? 'TABLE' : ''} subject_tokens`)
      await query(`DROP INDEX subject_tokens_open${kind === 'mysql' ? ' ON subject_tokens' : ''}`)
      const [one, ...others] = await estimate(database.sequelize)
      expect(others).to.deep.equal([])
      expect(one).to.deep.include({ step: '001-subject-tokens', rows: 3 })
      expect(one?.seconds).to.be.within(1e-6, 1e-4)
      if (kind !== 'sqlite') expect(one?.bytes).to.be.greaterThan(0)
      expect(one?.sql).to.match(
        {
          sqlite: /^CREATE INDEX IF/,
          postgres: /^CREATE INDEX CONCURRENTLY/,
          mysql: /^\/\*M! SET STATEMENT .*LOCK=NONE$/,
        }[kind],
      )
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
    await whileHeld(other, async () => {
      // As if one process after the other had died at it.
      await other.query('UPDATE impersonation_lease SET expires_at = expires_at + 600')
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
      'subject_token_actors_token_id ON subject_token_actors (issuer, token_id)',
      'subject_token_stops_replayed ON subject_token_stops (replayed, issuer, token_id) WHERE replayed IS NOT NULL',
      'subject_token_stops_stopped_at ON subject_token_stops (stopped_at, issuer)',
      'subject_token_uses_actor_id ON subject_token_uses (actor_id, issuer, token_id) WHERE actor_id IS NOT NULL',
      'subject_token_uses_client_id ON subject_token_uses (client_id, issuer, token_id) WHERE client_id IS NOT NULL',
      'subject_token_uses_live ON subject_token_uses (live, issuer) WHERE live IS NOT NULL',
      'subject_token_uses_session_due ON subject_token_uses (session_due, issuer) WHERE session_due IS NOT NULL',
      'subject_tokens_actor_id ON subject_tokens (actor_id, issuer, id) WHERE actor_id IS NOT NULL',
      'subject_tokens_client_id ON subject_tokens (client_id, issuer, id) WHERE client_id IS NOT NULL',
      'subject_tokens_created_by ON subject_tokens (created_by, issuer, id)',
      'subject_tokens_open ON subject_tokens (open, issuer)',
      'subject_tokens_ticket_id ON subject_tokens (ticket_id, issuer, id) WHERE ticket_id IS NOT NULL',
      'subject_tokens_user_id ON subject_tokens (user_id, issuer, id)',
    ])
  })
})
