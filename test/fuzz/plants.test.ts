/** The fuzzer finds bugs: each of those that `fuzz/plants.ts` plants, by the rule that it breaks. */
import { expect } from 'chai'
import { GROUPS } from '../../fuzz/groups.ts'
import { PLANTS } from '../../fuzz/plants.ts'
import { run } from '../../fuzz/run.ts'

/** Where a bug is not found by walks, or sooner with another seed. */
const WHERE: Readonly<
  Record<string, { readonly group?: string; readonly seed?: number; readonly count?: number }>
> = {
  'a subject token is spent twice': { seed: 3 },
  'both of a race win': { seed: 3 },
  'another issuer takes a subject token': { seed: 5 },
  'the constraint of the actor is dropped': { seed: 3 },
  'the constraint of the client is dropped': { seed: 4 },
  'the constraint of the resource is dropped': { seed: 5 },
  'the ceiling of the scopes is dropped': { seed: 3 },
  'a denied exchange spends': { seed: 6 },
  'a replay ends nothing': { seed: 3 },
  'the kill switch by actor misses the chain': { seed: 4 },
  'a list ignores the alias': { seed: 2 },
  'a list drops the last row of a page': { seed: 4 },
  'status lists show nothing': { seed: 3 },
  'access tokens live too long': { seed: 3 },
  'chains of actors have no limit': { seed: 7 },
  'a media type makes the server fail': { group: 'token', seed: 7 },
  'a query makes the server hang': { group: 'management' },
  'every request leaves something behind': { group: 'management', count: 600 },
}
/** Requests, where no other number is given. */
const MOST = 1500
/** Milliseconds. */
const HANGS = 2000

describe('fuzz: planted bugs', function () {
  this.timeout(120_000)

  it('are more than twelve', () => {
    expect(Object.keys(PLANTS).length).to.be.greaterThan(12)
    expect(Object.keys(PLANTS)).to.include.members(Object.keys(WHERE))
  })

  for (const [bug, plant] of Object.entries(PLANTS)) {
    it(`are found: ${bug}`, async () => {
      const { group = 'walk', seed = 1, count = MOST } = WHERE[bug] ?? {}
      const { failure } = await run({
        kind: 'sqlite',
        groups: GROUPS.filter(({ name }) => name === group),
        seed,
        count,
        plant: plant(),
        shrinks: false,
        ...(bug.includes('hang') && { timeLimit: HANGS }),
      })
      expect(failure, `nothing in ${count} requests`).not.to.equal(undefined)
    })
  }
})
