/** What operators learn of the tables, and that both ways to make them make the same. */
import { mock } from 'node:test'
import { expect } from 'chai'
import { Sequelize } from 'sequelize'
import { DATABASES, openDatabase } from '../../fixtures/databases.ts'
import { whileHeld } from '../../fixtures/lease.ts'
import { useDatabase } from '../../fixtures/on-database.ts'
import { newToken } from '../../fixtures/subject-tokens.ts'
import { mysqlDialect } from '../../src/sequelize/database/mysql/dialect.ts'
import { postgresDialect } from '../../src/sequelize/database/postgres/dialect.ts'
import { sqliteDialect } from '../../src/sequelize/database/sqlite/dialect.ts'
import { databaseOf } from '../../src/sequelize/drivers.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'
import { faultsOfShape, readCatalogue, THIS_VERSION } from '../../src/sequelize/schema/sound.ts'
import { ddlOf, estimate, statusOf } from '../../src/sequelize/schema/status.ts'
import { partsOf } from '../../src/sequelize/schema/steps.ts'

const ALL = ['001-subject-tokens', '002-oidc-models', '003-sessions', '004-read-only']
const TABLES = [
  ...['subject_tokens', 'subject_token_uses', 'subject_token_stops', 'subject_token_actors'],
  ...['subject_token_acknowledgements', 'impersonation_issuers', 'oidc_models'],
]
const RUN = 'run `oidc-impersonation migrate`'
const RECREATE = 'dump and re-create'

for (const [kind, dialect] of [
  ['sqlite', sqliteDialect],
  ['postgres', postgresDialect],
  ['mysql', mysqlDialect],
] as const) {
  describe(`a catalogue of ${kind}`, () => {
    const { tables } = THIS_VERSION
    const sound = new Map(
      tables.flatMap((table) => partsOf(dialect, table).map(({ name, shape }) => [name, shape])),
    )
    const without = (name: string, ...others: [string, string][]) => {
      const found = new Map([...[...sound].filter(([other]) => other !== name), ...others])
      return faultsOfShape(dialect, found, tables)
    }

    it('with every part has no fault, and with more than this version knows none either', () => {
      expect(without('', ['column subject_tokens.later', 'BIGINT'], ['table later', ''])).to.deep.equal([])
      expect(sound.size).to.be.greaterThan(100)
    })

    /** By what a part is: what is said where it is missing, and where it is something else. */
    const sentences: Record<string, (shape: string) => readonly [missing: string, other?: string]> = {
      table: () => [RUN],
      column: (shape) => [`add it as ${shape}, or ${RECREATE}`, `not ${shape}: change it, or ${RECREATE}`],
      key: () => [`add it, or ${RECREATE}`],
      index: (shape) => [RUN, `not ${shape}: drop it, and ${RUN}`],
    }

    it('without a part, or with another one, has one fault, which names it and what to do', () => {
      for (const [name, shape] of sound) {
        const [missing, other] = sentences[name.replace(/ .*/, '')]?.(shape) ?? expect.fail(name)
        expect(without(name)).to.deep.equal([`the ${name} is missing: ${missing}`])
        if (other !== undefined)
          expect(without(name, [name, 'OTHER'])).to.deep.equal([`the ${name} is OTHER, ${other}`])
      }
    })

    it('with an index that was not finished says so', () => {
      for (const name of [...sound.keys()].filter((part) => part.startsWith('index')))
        for (const what of ['was not finished', 'is being made'])
          expect(without(name, [name, `invalid, because it ${what}`])).to.deep.equal([
            `the ${name} is invalid, because it ${what}: ${RUN}`,
          ])
    })
  })
}

for (const kind of DATABASES) {
  describe(`the schema on ${kind}`, () => {
    const database = useDatabase(kind, { each: true, migrated: false })

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

    it('is in the catalogue as it is described', async () => {
      await migrate(database.sequelize)
      const bound = databaseOf(database.sequelize)
      const found = await readCatalogue(
        bound,
        THIS_VERSION.tables.map(({ name }) => name),
      )
      const parts = THIS_VERSION.tables.flatMap((table) => partsOf(bound.dialect, table))
      expect(Object.fromEntries(parts.map(({ name }) => [name, found.get(name)]))).to.deep.equal(
        Object.fromEntries(parts.map(({ name, shape }) => [name, shape])),
      )
    })

    it('has a status before it is there', async () => {
      expect(await statusOf(database.sequelize)).to.deep.equal({
        applied: [],
        pending: ALL,
        unknown: [],
        tables: TABLES.map((name) => ({ name })),
        faults: [
          ...ALL.map((name) => `the step ${name} has not been applied: ${RUN}`),
          ...[...TABLES.slice(0, 6), 'impersonation_steps', ...TABLES.slice(6)].map(
            (name) => `the table ${name} is missing: ${RUN}`,
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
        applied: [ALL[0], ...ALL.slice(2)],
        pending: [ALL[1]],
        unknown: ['900-later'],
        tables: [
          { name: 'subject_tokens', rows: 2, oldest: token.createdAt - 9 },
          ...TABLES.slice(1, 5).map((name) => ({ name, rows: 0 })),
          { name: 'impersonation_issuers', rows: 1 },
          { name: 'oidc_models', rows: 1, oldest: 1_700_000_000 },
        ],
        faults: [`the step 002-oidc-models has not been applied: ${RUN}`],
      })
    })

    it('tells what a migration would do, and how long it may take', async () => {
      const all = await estimate(database.sequelize)
      expect(all).to.have.length(29)
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
  it('is not said to be missing where the database does not answer', async () => {
    const sequelize = new Sequelize('postgres://nobody@127.0.0.1:1/none', { logging: false })
    const store = createSubjectTokenStore(sequelize)
    for (const ask of [() => statusOf(sequelize), () => store.ready?.(), () => migrate(sequelize)]) {
      const failure = await Promise.resolve(ask()).catch((error: unknown) => error)
      expect(failure).to.be.an('error').with.property('message').that.includes('ECONNREFUSED')
    }
  })

  it('is given up when other processes have been making it for 120 s', async () => {
    const database = await openDatabase('sqlite', { migrated: false })
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
    await database.close()
  })
})
