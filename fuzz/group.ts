/** A group of cases: what is generated, and what is done with it. */
import fc from 'fast-check'
import type { World } from './world.ts'

export interface Group {
  readonly name: string
  /** Holds for every case. Cases that come after so many requests are passed over. */
  property(world: World, until: number): fc.IAsyncProperty<[unknown]>
}

/** Cases that are tried to make a failing one smaller. */
const SMALLER = 300

export const defineGroup = <Case>(
  name: string,
  cases: fc.Arbitrary<Case>,
  run: (world: World, one: Case) => Promise<void>,
): Group => ({
  name,
  property(world, until) {
    let left = Number.POSITIVE_INFINITY
    let limit = until
    return fc.asyncProperty(cases as fc.Arbitrary<unknown>, async (one) => {
      left -= 1
      if (left < 0 || world.sent.count >= limit) return
      try {
        await run(world, one as Case)
        const [fault] = world.faults()
        if (fault !== undefined) throw new Error(fault)
      } catch (error) {
        world.faults()
        // Smaller cases are tried whatever the number of requests.
        limit = Number.POSITIVE_INFINITY
        left = Math.min(left, SMALLER)
        throw error
      }
    })
  },
})
