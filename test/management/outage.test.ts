/** The management API when storage is down (protocol.md §2.4). */
import { inspect } from 'node:util'
import { expect } from 'chai'
import { openDatabase } from '../../fixtures/databases.ts'
import { withDeployment } from '../../fixtures/deployment.ts'
import { postSubjectToken } from '../../fixtures/requests.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const VALID = { userId: 'alice' }

describe('management: when storage is down', () => {
  it('responds with 503 and Retry-After, says nothing private, and half-writes nothing', async () => {
    const database = await openDatabase('sqlite')
    const store = {
      ...createSubjectTokenStore(database.sequelize),
      insert: () => Promise.reject(new Error('private: no connection')),
    }
    try {
      await withDeployment({ database, options: { store } }, async (deployment) => {
        const response = await postSubjectToken(deployment, VALID)
        expect([response.status, response.body], response.text).to.deep.equal([
          503,
          {
            error: 'temporarily_unavailable',
            error_description: 'the service is temporarily unavailable',
          },
        ])
        expect(Number(response.headers.get('retry-after'))).to.be.greaterThan(0)
        expect(response.headers.get('www-authenticate')).to.equal(null)
        expect(deployment.events).to.deep.equal([
          {
            name: 'impersonation.failed',
            payload: {
              door: 'management',
              status: 503,
              check: 'storage',
              reason: 'Error',
              clientId: 'backend',
            },
          },
        ])
        expect(deployment.errors).to.have.lengthOf(1)
      })
    } finally {
      await database.close()
    }
  })

  it('responds with 503 for a database whose tables are gone', () =>
    withDeployment({}, async (deployment) => {
      await deployment.database.sequelize.query('DROP TABLE subject_tokens')
      const response = await postSubjectToken(deployment, VALID)
      expect([response.status, response.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
      expect(response.text).to.not.include('migrate')
      expect(inspect(deployment.errors)).to.include('run `oidc-impersonation migrate`')
    }))
})
