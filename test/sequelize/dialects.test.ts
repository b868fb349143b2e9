/** What the storage is not written for, or given by mistake, it refuses at start-up and not at the first request. */
import { expect } from 'chai'
import { Sequelize } from 'sequelize'
import { createAdapter, createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'

/** Never connects. */
const postgres = () => new Sequelize('postgres://nobody@127.0.0.1:1/none', { logging: false })

describe('an option of the store', () => {
  for (const [what, options, message] of [
    ['a batch that is no boolean', { batch: 'no' }, /option batch must be a boolean/],
    ['a batch of null', { batch: null }, /option batch must be a boolean/],
    ['a name that none has', { batches: false }, /unknown option: batches/],
    ['what is no object', 0, /takes an options object/],
  ] as const) {
    it(`is not ${what}`, () => {
      const create = () => Reflect.apply(createSubjectTokenStore, undefined, [postgres(), options])
      expect(create).to.throw(TypeError, message)
    })
  }

  it('may be left out', () => {
    for (const options of [undefined, {}, { batch: undefined }, { batch: true }])
      expect(createSubjectTokenStore(postgres(), options)).to.have.property('consume')
  })
})

describe('an option of migrate', () => {
  for (const [what, options, message] of [
    ['a listener that is no function', { onWait: 'log' }, /option onWait must be a function/],
    ['a name that none has', { timeout: 1 }, /unknown option: timeout/],
    ['what is no object', 0, /takes an options object/],
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

  it('is not spoken through pg-native', () => {
    const sequelize = postgres()
    Object.assign(Reflect.get(sequelize, 'options'), { native: true })
    expect(() => createSubjectTokenStore(sequelize)).to.throw(TypeError, /pg-native/)
    expect(() => createAdapter(sequelize)).to.throw(TypeError, /pg-native/)
  })
})
