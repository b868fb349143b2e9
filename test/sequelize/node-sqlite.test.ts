/** Node's own SQLite is experimental on Node 22, which says so when it is loaded, and older versions have none. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'

const SEQUELIZE = path.resolve(import.meta.dirname, '../../src/sequelize/index.ts')

/** What a program prints that imports `./sequelize` and then runs `body`. */
async function print(body: string): Promise<unknown> {
  const program = `const { nodeSqlite } = await import(${JSON.stringify(SEQUELIZE)})
    const isLoaded = () => process.moduleLoadList.includes('NativeModule sqlite')
    const open = () => new nodeSqlite.Database(':memory:', nodeSqlite.OPEN_READWRITE, () => {})
    const answer = () => { ${body} }
    console.log(JSON.stringify(answer()))`
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program])
  return JSON.parse(stdout)
}

describe("Node's own SQLite", () => {
  it('is loaded when it is used, and not with the module that offers it', async () => {
    expect(await print('const before = isLoaded(); open(); return [before, isLoaded()]')).to.deep.equal([
      false,
      true,
    ])
  })

  for (const [what, absent] of [
    ['SQLite', 'process.getBuiltinModule = () => undefined'],
    ['a way to ask for SQLite', 'process.getBuiltinModule = undefined'],
  ]) {
    it(`is asked for by a sentence on a Node without ${what}`, async () => {
      const message = await print(`${absent}; try { open() } catch (error) { return error.message }`)
      expect(message).to.include('Node 22.18 or newer')
    })
  }
})
