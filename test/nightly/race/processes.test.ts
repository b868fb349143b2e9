/** Four processes, one database. `npm run race` races 2,000 tokens on each; `npm test` fewer. */
import { type Cluster, startCluster } from '../../../fixtures/cluster.ts'
import { DATABASES, type Database, openDatabase } from '../../../fixtures/databases.ts'
import { beforeOn } from '../../../fixtures/on-database.ts'
import { itSpendsEach, itSurvives, TIMEOUT } from './race.ts'

for (const kind of DATABASES) {
  describe(`a race between processes on ${kind}`, function () {
    this.timeout(TIMEOUT)
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

    itSpendsEach(kind, () => cluster)
    const killed = { strike: () => cluster.kill(), mend: () => cluster.add() }
    itSurvives('a process is killed', () => cluster, killed, { isOutage: false })
  })
}
