/** Which rights a role lacks, found without touching a row. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { readPage } from '../../fixtures/markdown.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { createRole, type Role } from '../../fixtures/role.ts'
import { StorageError } from '../../src/sequelize/database/storage-error.ts'
import { createSubjectTokenStore, migrate, purge } from '../../src/sequelize/index.ts'
import { grantsTo, missingRights } from '../../src/sequelize/schema/rights.ts'
import { statusOf } from '../../src/sequelize/schema/status.ts'
import { endUnspent } from '../../src/sequelize/tokens/end-unspent.ts'
import { BY_API, chainOf, NOW, tokensIn } from '../../src/testing/store/tokens.ts'

describe('the rights of a role', () => {
  let database: Database
  let role: Role
  beforeOn('postgres', async () => {
    database = await openDatabase('postgres')
    role = await createRole(database)
  })
  after(async () => {
    await role?.drop()
    await database?.close()
  })

  it('are told by table, and complete for the owner', async () => {
    expect(await missingRights(database.sequelize)).to.deep.equal([])
    const pool = database.connect({ username: role.name })
    const others = ['uses', 'stops', 'acknowledgements'].map((name) => `subject_token_${name}`)
    for (const table of ['oidc_models', 'impersonation_issuers', ...others])
      await database.sequelize.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role.name}`)
    await database.sequelize.query(`GRANT SELECT ON subject_tokens TO ${role.name}`)
    await database.sequelize.query(`GRANT INSERT ON subject_token_actors TO ${role.name}`)
    expect(await missingRights(pool)).to.deep.equal([
      { table: 'subject_tokens', right: 'INSERT' },
      { table: 'subject_tokens', right: 'DELETE' },
      { table: 'subject_token_actors', right: 'SELECT' },
      // PostgreSQL reads what an INSERT selects from.
      { table: 'subject_token_actors', right: 'INSERT' },
      { table: 'subject_token_actors', right: 'DELETE' },
      { table: 'impersonation_steps', right: 'SELECT' },
    ])
  })

  it('are all that the store needs: no row of a token or of its use is ever updated', async () => {
    const fresh = await openDatabase('postgres')
    const own = await createRole(fresh)
    try {
      const pool = fresh.connect({ username: own.name })
      const first = await Promise.resolve(createSubjectTokenStore(pool).ready?.()).catch(
        (error: unknown) => error,
      )
      expect(first)
        .to.have.property('forOperators')
        .that.equals('the role has no SELECT on impersonation_steps: grant it')
      for (const sql of grantsTo(own.name)) await fresh.sequelize.query(sql)
      await migrate(pool)
      expect((await statusOf(pool)).faults).to.deep.equal([])
      const store = createSubjectTokenStore(pool)
      const { issuer, insert, spend, spent } = tokensIn(store)
      await store.ready?.()
      const [{ id }, { id: used }] = [await insert(), await spend({ actor: chainOf(['bob', 'carol']) })]
      await store.recordReplay(await spent(used), { at: NOW, clientId: 'thief' })
      await store.acknowledge(await spent(used), { at: NOW, by: 'dora', note: 'seen', coversReplay: true })
      await store.revoke(issuer, id, NOW, BY_API)
      expect(await store.report(issuer, [id])).to.deep.equal([id])
      await purge(pool)
      const failure = await endUnspent(pool).catch((error: unknown) => error)
      expect(failure)
        .to.have.property('message')
        .that.includes('UPDATE ON SEQUENCE subject_tokens_number_seq')
      expect((await store.find(issuer, (await insert()).id))?.revokedAt).to.equal(undefined)
      await fresh.sequelize.query(`GRANT UPDATE ON SEQUENCE subject_tokens_number_seq TO ${own.name}`)
      expect(await endUnspent(pool)).to.equal(1)
    } finally {
      await own.drop()
      await fresh.close()
    }
  })

  it('are not taken for a table that is missing', async () => {
    await database.sequelize.query(`GRANT SELECT ON impersonation_steps TO ${role.name}`)
    const pool = database.connect({ username: role.name })
    const failure = await statusOf(pool).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(StorageError).with.property('code', '42501')
  })

  it('are not known where a statement failed for another reason', async () => {
    const other = await openDatabase('sqlite')
    try {
      await other.sequelize.query('DROP TABLE subject_token_actors')
      const failure = await missingRights(other.sequelize).catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(StorageError)
    } finally {
      await other.close()
    }
  })
})

describe('the grants of the role that serves', () => {
  it('are those of docs/operate.md', () => {
    const grants = grantsTo('id_app').map((sql) => `${sql};\n`)
    expect(readPage('docs/operate.md')).to.include(`\n\n\`\`\`sql\n${grants.join('')}\`\`\`\n`)
  })
})

describe('the rights of a role of MariaDB', () => {
  let database: Database
  const role = `i_${randomBytes(6).toString('hex')}`
  beforeOn('mysql', async () => {
    database = await openDatabase('mysql')
    await database.sequelize.query(`CREATE USER '${role}'@'%'`)
  })
  after(async () => {
    if (!database) return
    await database.sequelize.query(`DROP USER '${role}'@'%'`)
    await database.close()
  })

  it('are all that the servers need, as they are printed', async () => {
    const own = `i_${randomBytes(6).toString('hex')}`
    await database.sequelize.query(`CREATE USER '${own}'@'%'`)
    try {
      for (const sql of grantsTo(`'${own}'@'%'`)) await database.sequelize.query(sql)
      const pool = database.connect({ username: own })
      await migrate(pool)
      expect((await statusOf(pool)).faults).to.deep.equal([])
      const store = createSubjectTokenStore(pool)
      await store.ready?.()
      const { issuer, insert, spend, spent } = tokensIn(store)
      const [{ id }, { id: used }] = [await insert(), await spend({ actor: chainOf(['bob', 'carol']) })]
      await store.recordReplay(await spent(used), { at: NOW, clientId: 'thief' })
      await store.acknowledge(await spent(used), { at: NOW, by: 'dora', note: 'seen', coversReplay: true })
      await store.revoke(issuer, id, NOW, BY_API)
      await purge(pool)
      await insert()
      expect(await endUnspent(pool)).to.equal(1)
    } finally {
      await database.sequelize.query(`DROP USER '${own}'@'%'`)
    }
  })

  it('are told by table', async () => {
    const pool = database.connect({ username: role })
    const others = ['uses', 'stops', 'acknowledgements'].map((name) => `subject_token_${name}`)
    const made = ['impersonation_issuers', 'impersonation_steps']
    for (const table of ['oidc_models', 'subject_tokens', ...others, ...made])
      await database.sequelize.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO '${role}'@'%'`)
    await database.sequelize.query(`GRANT SELECT (actor_id) ON subject_token_actors TO '${role}'@'%'`)
    expect(await missingRights(pool)).to.deep.equal([
      // It may read one column of several.
      { table: 'subject_token_actors', right: 'SELECT' },
      { table: 'subject_token_actors', right: 'INSERT' },
      { table: 'subject_token_actors', right: 'DELETE' },
    ])
    const refusal = await Promise.resolve(createSubjectTokenStore(pool).ready?.()).catch(
      (error: unknown) => error,
    )
    // The columns that a role may not see are not in its catalogue.
    expect(refusal).to.have.property('forOperators').that.includes('subject_token_actors')
  })
})
