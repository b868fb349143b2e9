/** Storage refuses unsupported databases and wrong options at start-up, not at the first request. */
import { expect } from 'chai'
import { Sequelize } from 'sequelize'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'

/** Never connects. */
const postgres = () => new Sequelize('postgres://nobody@127.0.0.1:1/none', { logging: false })

describe('an option of the store', () => {
  for (const [what, options, message] of [
    ['a batch that is not a boolean', { batch: 'no' }, /option batch must be a boolean/],
    ['a batch of null', { batch: null }, /option batch must be a boolean/],
    ['an unknown name', { batches: false }, /unknown option: batches/],
    ['anything but an object', 0, /takes an options object/],
  ] as const) {
    it(`is not ${what}`, () => {
      const create = () => Reflect.apply(createSubjectTokenStore, undefined, [postgres(), options])
      expect(create).to.throw(TypeError, message)
    })
  }

  it('may be omitted', () => {
    for (const options of [undefined, {}, { batch: undefined }, { batch: true }])
      expect(createSubjectTokenStore(postgres(), options)).to.have.property('consume')
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

  it('is not used through pg-native', () => {
    const sequelize = postgres()
    Object.assign(Reflect.get(sequelize, 'options'), { native: true })
    expect(() => createSubjectTokenStore(sequelize)).to.throw(TypeError, /pg-native/)
    expect(() => createAdapter(sequelize)).to.throw(TypeError, /pg-native/)
  })
})
