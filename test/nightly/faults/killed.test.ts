/**
 * Four processes, one database, and what is killed or refuses in the middle of a race. `npm run race -- killed` races 2,000
 * tokens each; `npm run faults` fewer.
 */
import { expect } from 'chai'
import { type Cluster, startCluster } from '../../../fixtures/cluster.ts'
import { DATABASES, type Database, openDatabase } from '../../../fixtures/databases.ts'
import { startMariadb } from '../../../fixtures/mariadb.ts'
import { beforeOn } from '../../../fixtures/on-database.ts'
import { startPgbouncer } from '../../../fixtures/pgbouncer.ts'
import { startPostgres } from '../../../fixtures/postgres.ts'
import type { OwnServer } from '../../../fixtures/server-process.ts'
import { connect } from '../../../src/cli/connect.ts'
import { migrate } from '../../../src/sequelize/index.ts'
import { LONG, race, tell } from '../race/race.ts'

const TOKENS = LONG ? 2000 : 60
const TIMEOUT = LONG ? 600_000 : 90_000

/** Makes a server read-only, or not. */
const READ_ONLY = {
  postgres: ['ALTER SYSTEM SET default_transaction_read_only = ?', 'SELECT pg_reload_conf()'],
  mysql: ['SET GLOBAL read_only = ?'],
}

async function administer(url: string, statements: readonly string[]): Promise<void> {
  const sequelize = connect(url)
  try {
    for (const sql of statements) await sequelize.query(sql)
  } finally {
    await sequelize.close()
  }
}

/** The address of a database for a user whom `read_only` stops: on MariaDB it does not stop an administrator. */
async function ordinaryUser(kind: 'postgres' | 'mysql', url: string): Promise<string> {
  if (kind === 'postgres') return url
  await administer(url, [
    'CREATE DATABASE race',
    `CREATE USER app@'%' IDENTIFIED BY 'app'`,
    `GRANT ALL ON race.* TO app@'%'`,
  ])
  const own = new URL(url)
  Object.assign(own, { username: 'app', password: 'app', pathname: '/race' })
  return own.href
}

describe('a race in the middle of which something fails', function () {
  this.timeout(TIMEOUT)

  for (const kind of DATABASES) {
    describe(`on ${kind}`, () => {
      let database: Database
      let cluster: Cluster
      beforeOn(kind, async () => {
        database = await openDatabase(kind)
        cluster = await startCluster(Array.from({ length: 4 }, () => database.url))
      })
      after(async () => {
        await cluster?.close()
        await database?.close()
      })

      it('spends none twice and loses none when a process is killed in the middle', async () => {
        const report = await race(cluster, {
          tokens: TOKENS,
          disturbance: { strike: () => cluster.kill(), mend: () => cluster.add() },
        })
        tell(`${kind}, a process killed`, report)
        expect(report.tokens).to.equal(TOKENS)
      })
    })
  }

  const own = { postgres: startPostgres, mysql: startMariadb }
  const startOwn = async (kind: keyof typeof own): Promise<OwnServer | undefined> => {
    const server = await own[kind]()
    if (server) return server
    if (process.env.CI === 'true') throw new Error(`no ${kind} to break, and CI does not skip`)
    console.warn(`no ${kind} server to break: skipped`)
    return undefined
  }
  /** Four processes over a database of this address. */
  const startProcesses = async (url: string): Promise<Cluster> => {
    const sequelize = connect(url)
    await migrate(sequelize)
    await sequelize.close()
    return startCluster(Array.from({ length: 4 }, () => url))
  }

  for (const kind of ['postgres', 'mysql'] as const) {
    describe(`on a ${kind} that is killed in the middle`, () => {
      let server: OwnServer
      let cluster: Cluster
      before(async function () {
        const started = await startOwn(kind)
        if (!started) return this.skip()
        server = started
        cluster = await startProcesses(server.url)
      })
      after(async () => {
        await cluster?.close()
        await server?.stop()
      })

      it('responds with an outage, spends none twice, loses none, and resumes by itself', async () => {
        const report = await race(cluster, {
          tokens: TOKENS,
          disturbance: { strike: () => server.kill(), mend: () => server.start() },
        })
        tell(`${kind}, the database killed`, report)
        expect(Object.keys(report.statuses)).to.include('503')
      })
    })

    describe(`on a ${kind} that only reads for a moment`, () => {
      let server: OwnServer
      let cluster: Cluster
      before(async function () {
        const started = await startOwn(kind)
        if (!started) return this.skip()
        server = started
        cluster = await startProcesses(await ordinaryUser(kind, server.url))
      })
      after(async () => {
        await cluster?.close()
        await server?.stop()
      })

      it('responds with an outage, spends none twice, loses none, and resumes by itself', async () => {
        const set = (value: 'ON' | 'OFF') =>
          administer(
            server.url,
            READ_ONLY[kind].map((sql) => sql.replace('?', value)),
          )
        const report = await race(cluster, {
          tokens: TOKENS,
          disturbance: { strike: () => set('ON'), mend: () => set('OFF') },
        })
        tell(`${kind}, the database only reads`, report)
        expect(Object.keys(report.statuses)).to.include('503')
      })
    })
  }

  describe('on a postgres behind a PgBouncer', () => {
    let server: OwnServer
    let pgbouncer: OwnServer
    let cluster: Cluster
    before(async function () {
      const started = await startOwn('postgres')
      if (!started) return this.skip()
      server = started
      const before = await startPgbouncer(server.url)
      if (!before) return this.skip()
      pgbouncer = before
      cluster = await startProcesses(pgbouncer.url)
    })
    after(async () => {
      await cluster?.close()
      await pgbouncer?.stop()
      await server?.stop()
    })

    it('spends every token exactly once', async () => {
      const report = await race(cluster, { tokens: TOKENS })
      tell('PgBouncer', report)
      expect(report.statuses).to.deep.equal({ 200: TOKENS, 400: TOKENS * 7 })
    })

    it('spends none twice and loses none when a process is killed in the middle', async () => {
      const report = await race(cluster, {
        tokens: TOKENS,
        disturbance: { strike: () => cluster.kill(), mend: () => cluster.add() },
      })
      tell('PgBouncer, a process killed', report)
      expect(report.tokens).to.equal(TOKENS)
    })

    for (const [what, broken] of [
      ['the pooler', () => pgbouncer],
      ['the database', () => server],
    ] as const) {
      it(`spends none twice, loses none, and resumes by itself when ${what} is killed in the middle`, async () => {
        const report = await race(cluster, {
          tokens: TOKENS,
          disturbance: { strike: () => broken().kill(), mend: () => broken().start() },
        })
        tell(`PgBouncer, ${what} killed`, report)
        expect(Object.keys(report.statuses)).to.include('503')
      })
    }
  })
})
