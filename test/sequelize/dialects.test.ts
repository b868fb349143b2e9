/** Storage refuses unsupported databases and wrong options at start-up, not at the first request. */
import { expect } from 'chai'
import { Sequelize } from 'sequelize'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { postgresDialect } from '../../src/sequelize/database/postgres/dialect.ts'
import { createPostgres } from '../../src/sequelize/database/postgres/driver.ts'
import { databaseOf } from '../../src/sequelize/database-of.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
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

describe('an option of the store', () => {
  for (const [what, options, message] of [
    ['a timeout of 0', { timeout: 0 }, /option timeout must be whole seconds from 1 to 30/],
    ['a timeout of more than 30', { timeout: 31 }, /option timeout/],
    ['a timeout that is not whole', { timeout: 1.5 }, /option timeout/],
    ['a timeout that is not a number', { timeout: '10' }, /option timeout/],
    ['a timeout of null', { timeout: null }, /option timeout/],
    ['an unknown name', { batch: false }, /unknown option: batch/],
    ['anything but an object', 0, /takes an options object/],
  ] as const) {
    it(`is not ${what}`, () => {
      const create = () => Reflect.apply(createSubjectTokenStore, undefined, [postgres(), options])
      expect(create).to.throw(TypeError, message)
    })
  }

  it('may be omitted', () => {
    for (const options of [undefined, {}, { timeout: undefined }, { timeout: 1 }, { timeout: 30 }])
      expect(createSubjectTokenStore(postgres(), options)).to.have.property('consume')
  })
})

describe('an option of the adapter', () => {
  it('is no timeout outside of 1 to 30 whole seconds', () => {
    for (const timeout of [0, 31, 1.5, '10', null]) {
      const create = () => Reflect.apply(createAdapter, undefined, [postgres(), { timeout }])
      expect(create).to.throw(TypeError, /option timeout must be whole seconds from 1 to 30/)
    }
  })

  it('is no namespace that is no text, or does not fit into a key', () => {
    for (const namespace of [1, null, Buffer.from('one'), 'ü'.repeat(128)]) {
      const create = () => Reflect.apply(createAdapter, undefined, [postgres(), { namespace }])
      expect(create).to.throw(
        TypeError,
        typeof namespace === 'string' ? 'namespace' : 'namespace must be a string',
      )
    }
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
  let database: Database
  before(async () => {
    database = await openDatabase('sqlite')
    await database.sequelize.query('CREATE TABLE host (id TEXT PRIMARY KEY, value TEXT, first TEXT)')
  })
  after(() => database.close())
  const ROW = { table: 'host', columns: ['id', 'value', 'first'] }

  it('by an insert fails where its key exists, and changes nothing', async () => {
    const bound = databaseOf(database.sequelize)
    const sql = bound.dialect.insert(ROW)
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

describe('an option that is unknown', () => {
  it('is refused by the adapter and the purge, which names it', async () => {
    const adapter = () => Reflect.apply(createAdapter, undefined, [postgres(), { prefix: 'a' }])
    expect(adapter).to.throw(TypeError, 'unknown option: prefix')
    const error = await Reflect.apply(purge, undefined, [postgres(), { days: 30 }]).catch(
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(TypeError).with.property('message', 'unknown option: days')
  })
})

describe('an option of migrate', () => {
  for (const [what, options, message] of [
    ['a listener that is not a function', { onWait: 'log' }, /option onWait must be a function/],
    ['an unknown name', { timeout: 1 }, /unknown option: timeout/],
    ['anything but an object', 0, /takes an options object/],
  ] as const) {
    it(`is not ${what}`, async () => {
      const error = await Reflect.apply(migrate, undefined, [postgres(), options]).catch(
        (thrown: unknown) => thrown,
      )
      expect(error).to.be.instanceOf(TypeError).with.property('message').that.matches(message)
    })
  }
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
