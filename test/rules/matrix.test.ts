/** Every rule of docs/protocol.md, at every door and in every form where it holds: one test for each cell. */
import { expect } from 'chai'
import { readPage } from '../../fixtures/markdown.ts'
import { ruleIdsOf } from '../../fixtures/page.ts'
import { accessTokenRules } from './access-token.ts'
import { consoleRules } from './console.ts'
import { downstreamRules } from './downstream.ts'
import { eventRules } from './events.ts'
import { exchangeRules } from './exchange.ts'
import { functionRules } from './functions.ts'
import { issueRules } from './management-issue.ts'
import { recordRules } from './management-records.ts'
import { managementRouteRules } from './management-routes.ts'
import { stopRules } from './management-stops.ts'
import { registrationRules } from './registration.ts'
import { isComplete, type Rule } from './rule.ts'
import { play } from './scene.ts'
import { closeSettings } from './settings.ts'
import { statusListRules } from './status-lists.ts'

const DOORS: Readonly<Record<string, readonly Rule[]>> = {
  E: exchangeRules,
  D: downstreamRules,
  T: accessTokenRules,
  S: statusListRules,
  P: functionRules,
  V: eventRules,
  C: consoleRules,
  M: [...managementRouteRules, ...issueRules, ...recordRules, ...stopRules, ...registrationRules],
}

const idsInPage = ruleIdsOf(readPage('docs/protocol.md'))
const cellsOf = (rules: readonly Rule[]) =>
  rules.flatMap(({ title, cells }) =>
    Object.entries(cells).map(([form, cell]) => ({ title: `${title}: ${form}`, cell })),
  )

describe('the rules of docs/protocol.md', () => {
  after(closeSettings)

  it('have an id each', () => {
    expect(idsInPage.length).to.equal(new Set(idsInPage).size)
  })

  for (const [door, rules] of Object.entries(DOORS)) {
    const cells = cellsOf(rules)
    const reasons = cells.filter(({ cell }) => typeof cell === 'string').length
    describe(`${door}: ${cells.length - reasons} cells, and ${reasons} that cannot be`, () => {
      it('are those of the table', () => {
        const inPage = idsInPage.filter((id) => id.startsWith(door))
        expect([...new Set(rules.map(({ id }) => id))]).to.have.members(inPage)
      })

      it('say in each cell what is answered and what the record says, or why there is none', () => {
        const incomplete = cells.filter(({ cell }) =>
          typeof cell === 'string' ? cell === '' : !isComplete(cell),
        )
        expect(incomplete.map(({ title }) => title)).to.deep.equal([])
      })

      for (const { title, cell } of cells) {
        if (typeof cell !== 'string') it(title, () => play(cell))
      }
    })
  }
})
