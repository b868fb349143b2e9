/** `oidc-impersonation check`: what it says of the database, word for word. */
import { expect } from 'chai'
import type { Sequelize } from 'sequelize'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { withDeployment } from '../../fixtures/deployment.ts'
import { beforeOn, describeOn } from '../../fixtures/on-database.ts'
import { createRole, type Role } from '../../fixtures/role.ts'
import type { Finding } from '../../src/cli/check/finding.ts'
import { checkStorage } from '../../src/cli/check/storage.ts'
import { insideOf } from '../../src/impersonation.ts'
import type { SubjectTokenStore } from '../../src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { MODELS, STEPS, TOKEN_TABLES } from '../../src/sequelize/tables.ts'

interface Planted {
  readonly store?: SubjectTokenStore
  /** As the module exports it. */
  readonly sequelize?: Sequelize
}

async function check({ store, sequelize }: Planted): Promise<Finding[]> {
  const findings: Finding[] = []
  await withDeployment({ options: store && { store } }, async ({ impersonation }) => {
    const deployment = { impersonation, inside: insideOf(impersonation) }
    findings.push(...(await checkStorage({ ...deployment, ...(sequelize && { sequelize }) })))
  })
  return findings
}

const ok = (about: string, text: string) => ({ level: 'ok', about, text })
const warning = (about: string, text: string, advice: string) => ({ level: 'warning', about, text, advice })
const fault = (about: string, text: string, advice: string) => ({ level: 'fault', about, text, advice })

describe('oidc-impersonation check: the storage', () => {
  const SERVED = ok('storage', 'responds, and its tables fit')
  const NO_RIGHTS = {
    level: 'note',
    about: 'rights',
    text: 'not checked: the module does not export `sequelize`',
  }
  let database: Database
  beforeEach(async () => {
    database = await openDatabase('sqlite')
  })
  afterEach(() => database.close())

  /** A store that fails each time that `fails` says so of the number of the read. */
  function failing(fails: (read: number) => boolean) {
    const store = createSubjectTokenStore(database.sequelize)
    let reads = 0
    return {
      ...store,
      async find(...args: Parameters<typeof store.find>) {
        reads += 1
        if (fails(reads)) throw new Error(`too many connections: ${reads}`)
        return store.find(...args)
      },
    }
  }

  it('serves many reads at once', async () => {
    expect(await check({})).to.deep.equal([
      SERVED,
      ok('many at once', '40 reads at the same time succeeded'),
      NO_RIGHTS,
    ])
  })

  it('that fails for some of many reads at once is a fault', async () => {
    const store = failing((read) => read % 4 === 0)
    expect(await check({ store })).to.deep.equal([
      SERVED,
      fault(
        'many at once',
        '10 of 40 reads at the same time failed: too many connections: 4',
        'look at the limits of the pool, of the server and of the pooler (docs/operate.md, Databases)',
      ),
      NO_RIGHTS,
    ])
  })

  it('that is not ready is not asked for anything else', async () => {
    const store = { ...failing(() => true), ready: () => Promise.reject(new Error('no such table')) }
    expect(await check({ store })).to.deep.equal([
      fault(
        'storage',
        'not ready: no such table',
        'check the database URL, and run `oidc-impersonation migrate`',
      ),
    ])
  })

  it('is asked for the rights of its role', async () => {
    expect((await check({ sequelize: database.sequelize })).slice(2)).to.deep.equal([
      ok('rights', 'the role may read, insert, update and delete in every table'),
    ])
  })

  it('whose rights cannot be told is a fault', async () => {
    await database.sequelize.query('DROP TABLE subject_token_actors')
    const [, , rights, ...others] = await check({ sequelize: database.sequelize })
    expect(others).to.deep.equal([])
    expect(rights).to.include({
      level: 'fault',
      about: 'rights',
      advice: 'check that `sequelize` is that of the store',
    })
    expect(rights?.text).to.match(/^not known: storage failed: the tables are missing/)
  })
})

describeOn('postgres', 'oidc-impersonation check: the storage, on postgres', () => {
  let role: Role
  let database: Database
  beforeOn('postgres', async () => {
    database = await openDatabase('postgres')
    role = await createRole(database)
  })
  after(async () => {
    await role?.drop()
    await database?.close()
  })

  it('names the rights that the role lacks, of which the purge alone needs two', async () => {
    const given: Readonly<Record<string, string>> = {
      subject_tokens: 'SELECT, UPDATE',
      subject_token_actors: 'SELECT, INSERT',
      oidc_models: 'SELECT, INSERT, UPDATE',
    }
    for (const { name, rights } of [...TOKEN_TABLES, STEPS, MODELS])
      await database.sequelize.query(`GRANT ${given[name] ?? rights.join(', ')} ON ${name} TO ${role.name}`)
    const sequelize = database.connect({ username: role.name })
    const findings = await check({ sequelize })
    const purge = 'give it to the role that runs the purge'
    expect(findings.slice(2)).to.deep.equal([
      fault(
        'rights',
        'no INSERT on subject_tokens',
        'GRANT INSERT ON subject_tokens to the role of the deployment',
      ),
      warning('rights', 'no DELETE on subject_tokens', purge),
      warning('rights', 'no DELETE on subject_token_actors', purge),
      fault(
        'rights',
        'no DELETE on oidc_models',
        'GRANT DELETE ON oidc_models to the role of the deployment',
      ),
    ])
  })
})
