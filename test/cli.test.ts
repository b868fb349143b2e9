import { execFile } from 'node:child_process'
import path from 'node:path'
import { expect } from 'chai'
import { type Database, openDatabase } from '../fixtures/databases.ts'
import { createAdapter } from '../src/sequelize/index.ts'

const CLI = path.resolve(import.meta.dirname, '../src/cli/main.ts')

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(args: readonly string[], databaseUrl?: string): Promise<Outcome> {
  const { DATABASE_URL: _, ...env } = process.env
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--no-warnings', CLI, ...args],
      { env: databaseUrl === undefined ? env : { ...env, DATABASE_URL: databaseUrl } },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })
}

describe('oidc-impersonation', () => {
  let database: Database
  before(async () => {
    database = await openDatabase('sqlite', { migrated: false })
  })
  after(() => database.close())

  it('prints its usage', async () => {
    const { code, stdout } = await run(['--help'])
    expect(code).to.equal(0)
    for (const word of ['migrate', 'purge', '--retention', 'DATABASE_URL']) expect(stdout).to.include(word)
  })

  it('migrates, then purges', async () => {
    expect(await run(['migrate'], database.url)).to.deep.equal({
      code: 0,
      stdout: 'The tables are up to date.\n',
      stderr: '',
    })
    await createAdapter(database.sequelize)('Session').upsert('gone', { jti: 'gone' }, -100)
    expect(await run(['purge', '--retention', '0'], database.url)).to.deep.equal({
      code: 0,
      stdout: 'Deleted 0 subject tokens and 1 models of the provider.\n',
      stderr: '',
    })
  })

  const wrong: Record<string, [args: string[], url: string | undefined, message: string]> = {
    'no command': [[], 'sqlite:x', 'missing command'],
    'an unknown command': [['drop'], 'sqlite:x', 'unknown command: drop'],
    'one argument too many': [['migrate', 'now'], 'sqlite:x', 'unexpected argument: now'],
    'an unknown option': [['purge', '--all'], 'sqlite:x', '--all'],
    'a retention of days': [['purge', '--retention', '90d'], 'sqlite:x', 'whole seconds'],
    'a retention for migrate': [['migrate', '--retention', '1'], 'sqlite:x', 'only valid with purge'],
    'no database': [['migrate'], undefined, 'DATABASE_URL is not set'],
    'an unknown database': [['migrate'], 'oracle://x', 'DATABASE_URL must start with'],
  }
  for (const [what, [args, url, message]] of Object.entries(wrong)) {
    it(`refuses ${what}, with exit code 2`, async () => {
      const { code, stderr } = await run(args, url)
      expect(stderr).to.include(message).and.include('--help')
      expect(code).to.equal(2)
    })
  }

  it('fails with exit code 1 when the database does, and shows no password', async () => {
    const { code, stdout, stderr } = await run(['migrate'], 'postgres://user:hunter2@127.0.0.1:1/none')
    expect(code).to.equal(1)
    expect(stderr).to.include('ECONNREFUSED')
    expect(stdout + stderr).not.to.include('hunter2')
  })
})
