/** A database that vanishes without a word: no packet comes any more, and none says that the connection ended. */
import { expect } from 'chai'
import type { Options, Sequelize } from 'sequelize'
import { ISSUER } from '../../../fixtures/cluster.ts'
import { type Database, openDatabase } from '../../../fixtures/databases.ts'
import { beforeOn } from '../../../fixtures/on-database.ts'
import { recordRuns } from '../../../fixtures/runs.ts'
import { type SilentProxy, startSilentProxy } from '../../../fixtures/silent-proxy.ts'
import { NOW, newToken, newUse } from '../../../fixtures/subject-tokens.ts'
import { createAdapter, createSubjectTokenStore } from '../../../src/sequelize/index.ts'
import { mintId } from '../../../src/tokens/id.ts'

const USE = newUse()
const UNKNOWN = mintId()

/** How long the driver waits for a connection, in milliseconds. */
const CONNECTING = {
  postgres: (limit: number) => ({ connectionTimeoutMillis: limit }),
  mysql: (limit: number) => ({ connectTimeout: limit }),
}

const codes = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((settled) =>
    settled.status === 'fulfilled' ? 'fulfilled' : settled.reason.code,
  )

for (const kind of ['postgres', 'mysql'] as const) {
  describe(`a ${kind} that falls silent`, () => {
    let database: Database
    let proxy: SilentProxy
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
      proxy = await startSilentProxy(database.url)
    })
    after(async () => {
      await proxy?.close()
      await database?.close()
    })
    afterEach(() => proxy.speak())

    const connect = (options: Options = {}): Sequelize =>
      database.connect({ port: proxy.port, dialectOptions: CONNECTING[kind](300), ...options })

    /** Until a call goes through: the places of the pool that wait for the silent server must come back. */
    const untilServed = async <Value>(call: () => Promise<Value>): Promise<Value> => {
      for (;;) {
        try {
          return await call()
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
      }
    }

    it('fails what was sent after the time limit, once, and closes the connections', async () => {
      const store = createSubjectTokenStore(connect(), { timeout: 1 })
      const first = newToken()
      // As many as one statement takes.
      const tokens = [first, newToken(), newToken(), newToken()]
      // Not under the short limits, which a busy machine may not keep.
      const patient = createSubjectTokenStore(database.sequelize)
      await Promise.all(tokens.map((token) => patient.insert(token)))
      await untilServed(() => Promise.all(tokens.map(({ id }) => store.find(ISSUER, id))))
      expect(proxy.open()).to.be.greaterThan(0)
      proxy.fallSilent()
      const runs = await recordRuns(database, async () => {
        const spent = tokens.map((token) => store.consume(token, NOW, USE))
        expect(await codes(spent)).to.deep.equal(tokens.map(() => 'ETIMEDOUT'))
      })
      const sent = runs.flatMap(({ bindings }) => bindings.map((bind) => bind.join()))
      expect(new Set(sent).size).to.equal(sent.length).and.to.equal(tokens.length)
      while (proxy.open() > 0) await new Promise((resolve) => setTimeout(resolve, 10))
      proxy.speak()
      const spent = await untilServed(() => store.consume(first, NOW, USE))
      expect(spent).to.equal(true)
    })

    it('fails what it was asked for after the time limit, and is not asked again', async () => {
      const store = createSubjectTokenStore(connect(), { timeout: 1 })
      await untilServed(() => store.find(ISSUER, UNKNOWN))
      proxy.fallSilent()
      const runs = await recordRuns(database, async () => {
        expect(await codes([store.find(ISSUER, UNKNOWN)])).to.deep.equal(['ETIMEDOUT'])
      })
      expect(runs).to.have.length(1)
      proxy.speak()
      expect(await untilServed(() => store.find(ISSUER, UNKNOWN))).to.equal(undefined)
    })

    it('fails what waits for a connection after the time limit, and is used again when it is back', async () => {
      const dialectOptions = CONNECTING[kind](2000)
      const pool = connect({ pool: { max: 2, acquire: 60_000 }, dialectOptions })
      const store = createSubjectTokenStore(pool, { timeout: 1 })
      const adapter = createAdapter(pool, { timeout: 1 })('Session')
      proxy.fallSilent()
      const calls = Array.from({ length: 4 }, () => [store.find(ISSUER, UNKNOWN), adapter.find('x')]).flat()
      expect(new Set(await codes(calls))).to.deep.equal(new Set(['ETIMEDOUT']))
      proxy.speak()
      expect(await untilServed(() => store.find(ISSUER, UNKNOWN))).to.equal(undefined)
      expect(await untilServed(() => adapter.find('x'))).to.equal(undefined)
    })
  })
}
