import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { CLI, run, tokenThatEnds } from '../../../fixtures/commands.ts'
import { openDatabase } from '../../../fixtures/databases.ts'
import { whileHeld } from '../../../fixtures/lease.ts'
import { useDatabase } from '../../../fixtures/on-database.ts'
import { createAdapter, createSubjectTokenStore } from '../../../src/sequelize/index.ts'

describe('oidc-impersonation', () => {
  const database = useDatabase('sqlite', { migrated: false })

  it('prints its usage, also for each command, within 80 columns', async () => {
    const commands = ['migrate', 'status', 'sql', 'purge', 'end-unspent']
    const { code, stdout } = await run(['--help'])
    expect(code).to.equal(0)
    for (const word of ['--retention', 'DATABASE_URL', '2 invalid usage']) expect(stdout).to.include(word)
    expect(stdout.split('\n').filter((line) => line.length > 80)).to.deep.equal([])
    for (const command of commands) {
      expect(stdout).to.include(`\n  ${command} `)
      expect(await run([command, '--help'])).to.deep.equal({ code: 0, stdout, stderr: '' })
    }
  })

  it('migrates, and hands the retention to purge, 0 too', async () => {
    const done = (stdout: string) => ({ code: 0, stdout, stderr: '' })
    expect(await run(['migrate'], database.url)).to.deep.equal(done('The tables are up to date.\n'))
    const store = createSubjectTokenStore(database.sequelize)
    const purges = async (retention: string, tokens: number, models: number) =>
      expect(await run(['purge', '--retention', retention], database.url)).to.deep.equal(
        done(`Deleted ${tokens} subject tokens and ${models} models of the provider.\n`),
      )
    await store.insert(tokenThatEnds(-500))
    await createAdapter(database.sequelize)('Session').upsert('gone', { jti: 'gone' }, -100)
    await purges('1000', 0, 1)
    await purges('400', 1, 0)
    await store.insert(tokenThatEnds(-310))
    await purges('0', 1, 0)
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

  const WRONG: readonly [line: string, message: string, url?: string][] = [
    ['', 'missing command'],
    ['drop', 'unknown command: drop'],
    ['purge --all', '--all'],
    ['purge --retention 90d', 'must be whole seconds'],
    ['purge --retention=-1', 'must be whole seconds'],
    ['migrate --retention 1', '--retention is only valid with purge'],
    ['purge --issuer https://a', '--issuer is only valid with end-unspent'],
    ['end-unspent --issuer a', '--issuer must be the URL'],
    ['sql --dialect oracle', '--dialect must be sqlite, postgres, mysql'],
    ['sql --role app;DROP', '--role must be the name'],
    ['purge --dry-run', '--dry-run is only valid with migrate'],
    ['purge --json', '--json is only valid with status'],
    [
      '--json check deployment.ts --example a.json',
      'the command oidc-impersonation-check, of the package oidc-provider-impersonation-check',
    ],
    ['migrate a.js b.js', 'unexpected argument: b.js'],
    ['sql a.js', 'unexpected argument: a.js'],
    ['migrate', 'DATABASE_URL is not set', ''],
    ['migrate', 'DATABASE_URL must start with', 'oracle://x'],
    ['migrate', 'DATABASE_URL is not a URL', 'mysql://u:p@ss word@['],
    [
      'migrate',
      "no such file or directory, open '/none.pem'",
      'postgres://u@127.0.0.1:1/d?sslmode=verify-full&sslrootcert=/none.pem',
    ],
  ]
  for (const [line, message, url = 'sqlite:x'] of WRONG) {
    it(`refuses "${line}" with exit code 2: ${message}`, async () => {
      const { code, stderr } = await run(line === '' ? [] : line.split(' '), url || undefined)
      expect(stderr).to.include(message).and.include('--help')
      expect(code).to.equal(2)
    })
  }
})
