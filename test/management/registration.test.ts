/** A management token is worth what the registration of its client says now (CONTRACT §2.3). */
import { expect } from 'chai'
import { machineClient, storedModels } from '../../fixtures/clients.ts'
import type { Deployment } from '../../fixtures/deployment.ts'
import { managementToken, postSubjectToken, withDeployment } from '../../fixtures/requests.ts'

const VALID = { userId: 'alice' }

describe('management: a token works as long as the client is registered for it', () => {
  const stored = machineClient({ client_id: 'stored' })
  const withStored = async (
    use: (other: Deployment, models: ReturnType<typeof storedModels>, token: string) => Promise<void>,
  ) => {
    const models = storedModels([stored])
    await withDeployment({ configuration: { adapter: models.adapter } }, async (other) => {
      const token = await managementToken(other, { client: stored })
      expect((await postSubjectToken(other, VALID, token)).status).to.equal(201)
      await use(other, models, token)
    })
  }

  it('and not once it is deleted', () =>
    withStored(async (other, models, token) => {
      models.unregister('stored')
      const answer = await postSubjectToken(other, VALID, token)
      expect([answer.status, answer.body.error]).to.deep.equal([401, 'invalid_token'])
    }))

  for (const [title, scope] of [
    ['names other scopes', 'subject-tokens:read'],
    ['names none', undefined],
  ] as const) {
    it(`and not once its metadata ${title}`, () =>
      withStored(async (other, models, token) => {
        models.register({ ...stored, scope })
        const answer = await postSubjectToken(other, VALID, token)
        expect([answer.status, answer.body.error]).to.deep.equal([403, 'insufficient_scope'])
      }))
  }
})
