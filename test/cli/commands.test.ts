import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { DATABASES, type Database, isAvailable, openDatabase } from '../../fixtures/databases.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'
import { earliestId, mintId } from '../../src/subject-tokens/id.ts'
import { hashSecret, mintSecret } from '../../src/subject-tokens/secret.ts'

const CLI = path.resolve(import.meta.dirname, '../../src/cli/main.ts')

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

const ISSUER = 'https://id.example.com/oidc'

/** A subject token that expires in so many seconds. */
function tokenThatEnds(seconds: number, issuer = ISSUER) {
  const now = Math.floor(Date.now() / 1000)
  return {
    id: earliestId(now - 600).slice(0, 12) + mintId().slice(12),
    tokenHash: hashSecret(mintSecret()),
    issuer,
    userId: 'alice',
    context: {},
    createdBy: 'backend',
    createdAt: now - 600,
    expiresAt: now + seconds,
  }
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
    await store.insert(tokenThatEnds(-100))
    const purged = async (retention: string) => {
      const { stdout } = await run(['purge', '--retention', retention], database.url)
      return stdout
    }
    expect(await purged('1000')).to.include('Deleted 0 subject tokens')
    expect(await purged('50')).to.include('Deleted 1 subject tokens')
    await store.insert(tokenThatEnds(-2))
    expect(await purged('0')).to.include('Deleted 1 subject tokens')
  })

  it('says on stderr what it waits for', async () => {
    const waiting = await openDatabase('sqlite', { migrated: false })
    const wait = { patience: 1, onWait: () => {} }
    try {
      let ended: Promise<unknown[]> | undefined
      await driverOf(waiting.sequelize).dialect.exclusively(waiting.sequelize, wait, async () => {
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
      for (const table of [
        'subject_tokens',
        'subject_token_actors',
        'oidc_models',
        'impersonation_migrations',
      ])
        expect(stdout).to.include(`CREATE TABLE IF NOT EXISTS ${table} (`)
      const grant = 'GRANT UPDATE ON SEQUENCE subject_tokens_status_index_seq'
      expect(stdout.includes(grant)).to.equal(dialect === 'postgres')
    })
  }

  it('takes the dialect of the SQL from DATABASE_URL, and does not connect', async () => {
    const { stdout } = await run(['sql'], 'mariadb://nobody@127.0.0.1:1/none')
    expect(stdout).to.include('ENGINE = InnoDB;')
  })

  const wrong: Record<string, [args: string[], url: string | undefined, message: string]> = {
    'no command': [[], 'sqlite:x', 'missing command'],
    'an unknown command': [['drop'], 'sqlite:x', 'unknown command: drop'],
    'arguments too many': [['migrate', 'right', 'now'], 'sqlite:x', 'unexpected argument: right now'],
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
    'no database': [['migrate'], undefined, 'DATABASE_URL is not set'],
    'an unknown database': [['migrate'], 'oracle://x', 'DATABASE_URL must start with'],
    'what is no URL': [['migrate'], 'mysql://u:p@ss word@[', 'DATABASE_URL is not a URL'],
    'an unknown parameter': [
      ['migrate'],
      'mysql://u@127.0.0.1:1/d?ssl=true',
      'unknown parameter of DATABASE_URL: ssl',
    ],
    'a parameter that is given twice': [
      ['migrate'],
      'postgres://u@127.0.0.1:1/d?sslmode=require&sslmode=disable',
      'given twice: sslmode',
    ],
    'an unknown TLS mode': [['migrate'], 'postgres://u@127.0.0.1:1/d?sslmode=prefer', 'sslmode must be'],
    'a certificate without a TLS mode': [
      ['migrate'],
      'postgres://u@127.0.0.1:1/d?sslrootcert=/ca.pem',
      'sslrootcert needs sslmode',
    ],
    'a certificate that is not there': [
      ['migrate'],
      'mysql://u@localhost:1/d?sslmode=verify-full&sslrootcert=/none.pem',
      'sslrootcert cannot be read: /none.pem (ENOENT)',
    ],
    'the identity of an address': [
      ['migrate'],
      'mysql://u@127.0.0.1:1/d?sslmode=verify-full',
      'needs the name of the host',
    ],
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
    expect(stderr).to.include('ECONNREFUSED').and.not.to.include('--help')
    expect(stdout + stderr).not.to.include('hunter2')
  })
})

