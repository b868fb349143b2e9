/** A step that makes a column and two indexes, while processes of the version before work. `npm run rehearse` is its long form. */
import { expect } from 'chai'
import type { DatabaseKind } from '../../../fixtures/databases.ts'
import { beforeOn, describeOn } from '../../../fixtures/on-database.ts'
import {
  describeRehearsal,
  disturbancesOf,
  reasonsAgainst,
  rehearse,
} from '../../../fixtures/rehearsal/rehearse.ts'

const ROWS = 20_000
/** Milliseconds, on a machine that is busy with something else; less than a transaction is idle. */
export const LONGEST = 3000

export function itSurvives(kind: DatabaseKind, name: string): void {
  describeOn(kind, `an upgrade under load, on ${name}`, function () {
    this.timeout(180_000)
    beforeOn(kind)

    for (const disturbance of disturbancesOf(kind)) {
      it(`makes no request fail, and no token have a wrong fate: ${disturbance}`, async function () {
        const rehearsal = { kind, rows: ROWS, disturbance }
        const outcome = await rehearse(rehearsal)
        if (!outcome) return this.skip()
        console.log(`      ${describeRehearsal(rehearsal, outcome)}`)
        expect(reasonsAgainst(rehearsal, outcome, LONGEST)).to.deep.equal([])
        expect(outcome.tokens).to.be.greaterThan(100)
        expect(outcome.longest, 'people worked during the step').to.be.greaterThan(0)
        if (disturbance === 'kill -9') expect(outcome.kills).to.equal(10)
      })
    }
  })
}
