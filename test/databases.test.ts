/** Which databases a run of the tests has: `fixtures/databases.ts`. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'

const MOCHA = path.resolve('node_modules/mocha/bin/mocha.js')
/** Between them they choose databases in every way that there is. */
const FILES = [
  'test/storage/rows.test.ts',
  'test/scenarios/on-behalf-of/flow.test.ts',
  'packages/check/test/ends.test.ts',
  'test/programs/cli/rights.test.ts',
]

/** The titles of the suites and tests that these files declare. */
async function declared(databases: string): Promise<string> {
  const args = [MOCHA, '--dry-run', '--reporter', 'spec', ...FILES]
  const env = { ...process.env, TEST_DATABASES: databases }
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  return stdout
}

describe('the databases of a run', () => {
  it('are those that TEST_DATABASES names: no test is declared for another one, and none is skipped', async () => {
    const both = await declared('sqlite,postgres')
    expect(both).to.include('sqlite').and.to.include('postgres').and.not.to.include('mysql')
    expect(both).to.include('beside a pool')
    const one = await declared('sqlite')
    expect(one)
      .to.include('sqlite')
      .and.not.to.match(/postgres|mysql|beside a pool|pending/)
  })

  it('have names that exist', async () => {
    const error = await declared('sqlite,oracle').catch(({ stderr }) => stderr)
    expect(error).to.include('TEST_DATABASES: "oracle" is none of sqlite, postgres, mysql')
  })
})
