/** Behind poolers, as Debian 12 has them: a PgBouncer in transaction mode keeps no prepared statements, pgpool-II does. */
import { expect } from 'chai'
import type { Options, Sequelize } from 'sequelize'
import { ISSUER } from '../../../fixtures/cluster.ts'
import { type Database, isAvailable, openDatabase } from '../../../fixtures/databases.ts'
import { startPgbouncer } from '../../../fixtures/pgbouncer.ts'
import type { OwnServer } from '../../../fixtures/server-process.ts'
import { NOW, newToken, newUse } from '../../../fixtures/subject-tokens.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../../src/sequelize/index.ts'
import { startPgpool } from './pgpool.ts'

const USE = newUse()

interface Pooler {
  readonly name: string
  readonly start: (postgresUrl: string) => Promise<OwnServer | undefined>
  /** How often a pool says that it goes on without prepared statements. */
  readonly told: number
}
const POOLERS: readonly Pooler[] = [
  { name: 'a PgBouncer in transaction mode', start: startPgbouncer, told: 1 },
  { name: 'a pgpool-II', start: startPgpool, told: 0 },
]

for (const { name, start, told } of POOLERS) {
  describe(`behind ${name}`, () => {
    let database: Database
    let pooler: OwnServer | undefined
    before(async function () {
      if (!(await isAvailable('postgres'))) this.skip()
      database = await openDatabase('postgres', { migrated: false })
      pooler = await start(database.url)
      if (!pooler) this.skip()
    })
    after(async () => {
      // First, because it holds connections to the database.
      await pooler?.stop()
      await database?.close()
    })

    const connect = (options: Options = {}): Sequelize => {
      const { port } = new URL(pooler?.url ?? '')
      return database.connect({ port: Number(port), ...options })
    }

    /** As many uses of as many tokens at once, each by another of these processes. */
    const raceEach = async (pools: readonly Sequelize[]) => {
      const stores = pools.map((pool) => createSubjectTokenStore(pool))
      const races = pools.map(async (_, index) => {
        const token = newToken()
        await stores[index]?.insert(token)
        const uses = stores.map(async (store) => {
          expect(await store.find(ISSUER, token.id)).to.have.property('id', token.id)
          return store.consume(token, NOW, USE)
        })
        expect((await Promise.all(uses)).filter(Boolean)).to.have.length(1)
      })
      await Promise.all(races)
    }

    it('migrates, and spends every token once, whichever connection of the server a process is given', async () => {
      const logs: string[][] = []
      const pools = Array.from({ length: 8 }, () => {
        const log: string[] = []
        logs.push(log)
        return connect({ logging: (text) => void log.push(text) })
      })
      await Promise.all(pools.slice(0, 2).map((pool) => migrate(pool)))
      for (let round = 0; round < 20; round += 1) await raceEach(pools)
      const lines = logs.map((log) => log.filter((text) => text.includes('PgBouncer')).length)
      expect(Math.max(...lines)).to.equal(told)
    })

    it('stores the models of the provider', async () => {
      const pools = Array.from({ length: 8 }, () => connect())
      const adapters = pools.map((pool) => createAdapter(pool)('Session'))
      for (let round = 0; round < 10; round += 1) {
        const ids = adapters.map((_, index) => `session-${round}-${index}`)
        await Promise.all(ids.map((id, index) => adapters[index]?.upsert(id, { jti: id }, 60)))
        const found = await Promise.all(ids.map((id, index) => adapters[(index + 1) % 8]?.find(id)))
        expect(found.map((payload) => payload?.jti)).to.deep.equal(ids)
      }
    })

    // The processes of a pgpool-II outlive one that is killed.
    if (start === startPgbouncer)
      it('goes on when it was started anew', async () => {
        const pools = Array.from({ length: 8 }, () => connect())
        await raceEach(pools)
        await pooler?.kill()
        await pooler?.start()
        for (let round = 0; round < 3; round += 1) await raceEach(pools)
      })
  })
}
