/** What docs/operate.md and docs/retention.md tell a database administrator to type, on a migrated database. */
import { expect } from 'chai'
import { actorToken } from '../../../fixtures/actor-tokens.ts'
import { DATABASES, openDatabase } from '../../../fixtures/databases.ts'
import { startDeployment, withDeployment } from '../../../fixtures/deployment.ts'
import { list, show } from '../../../fixtures/management.ts'
import { readPage } from '../../../fixtures/markdown.ts'
import { itOn } from '../../../fixtures/on-database.ts'
import { exchange, introspect, issue } from '../../../fixtures/requests.ts'
import { endUnspent } from '../../../src/sequelize/tokens/end-unspent.ts'

const PAGES = `${readPage('docs/operate.md')}${readPage('docs/retention.md')}`
const BLOCKS = [...PAGES.matchAll(/^ *```sql\n(.*?)^ *```/gms)].map(([, code = '']) => code)
const SQL = BLOCKS.flatMap((code) => code.split(';')).filter((one) => /^\s*(ALTER|REINDEX|UPDATE)/.test(one))

describe('docs: what an administrator types', () => {
  it('have statements to try', () => expect(SQL).to.have.length(4))

  for (const kind of DATABASES) {
    itOn(kind, `erase the context of a person on ${kind}, and leave the record and the token`, async () => {
      const database = await openDatabase(kind)
      const deployment = await startDeployment({ database })
      try {
        const { subjectToken, id } = await issue(deployment, {
          context: { ticketId: 'T-1', reason: 'private' },
        })
        await exchange(deployment, { subject_token: subjectToken })
        const [update = ''] = SQL.filter((one) => one.includes('UPDATE'))
        await database.sequelize.query(update.replace('1795178000', '9999999999'))
        const { body } = await show(deployment, id)
        expect(body).to.include({ id, userId: 'alice', state: 'consumed' })
        expect(body.context).to.deep.equal({})
        expect((await list(deployment, { userId: 'alice' })).body.items).to.have.length(1)
        expect((await list(deployment, { ticketId: 'T-1' })).body.items).to.have.length(0)
      } finally {
        await deployment.close()
        await database.close()
      }
    })
  }

  itOn('postgres', 'keep PostgreSQL tidy', async () => {
    const database = await openDatabase('postgres')
    try {
      for (const statement of SQL.filter((one) => !one.includes('UPDATE')))
        await database.sequelize.query(statement)
    } finally {
      await database.close()
    }
  })

  it('end what a restored database would revive', async () => {
    expect(PAGES).to.include('npx oidc-impersonation end-unspent')
    const [sql = ''] = BLOCKS.filter((code) => code.startsWith('DELETE'))
    await withDeployment({}, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      const opaque = await actorToken(deployment)
      expect(await introspect(deployment, opaque)).to.include({ active: true })
      expect(await endUnspent(deployment.database.sequelize)).to.equal(1)
      await deployment.database.sequelize.query(sql)
      expect(await introspect(deployment, opaque)).to.deep.equal({ active: false })
      const { status, body } = await exchange(deployment, { subject_token: subjectToken })
      expect([status, body.error_description]).to.deep.equal([400, 'subject_token is invalid'])
    })
  })
})
