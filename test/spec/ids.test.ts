/** The ids of the rules, by which files and tests name them. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { readPage } from '../../fixtures/markdown.ts'
import { ruleIdsOf } from '../../fixtures/page.ts'

const idsInPage = ruleIdsOf(readPage('docs/protocol.md'))

describe('the rules of docs/protocol.md', () => {
  it('have an id each', () => {
    expect(idsInPage.length).to.equal(new Set(idsInPage).size)
  })

  it('have a file for each letter', () => {
    const texts = readdirSync(import.meta.dirname)
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => readFileSync(path.join(import.meta.dirname, file), 'utf8'))
    const declared = texts.flatMap((text) => /^declare(?:Rules|Ids)\('(.)'/m.exec(text)?.[1] ?? [])
    expect(declared).to.have.members([...new Set(idsInPage.map(([letter]) => letter))])
  })
})
