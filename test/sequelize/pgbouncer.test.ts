/** Behind a PgBouncer in transaction mode that keeps no prepared statements, as Debian 12 has it. */
import { expect } from 'chai'
import type { Options, Sequelize } from 'sequelize'
import { ISSUER } from '../../fixtures/cluster.ts'
import { type Database, isAvailable, openDatabase } from '../../fixtures/databases.ts'
import { startPgbouncer } from '../../fixtures/pgbouncer.ts'
import type { OwnServer } from '../../fixtures/server-process.ts'
import { NOW, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'

const USE = newUse()

describe('behind a PgBouncer in transaction mode', () => {
  let database: Database
  let pgbouncer: OwnServer | undefined
  before(async function () {
    if (!(await isAvailable('postgres'))) this.skip()
    database = await openDatabase('postgres', { migrated: false })
    pgbouncer = await startPgbouncer(database.url)
    if (!pgbouncer) this.skip()
  })
  after(async () => {
    // First, because it holds connections to the database.
    await pgbouncer?.stop()
    await database?.close()
  })

  const connect = (options: Options = {}): Sequelize => {
    const { port } = new URL(pgbouncer?.url ?? '')
    return database.connect({ port: Number(port), ...options })
  }

  /** As many uses of as many tokens at once, each by another of these processes. */
  const raceEach = async (pools: readonly Sequelize[]) => {
    const stores = pools.map((pool) => createSubjectTokenStore(pool))
    const races = pools.map(async (_, index) => {
      const token = newToken()
      await stores[index]?.insert(token)
      const uses = stores.map(async (store) => {
        expect(await store.findByHash(ISSUER, token.tokenHash)).to.have.property('id', token.id)
        return store.consume(ISSUER, token.tokenHash, NOW, USE)
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
    const told = logs.map((log) => log.filter((text) => text.includes('PgBouncer')).length)
    expect(Math.max(...told)).to.equal(1)
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

  it('goes on when it was started anew', async () => {
    const pools = Array.from({ length: 8 }, () => connect())
    await raceEach(pools)
    await pgbouncer?.kill()
    await pgbouncer?.start()
    for (let round = 0; round < 3; round += 1) await raceEach(pools)
  })
})
