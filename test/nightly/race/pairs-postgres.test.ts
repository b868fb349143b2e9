/** Three processes on one PostgreSQL, at both isolations that an operator may give their role. */
import { type Database, openDatabase } from '../../../fixtures/databases.ts'
import { beforeOn, describeOn } from '../../../fixtures/on-database.ts'
import { type Racers, startRacers } from '../../../fixtures/racers.ts'
import { itRacesPairs } from './pairs-on.ts'

for (const isolation of ['read committed', 'repeatable read'])
  describeOn('postgres', `pairs of calls in three processes on PostgreSQL, ${isolation}`, () => {
    let database: Database
    let racers: Racers
    beforeOn('postgres', async () => {
      database = await openDatabase('postgres')
      const { pathname } = new URL(database.url)
      await database.sequelize.query(
        `ALTER ROLE CURRENT_USER IN DATABASE ${pathname.slice(1)} SET default_transaction_isolation = '${isolation}'`,
      )
      racers = await startRacers(Array.from({ length: 3 }, () => ({ databaseUrl: database.url })))
    })
    after(async () => {
      await racers?.close()
      await database?.close()
    })

    itRacesPairs(() => ({ racers, sequelize: database.sequelize }))
  })
