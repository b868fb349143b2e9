/** Three processes, each on another node of a Galera cluster. */
import type { Sequelize } from 'sequelize'
import { type Galera, startGalera } from '../../../fixtures/galera.ts'
import { describeOn } from '../../../fixtures/on-database.ts'
import { type Racers, startRacers } from '../../../fixtures/racers.ts'
import { connect } from '../../../src/cli/connect.ts'
import { migrate } from '../../../src/sequelize/index.ts'
import { itRacesPairs } from './pairs-on.ts'

describeOn('mysql', 'pairs of calls on different nodes of a Galera cluster', function () {
  this.timeout(120_000)
  let galera: Galera | undefined
  let sequelize: Sequelize
  let racers: Racers
  before(async function () {
    galera = await startGalera()
    if (!galera) return this.skip()
    const urls = galera.nodes.map(({ url }) => url)
    sequelize = connect(urls[0] ?? '')
    // What judges reads what every node has committed.
    sequelize.addHook('afterConnect', async (connection) => {
      await (connection as Session).promise().query('SET SESSION wsrep_sync_wait = 15')
    })
    await migrate(sequelize)
    racers = await startRacers(urls.map((databaseUrl) => ({ databaseUrl })))
  })
  after(async () => {
    await racers?.close()
    await sequelize?.close()
    await galera?.stop()
  })

  itRacesPairs(() => ({ racers, sequelize }))
})

/** A connection of mysql2. */
interface Session {
  promise(): { query(sql: string): Promise<unknown> }
}
