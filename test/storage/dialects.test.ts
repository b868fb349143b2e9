/** Storage refuses unsupported databases and wrong options at start-up, not at the first request. */
import { inspect } from 'node:util'
import { expect } from 'chai'
import { Sequelize } from 'sequelize'
import { useDatabase } from '../../fixtures/on-database.ts'
import { postgresDialect } from '../../src/sequelize/database/postgres/dialect.ts'
import { createPostgres } from '../../src/sequelize/database/postgres/driver.ts'
import { insertInto } from '../../src/sequelize/database/standard.ts'
import { databaseOf, driverOf } from '../../src/sequelize/drivers.ts'
import {
  createAdapter,
  createSubjectTokenStore,
  migrate,
  nodeSqlite,
  purge,
} from '../../src/sequelize/index.ts'
import { ddlOf } from '../../src/sequelize/schema/status.ts'

/** Never connects. */
const postgres = () => new Sequelize('postgres://nobody@127.0.0.1:1/none', { logging: false })

const TIMEOUT = /option timeout must be whole seconds from 1 to 30/

/** What each function refuses as its options, and how. */
const REFUSED: readonly (readonly [of: (...given: never[]) => unknown, options: unknown, message: RegExp])[] =
  [
    ...[0, 31, 1.5, '10', null].flatMap((timeout) =>
      [createSubjectTokenStore, createAdapter].map((of) => [of, { timeout }, TIMEOUT] as const),
    ),
    [createSubjectTokenStore, { batch: false }, /unknown option: batch/],
    [createSubjectTokenStore, 0, /takes an options object/],
    ...[1, null, Buffer.from('one')].map(
      (namespace) => [createAdapter, { namespace }, /namespace must be a string/] as const,
    ),
    [createAdapter, { namespace: 'ü'.repeat(128) }, /namespace/],
    [createAdapter, { prefix: 'a' }, /unknown option: prefix/],
    [migrate, { onWait: 'log' }, /option onWait must be a function/],
    [migrate, { timeout: 1 }, /unknown option: timeout/],
    [migrate, 0, /takes an options object/],
    [purge, { days: 30 }, /^unknown option: days$/],
    ...[-1, 1.5, Number.NaN].map((retention) => [purge, { retention }, /retention must be/] as const),
  ]

describe('an option', () => {
  for (const [of, options, message] of REFUSED) {
    it(`of ${of.name} is not ${inspect(options)}`, async () => {
      const refusal = await (async () => Reflect.apply(of, undefined, [postgres(), options]))().catch(
        (error: unknown) => error,
      )
      expect(refusal).to.be.instanceOf(TypeError).with.property('message').that.matches(message)
    })
  }

  it('may be omitted', () => {
    for (const options of [undefined, {}, { timeout: undefined }, { timeout: 1 }, { timeout: 30 }])
      expect(createSubjectTokenStore(postgres(), options)).to.have.property('consume')
  })
})

describe('the time limit of a connection that is being made', () => {
  const madeWith = (dialectOptions?: object) => {
    const config = { dialectOptions }
    createPostgres(() => {}).beforeConnect?.(config)
    return config.dialectOptions
  }

  it('is 10 s on PostgreSQL, unless the host has chosen', () => {
    expect(madeWith()).to.deep.equal({ connectionTimeoutMillis: 10_000 })
    const own = { connectionTimeoutMillis: 0, lock_timeout: 5 }
    expect(madeWith(own)).to.deep.equal(own)
  })

  it('is given to every connection of a Sequelize that a store has, where the driver has one', async () => {
    for (const [dialect, expected] of [
      ['postgres', 10_000],
      ['mysql', undefined],
    ] as const) {
      const sequelize = new Sequelize(`${dialect}://nobody@127.0.0.1:1/none`, { logging: false })
      const store = createSubjectTokenStore(sequelize)
      const seen: unknown[] = []
      sequelize.addHook('beforeConnect', (config: { dialectOptions?: object }) => {
        seen.push(Reflect.get(Object(config.dialectOptions), 'connectionTimeoutMillis'))
        throw new Error('away')
      })
      const failed = await store
        .find('https://id.example.com', '0'.repeat(32))
        .catch((error: unknown) => error)
      expect(failed).to.be.an('error')
      expect(seen).to.deep.equal([expected])
    }
  })
})

