/** Four processes, one database. `npm run race` races 2,000 tokens on each; `npm test` fewer. */
import { expect } from 'chai'
import { type Cluster, startCluster } from '../../../fixtures/cluster.ts'
import { DATABASES, type Database, openDatabase } from '../../../fixtures/databases.ts'
import { beforeOn } from '../../../fixtures/on-database.ts'
import { LONG, race, tell } from './race.ts'

const TOKENS = LONG ? 2000 : 60

for (const kind of DATABASES) {
  describe(`a race between processes on ${kind}`, function () {
    this.timeout(LONG ? 600_000 : 90_000)
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
  })
}
