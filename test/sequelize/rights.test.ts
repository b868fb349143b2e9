/** Which rights a role lacks, found without touching a row. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { createRole, type Role } from '../../fixtures/role.ts'
import { StorageError } from '../../src/sequelize/database/storage-error.ts'
import { missingRights } from '../../src/sequelize/schema/rights.ts'
import { statusOf } from '../../src/sequelize/schema/status.ts'

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
    await database.sequelize.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON oidc_models TO ${role.name}`)
    await database.sequelize.query(`GRANT SELECT, UPDATE ON subject_tokens TO ${role.name}`)
    await database.sequelize.query(`GRANT INSERT ON subject_token_actors TO ${role.name}`)
    expect(await missingRights(pool)).to.deep.equal([
      { table: 'subject_tokens', right: 'INSERT' },
      { table: 'subject_tokens', right: 'DELETE' },
      { table: 'subject_token_actors', right: 'SELECT' },
      // PostgreSQL reads what an INSERT selects from, and a column that an UPDATE assigns from.
      { table: 'subject_token_actors', right: 'INSERT' },
      { table: 'subject_token_actors', right: 'UPDATE' },
      { table: 'subject_token_actors', right: 'DELETE' },
    ])
  })

  it('are not taken for a table that is missing', async () => {
    await database.sequelize.query(`GRANT SELECT ON impersonation_migrations TO ${role.name}`)
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

  it('are told by table', async () => {
    const pool = database.connect({ username: role })
    for (const table of ['oidc_models', 'subject_tokens'])
      await database.sequelize.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO '${role}'@'%'`)
    await database.sequelize.query(`GRANT SELECT (actor_id) ON subject_token_actors TO '${role}'@'%'`)
    expect(await missingRights(pool)).to.deep.equal([
      { table: 'subject_token_actors', right: 'INSERT' },
      { table: 'subject_token_actors', right: 'UPDATE' },
      { table: 'subject_token_actors', right: 'DELETE' },
    ])
  })
})
