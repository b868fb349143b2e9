/** The ids of the rules, by which files and tests name them: each of the page has a row, and no row has another. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { readPage } from '../../fixtures/markdown.ts'
import { ruleIdsOf } from '../../fixtures/page.ts'
import type { Rule } from './rule.ts'

const idsInPage = ruleIdsOf(readPage('docs/protocol.md'))
const filesOf = (pattern: string) =>
  globSync(pattern, { cwd: import.meta.dirname }).map((file) => path.join(import.meta.dirname, file))

/** Those of the rows that a test file declares. */
async function idsOfRows(): Promise<Set<string>> {
  const tests = filesOf('*.test.ts').map((file) => readFileSync(file, 'utf8'))
  const modules = await Promise.all(filesOf('!(*.test).ts').map((file) => import(file)))
  const declared = modules
    .flatMap((module) => Object.entries<Partial<Rule>>(module))
    .flatMap(([name, rows]) => (tests.some((text) => text.includes(name)) ? rows : []))
  return new Set(declared.flatMap(({ ids }) => ids ?? []))
}

describe('the rules of docs/protocol.md', () => {
  it('have an id each', () => {
    expect(idsInPage.length).to.equal(new Set(idsInPage).size)
  })

  it('have a row each, and there is no other', async () => {
    expect([...(await idsOfRows())]).to.have.members(idsInPage)
  })
})
