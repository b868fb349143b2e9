/** One contract, every database. */
import { DATABASES, isAvailable } from '../../fixtures/databases.ts'
import { adapterContract } from './adapter.contract.ts'
import { migrationContract } from './migrations.contract.ts'
import { purgeContract } from './purge.contract.ts'
import { subjectTokenContract } from './subject-tokens.contract.ts'

for (const kind of DATABASES) {
  describe(`on ${kind}`, () => {
    before(async function () {
      if (!(await isAvailable(kind))) this.skip()
    })
    subjectTokenContract(kind)
    adapterContract(kind)
    migrationContract(kind)
    purgeContract(kind)
  })
}
