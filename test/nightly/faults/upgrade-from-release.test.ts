/** An upgrade of the version before sessions, whose processes work while the step that sessions need is made. */
import { expect } from 'chai'
import { DATABASES } from '../../../fixtures/databases.ts'
import { itOn } from '../../../fixtures/on-database.ts'
import { reasonsAgainst, rehearse } from '../../../fixtures/rehearsal/rehearse.ts'
import { unpackRelease } from '../../../fixtures/releases.ts'
import { LONGEST } from './upgrade.ts'

describe('an upgrade from the version before sessions', function () {
  this.timeout(180_000)
  const before = unpackRelease('before-003-sessions')
  after(() => before.remove())

  for (const kind of DATABASES)
    for (const disturbance of ['two at once', 'kill -9'] as const)
      itOn(
        kind,
        `makes no request fail, and no token have a wrong fate: on ${kind}, ${disturbance}`,
        async () => {
          const rehearsal = { kind, rows: 5000, disturbance, before: before.path } as const
          const outcome = (await rehearse(rehearsal)) ?? expect.fail('not rehearsed')
          expect(reasonsAgainst(rehearsal, outcome, LONGEST)).to.deep.equal([])
          expect(outcome.tokens).to.be.greaterThan(100)
        },
      )
})
