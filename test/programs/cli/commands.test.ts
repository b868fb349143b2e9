import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { type Database, openDatabase } from '../../../fixtures/databases.ts'
import { whileHeld } from '../../../fixtures/lease.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../../src/sequelize/index.ts'
import { CLI, run, tokenThatEnds } from './command.ts'

describe('oidc-impersonation', () => {
  let database: Database
  before(async () => {
    database = await openDatabase('sqlite', { migrated: false })
  })
  after(() => database.close())

  it('prints its usage', async () => {
    const { code, stdout } = await run(['--help'])
    expect(code).to.equal(0)
    for (const word of [
      'migrate',
      'status',
      'sql',
      'purge',
      'end-unspent',
      'check',
      '--retention',
      'DATABASE_URL',
    ])
      expect(stdout).to.include(word)
    expect(stdout).to.include('2 invalid usage')
  })

  for (const command of ['migrate', 'status', 'sql', 'purge', 'end-unspent', 'check']) {
    it(`prints it for ${command}, within 80 columns`, async () => {
      const { code, stdout } = await run([command, '--help'])
      expect(code).to.equal(0)
      expect(stdout).to.include(`\n  ${command} `)
      expect(stdout.split('\n').filter((line) => line.length > 80)).to.deep.equal([])
    })
  }

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

  it('hands the retention to purge, 0 too', async () => {
    await migrate(database.sequelize)
    const store = createSubjectTokenStore(database.sequelize)
    await store.insert(tokenThatEnds(-500))
    const purged = async (retention: string) => {
      const { stdout } = await run(['purge', '--retention', retention], database.url)
      return stdout
    }
    expect(await purged('1000')).to.include('Deleted 0 subject tokens')
    expect(await purged('400')).to.include('Deleted 1 subject tokens')
    await store.insert(tokenThatEnds(-310))
    expect(await purged('0')).to.include('Deleted 1 subject tokens')
  })

  it('says on stderr what it waits for', async () => {
    const waiting = await openDatabase('sqlite', { migrated: false })
    try {
      let ended: Promise<unknown[]> | undefined
      await whileHeld(waiting.sequelize, async () => {
        const child = spawn(process.execPath, ['--no-warnings', CLI, 'migrate'], {
          env: { ...process.env, DATABASE_URL: waiting.url },
          stdio: ['ignore', 'ignore', 'pipe'],
        })
        const [said] = await once(child.stderr, 'data')
        expect(String(said)).to.match(/^waiting for another process.* its lease ends in \d+ s\n$/)
        ended = once(child, 'exit')
      })
      expect(await ended).to.deep.equal([0, null])
    } finally {
      await waiting.close()
    }
  })

  it('shows its version', async () => {
    const { version } = JSON.parse(readFileSync(path.resolve(CLI, '../../../package.json'), 'utf8'))
    expect(await run(['--version'])).to.deep.equal({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  for (const dialect of ['sqlite', 'postgres', 'mysql']) {
    it(`prints the SQL of ${dialect} without a database`, async () => {
      const { code, stdout } = await run(['sql', '--dialect', dialect])
      expect(code).to.equal(0)
      for (const table of ['subject_tokens', 'subject_token_actors', 'oidc_models', 'impersonation_lease'])
        expect(stdout).to.include(`CREATE TABLE IF NOT EXISTS ${table} (`)
      const grant = 'GRANT UPDATE ON SEQUENCE subject_tokens_number_seq'
      expect(stdout.includes(grant)).to.equal(dialect === 'postgres')
    })
  }

  it('prints the grants of a role, if it is named', async () => {
    const printed = async (...args: string[]) => (await run(['sql', '--dialect', 'mysql', ...args])).stdout
    expect(await printed()).not.to.include('GRANT')
    expect(await printed('--role', "'app'@'%'")).to.include(
      "\nGRANT SELECT, INSERT, DELETE ON subject_tokens TO 'app'@'%';\n",
    )
  })

  it('takes the dialect of the SQL from DATABASE_URL, and does not connect', async () => {
    const { stdout } = await run(['sql'], 'mariadb://nobody@127.0.0.1:1/none')
    expect(stdout).to.include('ENGINE = InnoDB;')
  })

  const wrong: Record<string, [args: string[], url: string | undefined, message: string]> = {
    'no command': [[], 'sqlite:x', 'missing command'],
    'an unknown command': [['drop'], 'sqlite:x', 'unknown command: drop'],
    'an unknown option': [['purge', '--all'], 'sqlite:x', '--all'],
    'a retention of days': [['purge', '--retention', '90d'], 'sqlite:x', 'must be whole seconds'],
    'a retention below 0': [['purge', '--retention=-1'], 'sqlite:x', 'must be whole seconds'],
    'a retention for migrate': [
      ['migrate', '--retention', '1'],
      'sqlite:x',
      '--retention is only valid with purge',
    ],
    'an issuer for purge': [
      ['purge', '--issuer', 'https://a'],
      'sqlite:x',
      '--issuer is only valid with end-unspent',
    ],
    'an issuer that is none': [['end-unspent', '--issuer', 'a'], 'sqlite:x', '--issuer must be the URL'],
    'an unknown dialect': [
      ['sql', '--dialect', 'oracle'],
      undefined,
      '--dialect must be sqlite, postgres, mysql',
    ],
    'what is no name of a role': [['sql', '--role', 'app; DROP'], undefined, '--role must be the name'],
    'a dry run of a purge': [['purge', '--dry-run'], 'sqlite:x', '--dry-run is only valid with migrate'],
    'JSON of a purge': [['purge', '--json'], 'sqlite:x', '--json is only valid with status and check'],
    'no database': [['migrate'], undefined, 'DATABASE_URL is not set'],
    'two modules': [['migrate', 'a.js', 'b.js'], 'sqlite:x', 'unexpected argument: b.js'],
    'a module for SQL': [['sql', 'a.js'], 'sqlite:x', 'unexpected argument: a.js'],
    'an unknown database': [['migrate'], 'oracle://x', 'DATABASE_URL must start with'],
    'what is no URL': [['migrate'], 'mysql://u:p@ss word@[', 'DATABASE_URL is not a URL'],
    'a certificate that is not there': [
      ['migrate'],
      'postgres://u@127.0.0.1:1/d?sslmode=verify-full&sslrootcert=/none.pem',
      "no such file or directory, open '/none.pem'",
    ],
  }
  for (const [what, [args, url, message]] of Object.entries(wrong)) {
    it(`refuses ${what}, with exit code 2`, async () => {
      const { code, stderr } = await run(args, url)
      expect(stderr).to.include(message).and.include('--help')
      expect(code).to.equal(2)
    })
  }
})
