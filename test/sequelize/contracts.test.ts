/** One contract, every database. */
import { DATABASES } from '../../fixtures/databases.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { adapterContract } from './adapter.contract.ts'
import { endUnspentContract } from './end-unspent.contract.ts'
import { migrationContract } from './migrations.contract.ts'
import { purgeContract } from './purge.contract.ts'
import { subjectTokenContract } from './subject-tokens.contract.ts'
import { subjectTokenStopContract } from './subject-tokens-stop.contract.ts'

for (const kind of DATABASES) {
  describe(`on ${kind}`, () => {
    beforeOn(kind)
    subjectTokenContract(kind)
    subjectTokenStopContract(kind)
    endUnspentContract(kind)
    adapterContract(kind)
    migrationContract(kind)
    purgeContract(kind)
  })
}
