/** When `nodeSqlite` loads Node's own SQLite, and what it says on a Node that lacks it. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { nodeSqlite } from '../../src/sequelize/database/sqlite/node-sqlite.ts'

const { Database } = nodeSqlite
const SEQUELIZE = path.resolve(import.meta.dirname, '../../src/sequelize/index.ts')

/** What a program prints that imports `./sequelize` and then runs `body`. */
async function print(body: string, ...flags: string[]): Promise<unknown> {
  const program = `import { Sequelize } from 'sequelize'
    const { nodeSqlite } = await import(${JSON.stringify(SEQUELIZE)})
    const create = () => new Sequelize({ dialect: 'sqlite', dialectModule: nodeSqlite, storage: ':memory:' })
    const isLoaded = () => process.moduleLoadList.includes('NativeModule sqlite')
    const open = () => new nodeSqlite.Database(':memory:', nodeSqlite.OPEN_READWRITE, () => {})
    const printed = () => { ${body} }
    console.log(JSON.stringify(printed()))`
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [...flags, '--input-type=module', '--eval', program])
  return JSON.parse(stdout)
}

describe("Node's own SQLite", () => {
  it('is loaded when it is used, and not with the module that offers it', async () => {
    expect(
      await print('create(); const before = isLoaded(); open(); return [before, isLoaded()]'),
    ).to.deep.equal([false, true])
  })

  const needs = (version: string) =>
    `nodeSqlite needs Node 22.18 or newer with node:sqlite: this is Node ${version}`

  it('is asked for by name and version as soon as Sequelize is created on a Node without it', async () => {
    const body = `try { create() } catch ({ message }) { return message }`
    expect(await print(body, '--no-experimental-sqlite')).to.equal(needs(process.versions.node))
  })

  describe('of Node', () => {
    const own = process.versions.node
    const pretend = (value: string) => Object.defineProperty(process.versions, 'node', { value })
    afterEach(() => pretend(own))

    for (const version of ['20.20.2', '22.17.1']) {
      it(`${version} is not enough`, () => {
        pretend(version)
        expect(() => nodeSqlite.Database).to.throw(Error, needs(version))
      })
    }

    for (const version of ['22.18.0', '24.0.0']) {
      it(`${version} is enough`, () => {
        pretend(version)
        expect(nodeSqlite.Database).to.equal(Database)
      })
    }
  })
})
