/** Three processes behind a PgBouncer in transaction mode, whose connections change hands. */
import { type Database, openDatabase } from '../../../fixtures/databases.ts'
import { beforeOn, describeOn } from '../../../fixtures/on-database.ts'
import { startPgbouncer } from '../../../fixtures/pgbouncer.ts'
import { type Racers, startRacers } from '../../../fixtures/racers.ts'
import type { OwnServer } from '../../../fixtures/server-process.ts'
import { itRacesPairs } from './pairs-on.ts'

describeOn('postgres', 'pairs of calls in three processes behind a PgBouncer', () => {
  let database: Database
  let pooler: OwnServer | undefined
  let racers: Racers
  beforeOn('postgres', async () => {
    database = await openDatabase('postgres')
  })
  before(async function () {
    pooler = await startPgbouncer(database.url)
    if (!pooler) this.skip()
    const { url } = pooler
    racers = await startRacers(Array.from({ length: 3 }, () => ({ databaseUrl: url })))
  })
  after(async () => {
    await racers?.close()
    // Before the database, because it holds connections to it.
    await pooler?.stop()
    await database?.close()
  })

  itRacesPairs(() => ({ racers, sequelize: database.sequelize }))
})
