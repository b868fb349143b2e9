/** TypeScript in the documentation: all of it compiles. */
import path from 'node:path'
import { expect } from 'chai'
import { compile, DOCS, readPage, typescriptOf } from '../../../fixtures/markdown.ts'

/** The name in the first line of a block, or else the page and a number; and the code. */
const BLOCKS = DOCS.flatMap((page) =>
  typescriptOf(readPage(page)).map(({ code }, index) => {
    // The other pages import more from the reader's own code than a complete deployment needs.
    const [, name] = /^\/\/ ((?!my-deployment)[\w-]+\.ts)\n/.exec(code) ?? []
    return [name ?? `${path.basename(page, '.md')}-${index}.ts`, code] as const
  }),
)

describe('docs: TypeScript', () => {
  it('compiles', async () => {
    const files = Object.fromEntries(BLOCKS)
    expect(BLOCKS.length).to.be.greaterThan(12)
    expect(Object.keys(files)).to.have.length(BLOCKS.length)
    expect(await compile(files)).to.equal('')
  })
})
