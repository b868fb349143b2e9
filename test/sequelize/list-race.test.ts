/** A list of two statements, and tokens that are issued between them. */
import { expect } from 'chai'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { BY_API, NOW, newToken } from '../../fixtures/subject-tokens.ts'
import { databaseOf } from '../../src/sequelize/database-of.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { listStatements } from '../../src/sequelize/subject-token-list.ts'

const ISSUER = newToken().issuer

describe('a list that reads a bounded number of rows', () => {
  let database: Database
  before(async () => {
    database = await openDatabase('sqlite')
  })
  after(() => database.close())

  it('shows every row that it says it has read, though others are issued meanwhile', async () => {
    const store = createSubjectTokenStore(database.sequelize)
    const first = newToken()
    await store.insert(first)
    await store.revoke(ISSUER, first.id, NOW, BY_API)
    const insert = (count: number) =>
      Promise.all(Array.from({ length: count }, () => store.insert(newToken())))
    await insert(999)

    const { find, dialect } = databaseOf(database.sequelize)
    const page = { limit: 100, now: NOW }
    const { end, rows } = listStatements({ dialect, issuer: ISSUER, filter: { state: 'revoked' }, page })
    const [last] = await find(end?.sql ?? '', end?.bind ?? [])
    expect(last?.found).to.equal(first.id)
    await insert(50)
    const { sql, bind } = rows(String(last?.found))
    expect((await find(sql, bind)).map(({ id }) => id)).to.deep.equal([first.id])
  })
})
