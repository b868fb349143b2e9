/** Three processes on one file of SQLite. */
import { type Database, openDatabase } from '../../../fixtures/databases.ts'
import { beforeOn, describeOn } from '../../../fixtures/on-database.ts'
import { type Racers, startRacers } from '../../../fixtures/racers.ts'
import { itRacesPairs } from './pairs-on.ts'

describeOn('sqlite', 'pairs of calls in three processes on one file of SQLite', () => {
  let database: Database
  let racers: Racers
  beforeOn('sqlite', async () => {
    database = await openDatabase('sqlite')
    racers = await startRacers(Array.from({ length: 3 }, () => ({ databaseUrl: database.url })))
  })
  after(async () => {
    await racers?.close()
    await database?.close()
  })

  itRacesPairs(() => ({ racers, sequelize: database.sequelize }))
})
