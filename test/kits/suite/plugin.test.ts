/** The suite for RFC 8693 against this plugin in all its flows, and against a grant that is written by hand. */
import { expect } from 'chai'
import { readPage } from '../../../fixtures/markdown.ts'
import plugin from '../../../packages/suite/drivers/plugin.ts'
import tutorial from '../../../packages/suite/drivers/tutorial-grant.ts'
import type { Configuration } from '../../../packages/suite/src/driver.ts'
import { type Outcome, type Report, run } from '../../../packages/suite/src/run.ts'
import { tableOf } from './result-table.ts'

const idsOf = ({ results }: Report, ...outcomes: Outcome[]) =>
  results.filter(({ outcome }) => outcomes.includes(outcome)).map(({ check }) => check.id)

const FORGERIES = [
  'payload-changed',
  'unsigned',
  'alg-none',
  'hmac-with-public-key',
  'foreign-key',
  'embedded-key',
  'zero-signature',
]
const OPAQUE_SUBJECT = FORGERIES.map((name) => `subject.${name}`)
const OPAQUE_ACTOR = FORGERIES.map((name) => `actor.${name}`)

/** What cannot be tried in each flow, because such tokens do not exist there. */
const NOT_RUN: readonly (readonly string[])[] = [
  OPAQUE_SUBJECT,
  [...OPAQUE_SUBJECT, 'delegation.impersonation', ...OPAQUE_ACTOR],
  ['subject.other-client', 'subject.other-resource', 'target.two-known-resources'],
]

async function reportOf(configuration: Configuration): Promise<Report> {
  const report = await run(configuration)
  expect(idsOf(report, 'broken', 'stale')).to.deep.equal([])
  return report
}

describe('suite: this plugin', () => {
  for (const [index, configuration] of plugin.entries()) {
    it(`passes every check: ${configuration.name}`, async () => {
      const report = await reportOf(configuration)
      expect(report.results.filter(({ outcome }) => outcome === 'failed')).to.deep.equal([])
      expect(idsOf(report, 'skipped')).to.deep.equal(NOT_RUN[index])
      expect(tableOf('this plugin')[configuration.name]).to.deep.equal(idsOf(report, 'passed').length)
    })
  }
})

describe('suite: a hand-written grant', () => {
  it('fails the checks that docs/contributing/suite.md lists, and no others', async () => {
    const report = await reportOf(tutorial)
    const failed = Object.fromEntries(
      report.results
        .filter(({ outcome }) => outcome === 'failed')
        .map(({ check }) => [check.id, check.level]),
    )
    expect(failed).to.deep.equal(tableOf('hand-written grant'))
    expect(readPage('docs/contributing/suite.md')).to.include(`${idsOf(report, 'passed').length} checks pass`)
  })
})
