import type { StoreMeasures } from '../../subject-tokens/store.ts'
import { AFTER, type Fate } from './fate.ts'

/** What the statements of one database have counted since the process began. Read at any time, by what measures. */
export interface Tally extends StoreMeasures {
  readonly failures: Record<Fate, number>
  waits: number
  waited: number
  waiting: number
}

export function createTally(): Tally {
  const fates = Object.keys(AFTER).map((fate) => [fate, 0])
  return { failures: Object.fromEntries(fates), waits: 0, waited: 0, waiting: 0 }
}

/** Counts how long a connection is waited for, whatever comes of it. */
export async function countWait<Value>(tally: Tally, wait: Promise<Value>): Promise<Value> {
  const begun = performance.now()
  tally.waits += 1
  tally.waiting += 1
  try {
    return await wait
  } finally {
    tally.waiting -= 1
    tally.waited += (performance.now() - begun) / 1000
  }
}
