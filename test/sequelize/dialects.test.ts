/** What the storage is not written for, it refuses at start-up and not at the first request. */
import { expect } from 'chai'
import { Sequelize } from 'sequelize'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'

/** Never connects. */
const postgres = () => new Sequelize('postgres://nobody@127.0.0.1:1/none', { logging: false })

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

  it('is not spoken through pg-native', () => {
    const sequelize = postgres()
    Object.assign(Reflect.get(sequelize, 'options'), { native: true })
    expect(() => createSubjectTokenStore(sequelize)).to.throw(TypeError, /pg-native/)
    expect(() => createAdapter(sequelize)).to.throw(TypeError, /pg-native/)
  })
})
