/** The test of each database: pairs of calls that meet, and what must be true afterwards. */
import { expect } from 'chai'
import type { Sequelize } from 'sequelize'
import type { Racers } from '../../../fixtures/racers.ts'
import { linesOf, PAIRS, racePairs } from './pairs.ts'
import { LONG } from './race.ts'

export interface Course {
  readonly racers: Racers
  readonly sequelize: Sequelize
}

export function itRacesPairs(course: () => Course): void {
  it('lets exchanges, stops and replays of one token meet in one of two orders', async function () {
    this.timeout(Math.max(60_000, PAIRS * 200))
    const began = performance.now()
    const tallies = await racePairs({ ...course(), pairs: PAIRS })
    const lines = linesOf(tallies)
    if (LONG)
      console.log(
        [...lines, `${((performance.now() - began) / 1000).toFixed(0)} s`]
          .map((line) => `      ${line}`)
          .join('\n'),
      )
    for (const [name, { pairs, met, one, other, faults, errors }] of tallies) {
      expect({ faults, errors }, lines.join('\n')).to.deep.equal({ faults: {}, errors: [] })
      expect(met, `${name}: met at the gate`).to.equal(pairs)
      expect(Math.min(one, other), `${name}: the rarer order, of ${pairs}`).to.be.at.least(
        Math.floor(pairs * 0.05),
      )
    }
  })
}
