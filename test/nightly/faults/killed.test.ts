/**
 * What is killed, ended or refuses in the middle of a race, and while Sequelize connects, as an administrator, a restart and a
 * failover do: no process ends. `npm run race -- killed` races 2,000 tokens each; `npm run faults` fewer.
 */
import { once } from 'node:events'
import { connect as connectTo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { QueryTypes, type Sequelize } from 'sequelize'
import { type Cluster, ISSUER, startCluster } from '../../../fixtures/cluster.ts'
import { startMariadb } from '../../../fixtures/mariadb.ts'
import { describeOn, useDatabase } from '../../../fixtures/on-database.ts'
import { startPgbouncer } from '../../../fixtures/pgbouncer.ts'
import { startPostgres } from '../../../fixtures/postgres.ts'
import { warnIfMissing } from '../../../fixtures/programs.ts'
import type { OwnServer } from '../../../fixtures/server-process.ts'
import { connect } from '../../../src/cli/connect.ts'
import { createSubjectTokenStore, migrate } from '../../../src/sequelize/index.ts'
import { mintId } from '../../../src/tokens/id.ts'
import { itSpendsEach, itSurvives, TIMEOUT } from '../race/race.ts'

const SERVERS = {
  postgres: {
    start: startPostgres,
    readOnly: (value: 'ON' | 'OFF') => [
      `ALTER SYSTEM SET default_transaction_read_only = ${value}`,
      'SELECT pg_reload_conf()',
    ],
    /** Every session of this database but its own. */
    sessions: `SELECT pid AS id FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND state IS NOT NULL`,
    end: (id: number) => `SELECT pg_terminate_backend(${id})`,
    farewell: Buffer.alloc(0),
  },
  mysql: {
    start: startMariadb,
    readOnly: (value: 'ON' | 'OFF') => [`SET GLOBAL read_only = ${value}`],
    sessions: `SELECT id FROM information_schema.processlist
      WHERE db = DATABASE() AND id <> CONNECTION_ID()`,
    end: (id: number) => `KILL ${id}`,
    /** MariaDB ends such a session without a word; MySQL, from 8.0.24 on, says an error first: this is one. */
    farewell: Buffer.from(`\x12\0\0\0\xFF\xD5\x0F#HY000Farewell!`, 'latin1'),
  },
} as const
type Kind = keyof typeof SERVERS

async function administer<Value>(url: string, work: (admin: Sequelize) => Promise<Value>): Promise<Value> {
  const admin = connect(url)
  try {
    return await work(admin)
  } finally {
    await admin.close()
  }
}

const execute = (url: string, statements: readonly string[]) =>
  administer(url, async (admin) => {
    for (const sql of statements) await admin.query(sql)
  })

/** Returns how many sessions there were. */
async function endSessions(kind: Kind, admin: Sequelize): Promise<number> {
  const { sessions, end } = SERVERS[kind]
  const found = await admin.query<{ id: number }>(sessions, { type: QueryTypes.SELECT })
  // One may have ended by itself.
  for (const { id } of found) await admin.query(end(id)).catch(() => {})
  return found.length
}

/** A database for a user whom `read_only` stops: on MariaDB it does not stop an administrator. */
async function prepareDatabase(kind: Kind, url: string): Promise<{ administrator: string; user: string }> {
  if (kind === 'postgres') return { administrator: url, user: url }
  await execute(url, [
    'CREATE DATABASE race',
    `CREATE USER app@'%' IDENTIFIED BY 'app'`,
    `GRANT ALL ON race.* TO app@'%'`,
  ])
  const administrator = new URL('/race', url).href
  return {
    administrator,
    user: Object.assign(new URL(administrator), { username: 'app', password: 'app' }).href,
  }
}

/** Four processes over a database of this address. */
async function startProcesses(url: string): Promise<Cluster> {
  await administer(url, migrate)
  return startCluster(Array.from({ length: 4 }, () => url))
}

const OUTAGE = { isOutage: true }
const NO_OUTAGE = { isOutage: false }

for (const kind of ['postgres', 'mysql'] as const) {
  describeOn(kind, `a race on a ${kind} that fails in the middle`, function () {
    this.timeout(TIMEOUT)
    let server: OwnServer | undefined
    let cluster: Cluster
    let administrator: string
    before(async function () {
      server = warnIfMissing(await SERVERS[kind].start(), `${kind} to break`)
      if (!server) return this.skip()
      const database = await prepareDatabase(kind, server.url)
      administrator = database.administrator
      cluster = await startProcesses(database.user)
    })
    after(async () => {
      await cluster?.close()
      await server?.stop()
    })
    const own = () => server ?? expect.fail('no server')
    const set = (value: 'ON' | 'OFF') => execute(administrator, SERVERS[kind].readOnly(value))

    itSurvives(
      'it only reads for a moment',
      () => cluster,
      { strike: () => set('ON'), mend: () => set('OFF') },
      OUTAGE,
    )

    let striking: Promise<void> | undefined
    let mended = false
    const endAll = async (admin: Sequelize) => {
      for (let ended = 0; !mended || ended < 20; ) ended += await endSessions(kind, admin)
    }
    const ending = {
      async strike() {
        striking = administer(administrator, endAll)
      },
      async mend() {
        mended = true
        await striking
      },
    }
    itSurvives('an administrator ends every session', () => cluster, ending, NO_OUTAGE)

    const restart = { strike: () => own().shutDown(), mend: () => own().start() }
    itSurvives('it restarts', () => cluster, restart, OUTAGE)
    itSurvives('it is killed', () => cluster, { ...restart, strike: () => own().kill() }, OUTAGE)
  })
}

describeOn('postgres', 'a race on a postgres behind a PgBouncer', function () {
  this.timeout(TIMEOUT)
  let server: OwnServer | undefined
  let pgbouncer: OwnServer | undefined
  let cluster: Cluster
  before(async function () {
    server = warnIfMissing(await startPostgres(), 'postgres to break')
    pgbouncer = server && (await startPgbouncer(server.url))
    if (!pgbouncer) return this.skip()
    cluster = await startProcesses(pgbouncer.url)
  })
  after(async () => {
    await cluster?.close()
    await pgbouncer?.stop()
    await server?.stop()
  })

  itSpendsEach('PgBouncer', () => cluster)
  const killed = { strike: () => cluster.kill(), mend: () => cluster.add() }
  itSurvives('a process is killed', () => cluster, killed, NO_OUTAGE)
  for (const [what, broken] of [
    ['the pooler', () => pgbouncer ?? expect.fail('no pooler')],
    ['the database', () => server ?? expect.fail('no server')],
  ] as const) {
    const restart = { strike: () => broken().kill(), mend: () => broken().start() }
    itSurvives(`${what} is killed`, () => cluster, restart, OUTAGE)
  }
})

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
