/** Our own store and adapter keep the contracts that anyone can run, on every database. */
import { DATABASES, type Database, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { adapterContract, subjectTokenStoreContract } from '../../src/testing/index.ts'

for (const kind of DATABASES) {
  describe(`on ${kind}`, () => {
    let database: Database
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
    })
    after(() => database?.close())
    subjectTokenStoreContract({
      describe,
      it,
      create: async () => ({ store: createSubjectTokenStore(database.sequelize) }),
    })
    adapterContract({ describe, it, create: async () => ({ adapter: createAdapter(database.sequelize) }) })
  })
}
