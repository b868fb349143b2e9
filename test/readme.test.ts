/** What the README says, it does: its TypeScript compiles, and its first block serves the whole flow. */
import { expect } from 'chai'
import {
  compile,
  type Folder,
  makeFolder,
  readPage,
  typescriptOf,
  whileServing,
} from '../fixtures/markdown.ts'
import { expectWholeFlow } from '../fixtures/readers-flow.ts'
import { freePort } from '../fixtures/server-process.ts'
import { resolveOptions } from '../src/options.ts'

const README = readPage('README.md')
const BLOCKS = typescriptOf(README)

describe('README', () => {
  let folder: Folder
  before(async () => {
    folder = makeFolder(await freePort())
    for (const [index, { code }] of BLOCKS.entries()) folder.write(`block-${index}.ts`, code)
  })
  after(() => folder.remove())

  it('has TypeScript that compiles', async function () {
    this.timeout(60_000)
    expect(BLOCKS.length).to.be.greaterThan(0)
    expect(await compile(folder)).to.equal('')
  })

  it('starts with a block that serves the whole flow', async function () {
    this.timeout(60_000)
    const [{ code } = { code: '' }] = BLOCKS
    await whileServing(folder, { name: 'first.ts', code }, expectWholeFlow)
  })

  it('lists every option', () => {
    const never = (): never => {
      throw new Error('not called')
    }
    const store = {
      insert: never,
      findByHash: never,
      consume: never,
      get: never,
      list: never,
      revoke: never,
      revokeWhere: never,
    }
    for (const option of Object.keys(resolveOptions({ store })))
      expect(README).to.include(`| \`${option}\` |`)
  })
})
