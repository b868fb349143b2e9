/** A list of two statements, and tokens that are issued between them. */
import { expect } from 'chai'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { NOW, newToken } from '../../fixtures/subject-tokens.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const ISSUER = newToken().issuer

describe('a list that reads a bounded number of rows', () => {
  let database: Database
  before(async () => {
    database = await openDatabase('sqlite')
  })
  after(() => database.close())

  it('shows every row that it says it has read, though others are issued meanwhile', async () => {
    const store = createSubjectTokenStore(database.sequelize)
    const first = newToken({ clientId: 'web' })
    await store.insert(first)
    const insert = (count: number) =>
      Promise.all(Array.from({ length: count }, () => store.insert(newToken())))
    await insert(999)

    const driver = driverOf(database.sequelize)
    const { run } = driver
    driver.run = async (connection, text, bindings) => {
      const results = await run(connection, text, bindings)
      driver.run = run
      // Between the statement that finds where to stop, and the one that reads.
      await insert(50)
      return results
    }
    const filter = { createdBy: 'backend', clientId: 'web' }
    const { tokens, next } = await store.list(ISSUER, filter, { limit: 100, now: NOW })
    expect([tokens.map(({ id }) => id), next]).to.deep.equal([[first.id], first.id])
  })
})
