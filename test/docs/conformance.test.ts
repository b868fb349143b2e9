/** docs/conformance.md: every row names a test that exists. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { ROOT, readPage } from '../../fixtures/markdown.ts'

const ROWS = readPage('docs/conformance.md')
  .split('\n')
  .filter((line) => /^\| (?!§|advisory|---)/.test(line) && !line.startsWith('|---'))

describe('docs: conformance', () => {
  it('has rows', () => {
    expect(ROWS.length).to.be.greaterThan(40)
  })

  for (const row of ROWS) {
    const [, section = '', required = ''] = row.split(' | ').map((cell) => cell.replace(/^\| /, ''))
    it(`shows ${section} ${required}`.slice(0, 100), () => {
      const [, file = '', title = ''] =
        /\]\(\.\.\/((?:test|packages)\/[^)]+)\): `([^`]+)` \|$/.exec(row) ?? []
      expect(existsSync(path.join(ROOT, file)), row).to.equal(true)
      const source = readFileSync(path.join(ROOT, file), 'utf8')
      // Of a test, or of a row of the matrix.
      const titles = [
        ...source.matchAll(
          /\b(?:it|describe|rowsOf|everyPassed|passed|everyWay)\w*\(\s*(['`"])((?:(?!\1)[^\\]|\\.)+)\1/gs,
        ),
      ].map(([, , text]) => text)
      expect(
        titles.some((text) => text?.includes(title)),
        `${title} in ${file}`,
      ).to.equal(true)
    })
  }
})
