/**
 * Sessions that the server ends while Sequelize connects and while statements run, as an administrator, a restart and a
 * failover do: no process ends. `npm run race -- terminated` races 2,000 tokens each; `npm run faults` fewer.
 */
import { once } from 'node:events'
import { connect as connectTo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { QueryTypes, type Sequelize } from 'sequelize'
import { type Cluster, ISSUER, startCluster } from '../../../fixtures/cluster.ts'
import { startMariadb } from '../../../fixtures/mariadb.ts'
import { useDatabase } from '../../../fixtures/on-database.ts'
import { startPostgres } from '../../../fixtures/postgres.ts'
import type { OwnServer } from '../../../fixtures/server-process.ts'
import { connect } from '../../../src/cli/connect.ts'
import { createSubjectTokenStore, migrate } from '../../../src/sequelize/index.ts'
import { mintId } from '../../../src/tokens/id.ts'
import { LONG, race, tell } from '../race/race.ts'

const TOKENS = LONG ? 2000 : 60
const TIMEOUT = LONG ? 600_000 : 90_000

const SERVERS = {
  postgres: {
    start: startPostgres,
    sessions: `SELECT pid AS id FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND state IS NOT NULL`,
    end: (id: number) => `SELECT pg_terminate_backend(${id})`,
    farewell: Buffer.alloc(0),
  },
  mysql: {
    start: startMariadb,
    sessions: `SELECT id FROM information_schema.processlist
      WHERE db = DATABASE() AND id <> CONNECTION_ID()`,
    end: (id: number) => `KILL ${id}`,
    /** MariaDB ends such a session without a word; MySQL, from 8.0.24 on, says an error first: this is one. */
    farewell: Buffer.from(`\x12\0\0\0\xFF\xD5\x0F#HY000Farewell!`, 'latin1'),
  },
} as const
type Kind = keyof typeof SERVERS

/** Ends every session of this database but its own, and returns how many there were. */
async function endSessions(kind: Kind, admin: Sequelize): Promise<number> {
  const { sessions, end } = SERVERS[kind]
  const found = await admin.query<{ id: number }>(sessions, { type: QueryTypes.SELECT })
  // One may have ended by itself.
  for (const { id } of found) await admin.query(end(id)).catch(() => {})
  return found.length
}

/**
 * A TCP proxy whose first connection is slow: what the server says after the client's first message arrives together with
 * the last that it ever says. Later connections are served as they come.
 */
async function startSlowProxy(url: string, farewell: Buffer) {
  const { hostname, port } = new URL(url)
  let slow = true
  const server = createServer((client) => {
    const target = connectTo(Number(port), hostname)
    const held: Buffer[] = []
    let holds = false
    client.on('data', (data) => {
      holds ||= slow
      slow = false
      target.write(data)
    })
    target.on('data', (data) => (holds ? held.push(data) : client.write(data)))
    target.on('end', () => client.end(Buffer.concat([...held, ...(holds ? [farewell] : [])])))
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroySoon())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('no port')
  return { port: address.port, close: () => server.close() }
}

for (const kind of ['postgres', 'mysql'] as const) {
  describe(`a session of ${kind} that is ended while Sequelize connects`, () => {
    const database = useDatabase(kind)

    it('ends no process, and the next statement connects anew', async () => {
      const proxy = await startSlowProxy(database.url, SERVERS[kind].farewell)
      try {
        const store = createSubjectTokenStore(database.connect({ port: proxy.port, pool: { max: 1 } }))
        const found = store.find(ISSUER, mintId()).catch(({ name }) => name)
        while ((await endSessions(kind, database.sequelize)) === 0) await sleep(10)
        expect(await found).to.be.oneOf(['StorageError', undefined])
        expect(await store.find(ISSUER, mintId())).to.equal(undefined)
      } finally {
        proxy.close()
      }
    })
  })
}

const own = async (kind: Kind): Promise<OwnServer | undefined> => {
  const server = await SERVERS[kind].start()
  if (server) return server
  if (process.env.CI === 'true') throw new Error(`no ${kind} to restart, and CI does not skip`)
  console.warn(`no ${kind} server to restart: skipped`)
  return undefined
}

for (const kind of ['postgres', 'mysql'] as const) {
  describe(`a race on a ${kind} that ends sessions`, function () {
    this.timeout(TIMEOUT)
    let server: OwnServer
    let cluster: Cluster
    let admin: Sequelize
    before(async function () {
      const started = await own(kind)
      if (!started) return this.skip()
      server = started
      admin = connect(server.url)
      await migrate(admin)
      cluster = await startCluster(Array.from({ length: 4 }, () => server.url))
    })
    after(async () => {
      await cluster?.close()
      await admin?.close()
      await server?.stop()
    })

    it('ends no process, spends none twice and loses none while an administrator ends every session', async () => {
      let striking: Promise<number> | undefined
      let mended = false
      const strike = async () => {
        let ended = 0
        while (!mended || ended < 20) ended += await endSessions(kind, admin)
        return ended
      }
      const report = await race(cluster, {
        tokens: TOKENS,
        disturbance: {
          strike: async () => {
            striking = strike()
          },
          mend: async () => {
            mended = true
            await striking
          },
        },
      })
      tell(`${kind}, sessions ended: ${await striking}`, report)
      expect(report.tokens).to.equal(TOKENS)
      expect(cluster.ended()).to.equal(0)
    })

    it('ends no process, spends none twice and loses none while the server restarts', async () => {
      await admin.close()
      const report = await race(cluster, {
        tokens: TOKENS,
        disturbance: { strike: () => server.shutDown(), mend: () => server.start() },
      })
      tell(`${kind}, restarted`, report)
      expect(Object.keys(report.statuses)).to.include('503')
      expect(cluster.ended()).to.equal(0)
    })
  })
}
