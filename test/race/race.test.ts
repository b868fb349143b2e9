/** Four processes, one database. `npm run test:race` races 2,000 tokens on each; here it is fewer. */
import { expect } from 'chai'
import { type Cluster, startCluster } from '../../fixtures/cluster.ts'
import { DATABASES, type Database, openDatabase } from '../../fixtures/databases.ts'
import { startMariadb } from '../../fixtures/mariadb.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { startPostgres } from '../../fixtures/postgres.ts'
import type { OwnServer } from '../../fixtures/server-process.ts'
import { connect } from '../../src/cli/connect.ts'
import { migrate } from '../../src/sequelize/index.ts'
import { type RaceReport, race } from './race.ts'

const LONG = process.env.RACE === 'long'
const TOKENS = LONG ? 2000 : 60
const TIMEOUT = LONG ? 600_000 : 90_000

function tell(what: string, report: RaceReport): void {
  if (LONG) console.log(`      ${what}`, JSON.stringify(report))
}

describe('a race between processes', function () {
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

      it('spends every token exactly once', async () => {
        const report = await race(cluster, { tokens: TOKENS })
        tell(kind, report)
        expect(report.statuses).to.deep.equal({ 200: TOKENS, 400: TOKENS * 7 })
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
  for (const [kind, start] of Object.entries(own)) {
    describe(`on a ${kind} that is killed in the middle`, () => {
      let server: OwnServer
      let cluster: Cluster
      before(async function () {
        const started = await start()
        if (!started) {
          if (process.env.CI === 'true') throw new Error(`no ${kind} to kill, and CI does not skip`)
          console.warn(`no ${kind} server to kill: skipped`)
          this.skip()
        }
        server = started
        const sequelize = connect(server.url)
        await migrate(sequelize)
        await sequelize.close()
        const { url } = server
        cluster = await startCluster(Array.from({ length: 4 }, () => url))
      })
      after(async () => {
        await cluster?.close()
        await server?.stop()
      })

      it('answers an outage, spends none twice, loses none, and resumes by itself', async () => {
        const report = await race(cluster, {
          tokens: TOKENS,
          disturbance: { strike: () => server.kill(), mend: () => server.start() },
        })
        tell(`${kind}, the database killed`, report)
        expect(Object.keys(report.statuses)).to.include('503')
      })
    })
  }
})
