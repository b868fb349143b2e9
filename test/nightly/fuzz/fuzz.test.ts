/** A short run of `npm run fuzz` on every database: docs/contributing/fuzz.md says what it looks at. */
import { expect } from 'chai'
import { itOn } from '../../../fixtures/on-database.ts'
import { run } from '../../../tools/fuzz/run.ts'

const REQUESTS = { sqlite: 1600, postgres: 1200, mysql: 1200 } as const

/** Always the same, so that a commit is not red for what an earlier one did. `npm run fuzz` takes another each time. */
const SEED = 20_001

describe('fuzz', function () {
  this.timeout(300_000)

  for (const [kind, count] of Object.entries(REQUESTS) as [keyof typeof REQUESTS, number][]) {
    itOn(kind, `finds nothing in ${count} requests on ${kind}`, async () => {
      const { failure, requests } = await run({ kind, seed: SEED, count, shrinks: false })
      const again = `npm run fuzz -- --kind ${kind} --seed ${failure?.seed} --path ${failure?.path}`
      expect(failure, again).to.equal(undefined)
      expect(requests).to.be.at.least(count)
    })
  }
})
