/** Which rights a role lacks, found without touching a row. SQLite has no roles. */
import { expect } from 'chai'
import { now } from '../../fixtures/clock.ts'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { readPage } from '../../fixtures/markdown.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { createRole, createServing, type Role } from '../../fixtures/role.ts'
import { BY_API, chainOf, NOW, tokensIn } from '../../packages/store-contract/src/store/tokens.ts'
import { StorageError } from '../../src/sequelize/database/storage-error.ts'
import { createSubjectTokenStore, migrate, purge } from '../../src/sequelize/index.ts'
import { grantsTo, missingRights } from '../../src/sequelize/schema/rights.ts'
import { statusOf } from '../../src/sequelize/schema/status.ts'
import { endUnspent } from '../../src/sequelize/tokens/end-unspent.ts'

const OTHERS = [
  ...['oidc_models', 'impersonation_issuers', 'subject_token_uses', 'subject_token_stops'],
  'subject_token_acknowledgements',
]
const ALL = 'SELECT, INSERT, UPDATE, DELETE'

for (const kind of ['postgres', 'mysql'] as const) {
  describe(`the rights of a role of ${kind}`, () => {
    let database: Database
    let role: Role
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
      role = await createRole(database)
    })
    after(async () => {
      await role?.drop()
      await database?.close()
    })
    const reasonOf = (asking: unknown) =>
      Promise.resolve(asking).catch((error: unknown) => Reflect.get(Object(error), 'forOperators'))

    it('are told by table, and complete for the owner', async () => {
      expect(await missingRights(database.sequelize)).to.deep.equal([])
      const pool = database.connect({ username: role.name })
      // MariaDB lets no one in who has no right at all.
      if (kind === 'postgres')
        expect(await reasonOf(createSubjectTokenStore(pool).ready?.())).to.equal(
          'the role has no SELECT on impersonation_steps: grant it',
        )
      for (const [right, table] of [
        ...OTHERS.map((name) => [ALL, name]),
        ['SELECT', 'subject_tokens'],
        // It may read one column of several.
        [kind === 'postgres' ? 'INSERT' : 'SELECT (actor_id)', 'subject_token_actors'],
      ])
        await database.sequelize.query(`GRANT ${right} ON ${table} TO ${role.grantee}`)
      expect(await missingRights(pool)).to.deep.equal([
        { table: 'subject_tokens', right: 'INSERT' },
        { table: 'subject_tokens', right: 'DELETE' },
        { table: 'subject_token_actors', right: 'SELECT' },
        // PostgreSQL reads what an INSERT selects from.
        { table: 'subject_token_actors', right: 'INSERT' },
        { table: 'subject_token_actors', right: 'DELETE' },
        { table: 'impersonation_steps', right: 'SELECT' },
      ])
      await database.sequelize.query(`GRANT SELECT ON impersonation_steps TO ${role.grantee}`)
      // PostgreSQL shows every role the catalogue; MariaDB not the columns that it may not see.
      const said = { postgres: 'no INSERT on subject_tokens', mysql: 'subject_token_actors' }[kind]
      expect(await reasonOf(createSubjectTokenStore(pool).ready?.())).to.include(said)
    })

    it('are all that the servers need, as they are printed: no row of a token or of its use is ever updated', async () => {
      const fresh = await openDatabase(kind)
      const own = await createServing(fresh)
      try {
        const pool = fresh.connect({ username: own?.name ?? '' })
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
        // The command asks the clock, and this file may run late.
        const unspent = await insert({ expiresAt: now() + 600 })
        if (kind === 'postgres') {
          const failure = await endUnspent(pool).catch((error: unknown) => error)
          expect(String(failure)).to.include('UPDATE ON SEQUENCE subject_tokens_number_seq')
          expect((await store.find(issuer, unspent.id))?.revokedAt).to.equal(undefined)
          await fresh.sequelize.query(`GRANT UPDATE ON SEQUENCE subject_tokens_number_seq TO ${own?.grantee}`)
        }
        expect(await endUnspent(pool)).to.equal(1)
      } finally {
        await own?.drop()
        await fresh.close()
      }
    })

    if (kind === 'postgres')
      it('are not taken for a table that is missing', async () => {
        const pool = database.connect({ username: role.name })
        const failure = await statusOf(pool).catch((error: unknown) => error)
        expect(failure).to.be.instanceOf(StorageError).with.property('code', '42501')
      })
  })
}

describe('the rights of a role', () => {
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

  it('that are granted to the one that serves are those of docs/operate.md', () => {
    const grants = grantsTo('id_app').map((sql) => `${sql};\n`)
    expect(readPage('docs/operate.md')).to.include(`\n\n\`\`\`sql\n${grants.join('')}\`\`\`\n`)
  })
})