for (const kind of DATABASES) {
  describe(`oidc-impersonation, on ${kind}`, () => {
    let database: Database
    before(async function () {
      if (!(await isAvailable(kind))) this.skip()
    })
    beforeEach(async () => {
      database = await openDatabase(kind, { migrated: false })
    })
    afterEach(() => database?.close())

    it('migrates by the SQL that it prints', async () => {
      const { stdout } = await run(['sql'], database.url)
      for (const sql of stdout.split(/;\n/).filter((text) => text.trim() !== ''))
        await database.sequelize.query(sql)
      await createSubjectTokenStore(database.sequelize).ready?.()
      expect((await run(['migrate'], database.url)).code).to.equal(0)
    })

    it('shows the state of the tables', async () => {
      const empty = await run(['status'], database.url)
      expect(empty.code, empty.stderr).to.equal(0)
      expect(empty.stdout).to.include('001-subject-tokens  missing: run `oidc-impersonation migrate`')
      expect(empty.stdout).to.include('subject_tokens  missing\n')

      await migrate(database.sequelize)
      const token = tokenThatEnds(60)
      await createSubjectTokenStore(database.sequelize).insert(token)
      await createAdapter(database.sequelize)('Session').upsert('s', { jti: 's' }, 60)
      const { stdout } = await run(['status'], database.url)
      const written = new Date(token.createdAt * 1000).toISOString()
      expect(stdout).to.include('001-subject-tokens  applied\n002-oidc-models  applied\n')
      expect(stdout).to.include(`subject_tokens  1 rows, the oldest written ${written}\n`)
      expect(stdout).to.include('subject_token_actors  0 rows\n')
      // Read back: the adapter's clock never steps back, and other tests of this process may have set it ahead.
      const [row] = await database.sequelize.query<{ written_at: unknown }>(
        'SELECT written_at FROM oidc_models',
        {
          type: QueryTypes.SELECT,
        },
      )
      const saved = new Date(Math.floor(Number(row?.written_at) / 1e6) * 1000).toISOString()
      expect(stdout).to.include(`oidc_models  1 rows, the oldest written ${saved}\n`)
    })

    it('shows the steps of a later version', async () => {
      await migrate(database.sequelize)
      await database.sequelize.query("INSERT INTO impersonation_migrations (name) VALUES ('999-later')")
      const { stdout } = await run(['status'], database.url)
      expect(stdout).to.include('\n999-later  applied by a later version\n').and.not.to.include('missing')
    })

    it('ends what is unspent, of all issuers or of one', async () => {
      await migrate(database.sequelize)
      const store = createSubjectTokenStore(database.sequelize)
      const other = 'https://other.example.com'
      const [live, spent, expired, elsewhere] = [
        tokenThatEnds(60),
        tokenThatEnds(60),
        tokenThatEnds(-60),
        tokenThatEnds(60, other),
      ]
      for (const token of [live, spent, expired, elsewhere]) await store.insert(token)
      await store.consume(ISSUER, spent.tokenHash, spent.createdAt, {
        at: spent.createdAt,
        clientId: 'spa',
        resource: 'https://api.example.com',
        accessToken: { format: 'jwt', expiresAt: spent.expiresAt },
      })
      const ended = async () => {
        const found = []
        for (const { issuer, id } of [live, spent, expired, elsewhere])
          found.push((await store.get(issuer, id))?.revokedAt !== undefined)
        return found
      }
      const one = await run(['end-unspent', '--issuer', ISSUER], database.url)
      expect(one.stdout, one.stderr).to.equal(`Revoked 1 unspent subject tokens of ${ISSUER}.\n`)
      expect(await ended()).to.deep.equal([true, false, false, false])
      expect((await run(['end-unspent'], database.url)).stdout).to.equal(
        'Revoked 1 unspent subject tokens.\n',
      )
      expect(await ended()).to.deep.equal([true, false, false, true])
      expect((await run(['end-unspent'], database.url)).stdout).to.equal(
        'Revoked 0 unspent subject tokens.\n',
      )
    })
  })
}
