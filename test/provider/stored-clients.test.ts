/** A client is looked up at each use: gone is a refusal, and a database that is down is a failure (protocol.md §2.4, §3.2). */
import { expect } from 'chai'
import { type ClientMetadata, errors } from 'oidc-provider'
import { actorJwt, withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient, publicClient, storedModels } from '../../fixtures/clients.ts'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { exchange, managementToken, postSubjectToken } from '../../fixtures/requests.ts'
import { expectActorRefused, expectRefused } from '../exchange/refusals.ts'

const backend = machineClient({ client_id: 'stored-backend' })
const application = publicClient({ client_id: 'stored-spa' })

describe('a client in the database', () => {
  const models = storedModels()
  const database: { failure: Error | undefined } = { failure: undefined }
  let deployment: Deployment
  before(async () => {
    const adapter = (model: string) => {
      const storage = models.adapter(model)
      const find = async (id: string) => {
        if (database.failure && model === 'Client') throw database.failure
        return storage.find(id)
      }
      return { ...storage, find }
    }
    deployment = await startDeployment({ configuration: { adapter } })
  })
  after(() => deployment.close())
  beforeEach(() => {
    for (const client of [backend, application]) models.register(client)
    database.failure = undefined
  })

  const actorOf = ({ client_id }: ClientMetadata) => actorJwt(deployment, { client_id })
  const sendWith = (actor: string) => (subjectToken: string) =>
    exchange(deployment, { subject_token: subjectToken, ...withActor(actor) })

  describe('that cannot be looked up, because the database is down,', () => {
    it('is 503 with Retry-After at the management API, and the token works later', async () => {
      const token = await managementToken(deployment, { client: backend })
      database.failure = new Error('private: no connection')
      const events = deployment.events.length
      const failures = deployment.errors.length
      const response = await postSubjectToken(deployment, { userId: 'alice' }, token)
      expect([response.status, response.body], response.text).to.deep.equal([
        503,
        { error: 'temporarily_unavailable', error_description: 'the service is temporarily unavailable' },
      ])
      expect(Number(response.headers.get('retry-after'))).to.be.greaterThan(0)
      expect(response.headers.get('www-authenticate')).to.equal(null)
      expect(deployment.events.slice(events).map(({ name }) => name)).to.deep.equal(['impersonation.failed'])
      expect(deployment.errors.slice(failures)).to.have.lengthOf(1)

      database.failure = undefined
      expect((await postSubjectToken(deployment, { userId: 'alice' }, token)).status).to.equal(201)
    })

    const failures: [status: number, title: string, failure: Error][] = [
      [500, '500', new Error('private: no connection')],
      [503, 'the status of the adapter', new errors.OIDCProviderError(503, 'private: no connection')],
    ]
    for (const [status, title, failure] of failures) {
      it(`is ${title} where an actor token names it, and never an actor token that is not valid`, async () => {
        const actor = await actorOf(application)
        const response = await expectRefused(deployment, {
          attempt: (subjectToken) => {
            database.failure = failure
            return sendWith(actor)(subjectToken)
          },
          valid: (subjectToken) => {
            database.failure = undefined
            return sendWith(actor)(subjectToken)
          },
          status,
          error: 'server_error',
          check: 'server_error',
        })
        expect(response.text).not.to.include('private')
      })
    }
  })

  describe('whose metadata is not valid any more', () => {
    const invalid = { redirect_uris: ['no uri'] }

    it('is gone for the management API', async () => {
      const token = await managementToken(deployment, { client: backend })
      models.register({ ...backend, ...invalid })
      const response = await postSubjectToken(deployment, { userId: 'alice' }, token)
      expect([response.status, response.body], response.text).to.deep.equal([
        401,
        { error: 'invalid_token', error_description: 'the access token is invalid' },
      ])
    })

    it('is gone where an actor token names it', async () => {
      const actor = await actorOf(application)
      models.register({ ...application, ...invalid })
      const before = deployment.events.length
      await expectActorRefused(deployment, actor)
      const refused = deployment.events.slice(before).find(({ name }) => name === 'subject_token.refused')
      expect(refused?.payload).to.include({ reason: 'its client is gone' })
    })
  })
})
