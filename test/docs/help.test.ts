/** docs/help.md quotes errors as the code writes them. */
import { globSync } from 'node:fs'
import { expect } from 'chai'
import { ROOT, readPage } from '../../fixtures/markdown.ts'
import { codeOf, rowsOf, sectionOf } from '../../fixtures/page.ts'

const PAGE = readPage('docs/help.md')
const SYMPTOMS = ['At the token endpoint', 'At the management API', 'At your API', 'At the database']

const SOURCE = globSync('{,packages/*/}src/**/*.ts', { cwd: ROOT })
  .map((file) => readPage(file))
  .join('\n')

describe('docs: help', () => {
  it('quotes texts that the code has', () => {
    const quoted = SYMPTOMS.flatMap((title) => rowsOf(sectionOf(PAGE, title)))
      .flatMap(([symptom = '']) => codeOf(symptom))
      .filter((text) => text.includes(' ') && !text.includes('…'))
    expect(quoted.length).to.be.greaterThan(6)
    for (const text of quoted) expect(SOURCE, text).to.include(text)
  })

  it('says a cause and what to do for each symptom', () => {
    for (const title of SYMPTOMS) {
      for (const row of rowsOf(sectionOf(PAGE, title))) {
        expect(row, row[0]).to.have.length(3)
        for (const cell of row) expect(cell, row[0]).not.to.equal('')
      }
    }
  })
})
