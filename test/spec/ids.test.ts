/** The ids of the rules, by which files and tests name them: each of the page has a cell, and no cell has another. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { ROOT, readPage } from '../../fixtures/markdown.ts'
import { ruleIdsOf } from '../../fixtures/page.ts'

const idsInPage = ruleIdsOf(readPage('docs/protocol.md'))

/** As mocha lists them, without running one. */
async function idsOfCells(): Promise<Set<string>> {
  const others = ['--ignore', 'test/spec/ids.test.ts', 'test/spec/*.test.ts']
  const args = ['node_modules/mocha/bin/mocha.js', '--dry-run', '--reporter', 'json', ...others]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, maxBuffer: 2 ** 26 })
  const titles: string[] = JSON.parse(stdout).tests.map(({ title }: { title: string }) => title)
  return new Set(titles.flatMap((title) => /^[A-Z]\d+(?: [A-Z]\d+)*/.exec(title)?.[0].split(' ') ?? []))
}

describe('the rules of docs/protocol.md', () => {
  it('have an id each', () => {
    expect(idsInPage.length).to.equal(new Set(idsInPage).size)
  })

  it('have a cell each, and there is no other', async () => {
    expect([...(await idsOfCells())]).to.have.members(idsInPage)
  })
})
