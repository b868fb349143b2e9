/** Our own store and adapter keep the contracts that anyone can run, on every database. */
import { DATABASES, type Database, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { adapterContract, subjectTokenStoreContract } from '../../src/testing/index.ts'

/** Each call goes to the next one, as calls do that come from several processes. */
function inTurn<T extends object>(all: readonly T[]): T {
  let calls = 0
  return new Proxy(Object(all[0]), {
    get: (_, method) => {
      const next = Object(all[calls++ % all.length])
      return next[method].bind(next)
    },
  })
}

for (const kind of DATABASES) {
  describe(`on ${kind}, from three pools`, () => {
    let database: Database
    let pools: Database['sequelize'][]
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
      pools = [database.sequelize, database.connect(), database.connect()]
    })
    after(() => database?.close())

    subjectTokenStoreContract({
      describe,
      it,
      create: async () => ({ store: inTurn(pools.map((pool) => createSubjectTokenStore(pool))) }),
      createBroken: async () => {
        const pool = database.connect()
        await pool.close()
        return { store: createSubjectTokenStore(pool) }
      },
    })
    adapterContract({
      describe,
      it,
      create: async () => ({ adapter: (model) => inTurn(pools.map((pool) => createAdapter(pool)(model))) }),
    })
  })
}
