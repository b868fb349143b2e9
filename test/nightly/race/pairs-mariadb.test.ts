/** Three processes on one MariaDB, at both isolations that an operator may choose. */
import { type Database, openDatabase } from '../../../fixtures/databases.ts'
import { beforeOn, describeOn } from '../../../fixtures/on-database.ts'
import { type Racers, startRacers } from '../../../fixtures/racers.ts'
import { itRacesPairs } from './pairs-on.ts'

for (const isolation of ['READ COMMITTED', 'REPEATABLE READ'])
  describeOn('mysql', `pairs of calls in three processes on MariaDB, ${isolation.toLowerCase()}`, () => {
    let database: Database
    let racers: Racers
    beforeOn('mysql', async () => {
      database = await openDatabase('mysql')
      const configuration = { databaseUrl: database.url, isolation }
      racers = await startRacers(Array.from({ length: 3 }, () => configuration))
    })
    after(async () => {
      await racers?.close()
      await database?.close()
    })

    itRacesPairs(() => ({ racers, sequelize: database.sequelize }))
  })
