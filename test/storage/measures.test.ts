/** What a store counts of its statements (`measures`), for metrics. */
import { expect } from 'chai'
import { onEachKind, useDatabase } from '../../fixtures/on-database.ts'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'

const ISSUER = 'https://id.example.com'
const NO_ONE = '0'.repeat(32)

onEachKind((kind) => {
  describe('measures of a store', () => {
    const database = useDatabase(kind, { each: true })

    it('count waits, and failures by their fate', async () => {
      const store = createSubjectTokenStore(database.sequelize)
      const measures = () => structuredClone(store.measures?.()) ?? expect.fail()
      await store.find(ISSUER, NO_ONE)
      const before = measures()
      await store.find(ISSUER, NO_ONE)
      const after = measures()
      expect(after.waits - before.waits).to.equal(1)
      expect(after.waited).to.be.greaterThan(before.waited)
      expect(after.waiting).to.equal(0)
      expect(after.failures).to.deep.equal(before.failures)

      await database.sequelize.query('DROP VIEW subject_token_records')
      await database.sequelize.query('DROP TABLE subject_tokens')
      await store.find(ISSUER, NO_ONE).catch(() => {})
      const failed = measures()
      const added = Object.entries(failed.failures).map(([fate, count]) => [
        fate,
        count - (after.failures[fate] ?? 0),
      ])
      // A driver that does not know the error says so.
      const [refused = 0, unknown = 0] = ['refused', 'unknown'].map((fate) => Object.fromEntries(added)[fate])
      expect(refused + unknown).to.be.greaterThan(0)
      expect(failed.waiting).to.equal(0)
    })

    it('are those of the adapter as well, on one Sequelize', async () => {
      const store = createSubjectTokenStore(database.sequelize)
      const before = store.measures?.().waits ?? Number.NaN
      await createAdapter(database.sequelize)('Session').find('no one')
      expect(store.measures?.().waits).to.be.greaterThan(before)
    })
  })
})
