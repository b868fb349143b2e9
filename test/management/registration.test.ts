/** A management token allows what the current registration of its client allows (protocol.md §2.3). */
import { expect } from 'chai'
import type { ClientMetadata, Configuration } from 'oidc-provider'
import { machineClient, storedModels } from '../../fixtures/clients.ts'
import { API, type Deployment, withDeployment } from '../../fixtures/deployment.ts'
import { askForManagementToken, privileges } from '../../fixtures/registration.ts'
import { managementToken, postSubjectToken, postToken } from '../../fixtures/requests.ts'
import { MANAGEMENT_SCOPES } from '../../src/constants.ts'

const VALID = { userId: 'alice' }

describe('management: a token works while the client is registered for it,', () => {
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

  it('and no longer once the client is deleted', () =>
    withStored(async (other, models, token) => {
      models.unregister('stored')
      const response = await postSubjectToken(other, VALID, token)
      expect([response.status, response.body.error]).to.deep.equal([401, 'invalid_token'])
    }))

  for (const [title, scope] of [
    ['names other scopes', 'subject-tokens:read'],
    ['names none', undefined],
  ] as const) {
    it(`and no longer once its metadata ${title}`, () =>
      withStored(async (other, models, token) => {
        models.register({ ...stored, scope })
        const response = await postSubjectToken(other, VALID, token)
        expect([response.status, response.body.error]).to.deep.equal([403, 'insufficient_scope'])
      }))
  }
})

describe('management: a client that does not authenticate', () => {
  const { client_secret: _, ...machine } = machineClient({ client_id: 'kiosk' })
  const kiosk: ClientMetadata = { ...machine, token_endpoint_auth_method: 'none' }

  const kinds: [title: string, metadata: ClientMetadata, clientDefaults: Configuration['clientDefaults']][] =
    [
      ['by its metadata', kiosk, {}],
      ['by clientDefaults', machine, { token_endpoint_auth_method: 'none' }],
      ['although it has a secret', { ...kiosk, client_secret: 'kiosk-secret' }, {}],
    ]
  for (const [title, metadata, defaults] of kinds) {
    describe(title, () => {
      const withKiosk = (use: (deployment: Deployment) => Promise<void>) => {
        const { adapter } = storedModels([metadata])
        const clientDefaults = { id_token_signed_response_alg: 'ES256', ...defaults } as const
        const clients = [machineClient({ token_endpoint_auth_method: 'client_secret_basic' })]
        return withDeployment({ configuration: { adapter, clientDefaults, clients } }, use)
      }

      it('gets no management token, whatever scope it names', () =>
        withKiosk(async (deployment) => {
          const details: unknown[] = []
          deployment.provider.on('grant.error', (_ctx, error) => void details.push(error.error_detail))
          for (const scope of [...MANAGEMENT_SCOPES, MANAGEMENT_SCOPES.join(' '), 'openid', null]) {
            const response = await askForManagementToken(deployment, { client_id: 'kiosk' }, scope)
            expect([response.status, response.body?.error], response.text).to.deep.equal([
              400,
              'invalid_target',
            ])
          }
          expect(new Set(details)).to.deep.equal(new Set(['the client does not authenticate']))
        }))

      it('can do nothing with a token that has the scopes', () =>
        withKiosk(async (deployment) => {
          const { scopes } = await privileges(deployment, { client_id: 'kiosk' })
          expect(scopes).to.deep.equal([])
        }))

      it('keeps its other resources', () =>
        withKiosk(async (deployment) => {
          const parameters = { grant_type: 'client_credentials', resource: API, scope: 'orders:read' }
          const response = await postToken(deployment, parameters, { client: { client_id: 'kiosk' } })
          expect([response.status, response.body.scope], response.text).to.deep.equal([200, 'orders:read'])
        }))
    })
  }

  it('any longer loses the access of its tokens', async () => {
    const models = storedModels([{ ...machine, client_secret: 'kiosk-secret' }])
    await withDeployment({ configuration: { adapter: models.adapter } }, async (deployment) => {
      const token = await managementToken(deployment, {
        client: { ...machine, client_secret: 'kiosk-secret' },
      })
      expect((await postSubjectToken(deployment, VALID, token)).status).to.equal(201)
      models.register(kiosk)
      const response = await postSubjectToken(deployment, VALID, token)
      expect([response.status, response.body.error]).to.deep.equal([403, 'insufficient_scope'])
    })
  })
})
