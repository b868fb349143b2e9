/** A SQLite file that someone else has locked is waited for, and the event loop goes on meanwhile. */
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { ISSUER } from '../../fixtures/cluster.ts'
import { useDatabase } from '../../fixtures/on-database.ts'
import { newToken } from '../../fixtures/subject-tokens.ts'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'

describe('a SQLite that a transaction of this process has locked', () => {
  const database = useDatabase('sqlite', { each: true })
  beforeEach(async () => {
    await database.sequelize.query('CREATE TABLE host (a INTEGER)')
  })

  /** Holds the lock while `meanwhile` is started, and lets go only in a later turn of the event loop. */
  const besideTransaction = async <Value>(meanwhile: () => Promise<Value>): Promise<Value> => {
    const { sequelize } = database
    const started: Promise<Value>[] = []
    await sequelize.transaction(async (transaction) => {
      await sequelize.query('INSERT INTO host VALUES (1)', { transaction })
      started.push(meanwhile())
      // Longer than SQLite itself waits for a lock.
      for (let step = 0; step < 40; step += 1) {
        await new Promise((resolve) => setTimeout(resolve, 5))
        await sequelize.query('INSERT INTO host VALUES (2)', { transaction })
      }
    })
    return started[0] as Promise<Value>
  }

  it("takes subject tokens, a model and a statement of the host's own when the transaction has ended", async () => {
    const { sequelize } = database
    const store = createSubjectTokenStore(sequelize)
    const adapter = createAdapter(sequelize)('Session')
    const tokens = [newToken(), newToken()]
    await besideTransaction(() =>
      Promise.all([
        ...tokens.map((token) => store.insert(token)),
        adapter.upsert('id', { jti: 'id' }, 60),
        sequelize.query('INSERT INTO host VALUES (3)'),
      ]),
    )
    for (const { id } of tokens) expect(await store.find(ISSUER, id)).to.have.property('id', id)
    expect(await adapter.find('id')).to.deep.equal({ jti: 'id' })
    const rows = await sequelize.query('SELECT DISTINCT a FROM host ORDER BY a', { type: QueryTypes.SELECT })
    expect(rows).to.deep.equal([1, 2, 3].map((a) => ({ a })))
  })

  it('is refused to a transaction that has read what another changed since', async () => {
    const { sequelize } = database
    const failed = sequelize.transaction(async (transaction) => {
      await sequelize.query('SELECT * FROM host', { transaction, type: QueryTypes.SELECT })
      await sequelize.query('INSERT INTO host VALUES (4)')
      await sequelize.query('INSERT INTO host VALUES (5)', { transaction })
    })
    const error: unknown = await failed.catch((thrown: unknown) => thrown)
    expect(String(error)).to.include('SQLITE_BUSY')
  })
})
