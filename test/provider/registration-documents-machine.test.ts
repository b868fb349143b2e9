/** A client from a metadata document is a stranger: it cannot use what `configure` enables (protocol.md §2.3). */
import { expect } from 'chai'
import type { Client, Configuration } from 'oidc-provider'
import { stopClock } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import type { HttpResponse, Parameters } from '../../fixtures/http.ts'
import {
  askAsMachine,
  CLIENT_ID,
  EVERYTHING,
  metadataWeb,
  SELF_DESCRIBED_MACHINE,
} from '../../fixtures/metadata-documents.ts'
import { storeClient } from '../../fixtures/registration.ts'
import { postToken } from '../../fixtures/requests.ts'

const client = { client_id: CLIENT_ID }

describe('registration: a metadata document, client_credentials not enabled by the deployment', () => {
  const web = metadataWeb()
  const enabling = (more: object): Configuration => ({
    ...web.configuration,
    features: { ...web.configuration.features, ...more },
  })

  onSqlite({ configuration: web.configuration }, (on) => {
    let clock: ReturnType<typeof stopClock>
    beforeEach(() => {
      clock = stopClock()
      clock.tick(2 * 86_400 * (web.fetched + 1))
      web.document = SELF_DESCRIBED_MACHINE
    })
    afterEach(() => clock.restore())

    const requests: [title: string, parameters: Parameters][] = [
      ['without a resource', {}],
      ['without a resource, for a scope', { scope: 'openid' }],
      ['with an empty resource', { resource: '' }],
      ['for a resource', { resource: API, scope: 'orders:read' }],
      ['for an opaque resource', { resource: OPAQUE_API }],
      ['for two resources', { resource: [API, OPAQUE_API] }],
    ]
    const noToken = (response: HttpResponse) =>
      expect([response.status, response.body], response.text).to.deep.equal([
        400,
        {
          error: 'invalid_request',
          error_description: 'requested grant type is not allowed for this client',
        },
      ])
    const saved = async () => {
      const [rows] = await on.database.sequelize.query(
        "SELECT id FROM oidc_models WHERE model = 'ClientCredentials'",
      )
      return rows.length
    }

    for (const [title, parameters] of requests) {
      it(`gets no token ${title}`, async () => {
        const before = await saved()
        noToken(await askAsMachine(on.deployment, parameters))
        // From the provider's cache.
        noToken(await askAsMachine(on.deployment, parameters))
        expect(await saved()).to.equal(before)
      })
    }

    it('gets no token when the document names nothing else', async () => {
      web.document = { ...SELF_DESCRIBED_MACHINE, grant_types: ['client_credentials'] }
      noToken(await askAsMachine(on.deployment, { resource: API }))
    })

    it('gets no token for the resource of the management API', async () => {
      noToken(await askAsMachine(on.deployment, { resource: `${on.deployment.baseUrl}/api` }))
    })

    it('gets no token for a default resource', async () => {
      const resourceIndicators = { defaultResource: () => API }
      noToken(await askAsMachine(await on.start({ configuration: enabling({ resourceIndicators }) }), {}))
    })

    it('gets no token without authentication', async () => {
      web.document = { ...EVERYTHING, grant_types: ['authorization_code', 'client_credentials'] }
      noToken(await postToken(on.deployment, { grant_type: 'client_credentials' }, { client }))
    })

    it('gets no token through the defaults of all clients', async () => {
      const { grant_types: _, ...silent } = SELF_DESCRIBED_MACHINE
      web.document = silent
      const grants = { grant_types: ['client_credentials'], response_types: [] }
      const clientDefaults = { id_token_signed_response_alg: 'ES256', ...grants } as never
      const deployment = await on.start({ configuration: { ...web.configuration, clientDefaults } })
      noToken(await askAsMachine(deployment, { resource: API }))
    })

    it("keeps the document's other grants", async () => {
      web.document = { ...EVERYTHING, grant_types: ['authorization_code', 'client_credentials'] }
      const found = await on.deployment.provider.Client.find(CLIENT_ID)
      expect(found?.grantTypes).to.deep.equal(['authorization_code'])
    })

    it("still calls the deployment's own allowClient, which sees the remaining grants", async () => {
      const asked: unknown[] = []
      const clientIdMetadataDocument = {
        ...web.configuration.features?.clientIdMetadataDocument,
        allowClient: (_ctx: unknown, { clientId, grantTypes }: Client) => {
          asked.push([clientId, grantTypes])
          return false
        },
      }
      web.document = { ...EVERYTHING, grant_types: ['authorization_code', 'client_credentials'] }
      const deployment = await on.start({ configuration: enabling({ clientIdMetadataDocument }) })
      const response = await postToken(deployment, { grant_type: 'authorization_code' }, { client })
      expect([response.status, response.body.error], response.text).to.deep.equal([400, 'invalid_client'])
      expect(asked).to.deep.equal([[CLIENT_ID, ['authorization_code']]])
    })

    it("does not allow a client when the deployment's own allowClient returns nothing", async () => {
      const clientIdMetadataDocument = {
        ...web.configuration.features?.clientIdMetadataDocument,
        allowClient: () => undefined,
      }
      const deployment = await on.start({ configuration: enabling({ clientIdMetadataDocument }) })
      const response = await postToken(deployment, { grant_type: 'authorization_code' }, { client })
      expect([response.status, response.body.error], response.text).to.deep.equal([500, 'server_error'])
    })

    it('does not change a client that the administrator stored under such a name', async () => {
      const stored = {
        ...SELF_DESCRIBED_MACHINE,
        client_id: 'https://machine.example.com/',
        client_secret: 'machine-secret',
      }
      const metadata = { ...stored, token_endpoint_auth_method: 'client_secret_post' } as const
      await storeClient(on.deployment, metadata)
      const { client_id, client_secret } = metadata
      const parameters = { grant_type: 'client_credentials', client_id, client_secret, resource: API }
      const response = await postToken(on.deployment, parameters, { client: { client_id } })
      expect(response.status, response.text).to.equal(200)
    })
  })
})