describe('a row that is written', () => {
  const database = useDatabase('sqlite')
  before(async () => {
    await database.sequelize.query('CREATE TABLE host (id TEXT PRIMARY KEY, value TEXT, first TEXT)')
  })
  const ROW = { table: 'host', columns: ['id', 'value', 'first'] }

  it('by an insert fails where its key exists, and changes nothing', async () => {
    const bound = databaseOf(database.sequelize)
    const sql = insertInto(ROW)
    expect(await bound.write(sql, ['a', 'one', 'one'])).to.equal(1)
    const failed = await bound.write(sql, ['a', 'two', 'two']).catch((error: unknown) => error)
    expect(failed).to.have.property('code', 'SQLITE_CONSTRAINT')
    expect(await bound.find('SELECT * FROM host', [])).to.deep.equal([
      { id: 'a', value: 'one', first: 'one' },
    ])
  })

  // A server may refuse to assign a column twice, and an index is written again where its key is assigned.
  it('again has each column assigned once, and none of its key', () => {
    for (const dialect of [postgresDialect, driverOf(database.sequelize).dialect]) {
      const upsert = dialect.upsert({ ...ROW, key: ['id'], kept: ['first'] })
      const assigned = [...upsert.matchAll(/(\w+) = /g)].map(([, column]) => column)
      expect(assigned).to.deep.equal(['value', 'first'])
    }
  })

  it('is in no index of a column that it leaves out, in the tables of the plugin', async () => {
    // Not the copy of a file that another test has migrated.
    const sequelize = database.connect({ storage: ':memory:' })
    await migrate(sequelize)
    const partial = await databaseOf(sequelize).find(
      "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '% IS NOT NULL' ORDER BY name",
      [],
    )
    expect(partial.map(({ name }) => name)).to.deep.equal([
      'subject_token_stops_replayed',
      ...['actor_id', 'client_id', 'live', 'session_due'].map((column) => `subject_token_uses_${column}`),
      ...['actor_id', 'client_id', 'ticket_id'].map((column) => `subject_tokens_${column}`),
    ])
  })
})

describe('the dialect', () => {
  for (const [dialect, message] of [
    ['mariadb', /use dialect 'mysql' with the mysql2 package/],
    ['mssql', /dialect mssql is not supported/],
  ] as const) {
    it(`is not ${dialect}`, () => {
      const sequelize = Object.assign(postgres(), { getDialect: () => dialect })
      expect(() => createSubjectTokenStore(sequelize)).to.throw(TypeError, message)
      expect(() => createAdapter(sequelize)).to.throw(TypeError, message)
    })
  }

  it('is sqlite, postgres or mysql, whose SQL is printed without a connection', () => {
    const sqlite = new Sequelize({ dialect: 'sqlite', dialectModule: nodeSqlite, storage: ':memory:' })
    expect(ddlOf(sqlite)).to.include('AUTOINCREMENT')
    expect(ddlOf(postgres())).to.include('GENERATED ALWAYS AS IDENTITY')
    expect(ddlOf(new Sequelize('mysql://nobody@127.0.0.1:1/none'))).to.include('ENGINE = InnoDB')
  })

  it('is found in a Sequelize whose `define` is left undefined', () => {
    const sequelize = new Sequelize('postgres://nobody@127.0.0.1:1/none', {
      logging: false,
      define: undefined,
    })
    expect(createSubjectTokenStore(sequelize)).to.have.property('consume')
  })

  for (const [name, options] of [
    ['schema', { schema: 'impersonation' }],
    ['define.schema', { define: { schema: 'impersonation' } }],
    ['searchPath', { searchPath: 'impersonation' }],
  ] as const) {
    it(`is not used with Sequelize's option ${name}, which bound SQL would ignore`, async () => {
      const sequelize = new Sequelize('postgres://nobody@127.0.0.1:1/none', { logging: false, ...options })
      const message = new RegExp(`option ${name} of Sequelize is not supported`)
      expect(() => createSubjectTokenStore(sequelize)).to.throw(TypeError, message)
      expect(() => createAdapter(sequelize)).to.throw(TypeError, message)
      const refused = await migrate(sequelize).catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(TypeError).with.property('message').that.matches(message)
    })
  }

  it('is not used through pg-native', () => {
    const sequelize = postgres()
    Object.assign(Reflect.get(sequelize, 'options'), { native: true })
    expect(() => createSubjectTokenStore(sequelize)).to.throw(TypeError, /pg-native/)
    expect(() => createAdapter(sequelize)).to.throw(TypeError, /pg-native/)
  })
})
