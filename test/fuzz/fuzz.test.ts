/** A short run of `npm run fuzz` on every database: docs/fuzz.md says what it looks at. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { itOn } from '../../fixtures/on-database.ts'
import { GROUPS } from '../../fuzz/groups.ts'
import { run } from '../../fuzz/run.ts'
import type { SubjectTokenStore } from '../../src/index.ts'

/** 20,000 in all. */
const REQUESTS = { sqlite: 8000, postgres: 6000, mysql: 6000 } as const

/** Always the same, so that a commit is not red for what an earlier one did. `npm run fuzz` takes another each time. */
const SEED = 20_000

describe('fuzz', function () {
  this.timeout(300_000)

  for (const [kind, count] of Object.entries(REQUESTS) as [keyof typeof REQUESTS, number][]) {
    itOn(kind, `finds nothing in ${count} requests on ${kind}`, async () => {
      const { failure, requests } = await run({ kind, groups: GROUPS, seed: SEED, count })
      const { group = '', path = '' } = failure ?? {}
      const again = `npm run fuzz -- --kind ${kind} --group ${group} --seed ${failure?.seed} --path ${path}`
      expect(failure, again).to.equal(undefined)
      expect(requests).to.be.at.least(count)
    })
  }

  it('begins a case when no request of an earlier one is served any more', async () => {
    const slow = (store: SubjectTokenStore): SubjectTokenStore => ({
      ...store,
      insert: (token) => sleep(80).then(() => store.insert(token)),
    })
    const groups = GROUPS.filter(({ name }) => ['walk', 'bytes'].includes(name))
    const { failure } = await run({ kind: 'sqlite', groups, seed: 5, count: 600, plant: { store: slow } })
    expect(failure).to.equal(undefined)
  })

  it('sends the same requests again for the same seed', async () => {
    // In the others, requests race each other or the end of their connection.
    const groups = GROUPS.filter(({ name }) => ['token', 'management', 'console'].includes(name))
    const once = () => run({ kind: 'sqlite', groups, seed: 7, count: 200 })
    const [one, other] = [await once(), await once()]
    expect(one.failure).to.equal(undefined)
    expect(one.answers).to.deep.equal(other.answers)
  })
})
