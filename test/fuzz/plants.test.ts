/** The fuzzer finds bugs: each of those that `fuzz/plants.ts` plants, by the rule that it breaks. */
import { expect } from 'chai'
import { PLANTS } from '../../fuzz/plants.ts'
import { run } from '../../fuzz/run.ts'

/** Where a bug is found sooner with another seed, or only at the end of a run. */
const WHERE: Readonly<Record<string, { readonly seed?: number; readonly count?: number }>> = {
  'a subject token lives a second too long': { seed: 2 },
  'the constraint of the actor is dropped': { seed: 2 },
  'the constraint of the client is dropped': { seed: 2 },
  'the ceiling of the scopes is dropped': { seed: 2 },
  'a denied exchange spends': { seed: 3 },
  'the kill switch by actor misses the chain': { seed: 5 },
  'a list drops the last row of a page': { seed: 3 },
  'an acknowledgement covers the replay that comes after it': { seed: 2 },
  'a list shows what was acknowledged': { seed: 2 },
  'a list finds no tickets': { seed: 4 },
  'a list finds nothing by a jti': { seed: 5 },
  'an API passes on what was stopped': { seed: 4 },
  'an API passes on what was bound to a resource': { seed: 2 },
  'an API passes on without the people who act': { seed: 2 },
  'a stop forgets who it was': { seed: 5 },
  'an access token outlives its revocation': { seed: 6 },
  'chains of actors have no limit': { seed: 5 },
  'the summary counts as live what has ended': { seed: 2 },
  'purge deletes too late': { seed: 5 },
  'every request leaves something behind': { count: 600 },
}
/** Requests, where no other number is given. Most bugs are found after a few hundred. */
const MOST = 5000

describe('fuzz: planted bugs', function () {
  this.timeout(120_000)

  it('are more than twelve', () => {
    expect(Object.keys(PLANTS).length).to.be.greaterThan(12)
    expect(Object.keys(PLANTS)).to.include.members(Object.keys(WHERE))
  })

  for (const [bug, plant] of Object.entries(PLANTS)) {
    it(`are found: ${bug}`, async () => {
      const { seed = 1, count = MOST } = WHERE[bug] ?? {}
      const { failure } = await run({
        kind: 'sqlite',
        seed,
        count,
        plant: plant(),
        shrinks: false,
      })
      expect(failure, `nothing in ${count} requests`).not.to.equal(undefined)
    })
  }
})
