/** The version before as `npm run rehearse -- <folder>` takes it: a package as npm packs it. */
import path from 'node:path'
import { expect } from 'chai'
import { DATABASES } from '../../../fixtures/databases.ts'
import { itOn } from '../../../fixtures/on-database.ts'
import { readManifest, useInstalled } from '../../../fixtures/packed-package.ts'
import { reasonsAgainst, rehearse } from '../../../fixtures/rehearsal/rehearse.ts'
import { LONGEST } from './upgrade.ts'

describe('an upgrade from an unpacked package, whose processes work meanwhile', function () {
  this.timeout(90_000)
  const { name } = readManifest('.')
  // Without the peers: a folder somewhere else has none.
  const reader = useInstalled([name])

  for (const kind of DATABASES) {
    itOn(kind, `makes no request fail, and no token have a wrong fate: on ${kind}`, async () => {
      const before = path.join(reader.path, 'node_modules', name)
      const rehearsal = { kind, rows: 1000, disturbance: 'two at once', before } as const
      const outcome = (await rehearse(rehearsal)) ?? expect.fail('not rehearsed')
      expect(reasonsAgainst(rehearsal, outcome, LONGEST)).to.deep.equal([])
      expect(outcome.tokens).to.be.greaterThan(100)
    })
  }
})
