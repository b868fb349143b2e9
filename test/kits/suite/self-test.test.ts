/** The suite for RFC 8693 sees every planted mistake, and sees nothing where nothing is wrong. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { ROOT, readPage } from '../../../fixtures/markdown.ts'
import { FAULT_NAMES, MODES, planted } from '../../../packages/suite/naive/faults.ts'
import { areas, modesOf, probe, untested } from '../../../packages/suite/naive/self-test.ts'
import { CATALOGUE } from '../../../packages/suite/src/catalogue.ts'

describe('suite: self-test', () => {
  for (const mode of MODES) {
    it(`passes a server without mistakes over HTTP: ${mode}`, async () => {
      const { unexpected, deviations } = await probe(mode)
      expect(unexpected).to.deep.equal([])
      expect([...deviations]).to.deep.equal([])
    })
  }

  for (const fault of FAULT_NAMES) {
    const { mistake, deviations } = planted(fault)
    it(`sees exactly this: ${mistake}`, async () => {
      const [mode = 'impersonation'] = modesOf(fault)
      const verdict = await probe(mode, fault)
      expect(verdict.unexpected).to.deep.equal([])
      expect(verdict.missing).to.deep.equal([])
      expect([...verdict.deviations]).to.include.members(deviations)
    })
  }

  it('is what docs/contributing/suite.md says', () => {
    const page = readPage('docs/contributing/suite.md').replaceAll(/\s+/g, ' ')
    const rows = [...page.matchAll(/\| ([a-z-]+) \| (\d+) \| (\d+) \|/g)]
    const told = rows.map(([, area = '', checks, mistakes]) => [area, [Number(checks), Number(mistakes)]])
    expect(Object.fromEntries(told)).to.deep.equal(areas())
    const levels = ['MUST', 'SHOULD', 'BCP', 'advisory'].map(
      (level) => CATALOGUE.filter((check) => check.level === level).length,
    )
    const [must, should, bcp, advisory] = levels
    expect(page).to.include(`${CATALOGUE.length} checks of token exchange`)
    expect(page).to.include(
      `${must} are a MUST and ${should} a SHOULD, ${bcp} come from best current practice, and ${advisory} from advisories`,
    )
    expect(page).to.include(`makes ${FAULT_NAMES.length} mistakes on request`)
  })

  it('has in its table exactly the mistakes that the naive server can make', () => {
    const folder = path.join(ROOT, 'packages/suite/naive')
    const sources = readdirSync(folder).filter((file) => file.endsWith('.ts'))
    const text = sources.map((file) => readFileSync(path.join(folder, file), 'utf8')).join('\n')
    const made = [...text.matchAll(/(?<!form\.)\bhas\('(.+?)'\)/g)].map(([, fault]) => fault)
    expect([...new Set(made)]).to.have.members(FAULT_NAMES)
  })

  it('plants at least one mistake for every check', () => {
    expect(FAULT_NAMES.length).to.be.greaterThan(100)
    expect(untested()).to.deep.equal([])
  })
})
