/** A secret in the body of a client that is registered with client_secret_basic (protocol.md §2.3, §3, §8.1). */
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { machineClient, storedModels, webClient } from '../../fixtures/clients.ts'
import { API, type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { credentials, type HttpResponse, type Parameters } from '../../fixtures/http.ts'
import { login, loginClient } from '../../fixtures/logins.ts'
import { apiClient, downstream, ownToken, passOn } from '../../fixtures/on-behalf-of.ts'
import { exchange, issue, postToken } from '../../fixtures/requests.ts'
import { expectRefused } from './refusals.ts'

const TEXT = 'the client is registered with client_secret_basic: send its secret in the Authorization header'
const REFUSED = { error: 'invalid_client', error_description: TEXT }

/** The registration of `webClient` names no method. */
const named = webClient({ client_id: 'named', token_endpoint_auth_method: 'client_secret_basic' })
const poster = webClient({ client_id: 'poster', token_endpoint_auth_method: 'client_secret_post' })
const postingBackend = machineClient({
  client_id: 'posting-backend',
  token_endpoint_auth_method: 'client_secret_post',
})
const portal = loginClient({ client_secret: 'portal-secret', token_endpoint_auth_method: undefined })
const service = machineClient({ client_id: 'service', scope: undefined })

/** The client as it authenticates by client_secret_post. */
const inBody = ({ client_id, client_secret }: ClientMetadata): Parameters => ({ client_id, client_secret })

const expectUnauthenticated = ({ status, body, headers, text }: HttpResponse) => {
  expect([status, body], text).to.deep.equal([401, REFUSED])
  expect(headers.get('cache-control')).to.equal('no-store')
}

describe('a secret in the body, of a client that is registered with client_secret_basic,', () => {
  let deployment: Deployment
  before(async () => {
    const clients = [named, poster, postingBackend, portal, service]
    deployment = await startDeployment(downstream({}, { clients }))
  })
  after(() => deployment.close())

  const managementToken = (client: ClientMetadata, parameters: Parameters = {}, as = inBody) =>
    postToken(
      deployment,
      {
        grant_type: 'client_credentials',
        resource: `${deployment.baseUrl}/api`,
        scope: 'subject-tokens:create',
        ...as(client),
        ...parameters,
      },
      { client: as === inBody ? { client_id: client.client_id } : client },
    )

  describe('at the exchange', () => {
    for (const [title, client] of [
      ['by name', named],
      ['by default, because its registration names no method', webClient()],
    ] as const) {
      it(`is refused with a text that says what to do: registered so ${title}`, async () => {
        const statements = deployment.database.statements.length
        expectUnauthenticated(await exchange(deployment, { subject_token: 'sub_x', ...inBody(client) }))
        expect(deployment.database.statements.slice(statements), 'it was looked up').to.deep.equal([])

        const response = await expectRefused(deployment, {
          attempt: (subjectToken) => exchange(deployment, { subject_token: subjectToken, ...inBody(client) }),
          valid: (subjectToken) => exchange(deployment, { subject_token: subjectToken }, { client }),
          status: 401,
          error: 'invalid_client',
          check: 'request',
        })
        expectUnauthenticated(response)
        expect(deployment.events.at(-2)?.payload).to.deep.include({
          reason: TEXT,
          clientId: client.client_id,
        })
      })
    }

    it('is refused where the client is stored without a method', async () => {
      const stored = webClient({ client_id: 'stored' })
      const { adapter } = storedModels([stored])
      await withDeployment({ configuration: { adapter } }, async (own) => {
        const { subjectToken } = await issue(own)
        expectUnauthenticated(await exchange(own, { subject_token: subjectToken, ...inBody(stored) }))
        const { status } = await exchange(own, { subject_token: subjectToken }, { client: stored })
        expect(status).to.equal(200)
      })
    })

    it('is taken where clientDefaults say client_secret_post', async () => {
      const clientDefaults = {
        id_token_signed_response_alg: 'ES256',
        token_endpoint_auth_method: 'client_secret_post',
      } as const
      await withDeployment({ configuration: { clientDefaults } }, async (own) => {
        const token = await postToken(own, {
          grant_type: 'client_credentials',
          resource: `${own.baseUrl}/api`,
          ...inBody(machineClient()),
        })
        expect(token.status, token.text).to.equal(200)
      })
    })

    for (const [title, changes] of [
      ['a missing subject token', { subject_token: null }],
      ['a parameter that is not supported', { audience: API }],
      ['a DPoP proof that is none', {}],
    ] as const) {
      it(`is refused before ${title}`, async () => {
        const parameters = { subject_token: 'x', ...changes, ...inBody(named) }
        expectUnauthenticated(await exchange(deployment, parameters, { headers: { dpop: 'x' } }))
      })
    }

    it('is refused at the door of the APIs, before their token is looked at', async () => {
      for (const token of [await ownToken(deployment), 'anything']) {
        const statements = deployment.database.statements.length
        const { client_id } = apiClient()
        const response = await passOn(deployment, token, inBody(apiClient()), { client: { client_id } })
        expect([response.status, response.body]).to.deep.equal([401, REFUSED])
        const { name, payload } = deployment.events.at(-1) ?? {}
        expect(name).to.equal('access_token.refused')
        expect(payload).to.include({ check: 'request', reason: TEXT })
        expect(deployment.database.statements.slice(statements)).to.deep.equal([])
      }
      const { status } = await passOn(deployment, await ownToken(deployment))
      expect(status).to.equal(200)
    })

    it('is challenged, as by the provider, where the header came empty', async () => {
      const parameters = { subject_token: 'x', ...inBody(named) }
      const response = await exchange(deployment, parameters, { headers: { authorization: '' } })
      expectUnauthenticated(response)
      expect(response.headers.get('www-authenticate')).to.equal(
        `Basic realm="${deployment.issuer}", error="invalid_client", error_description="${TEXT}"`,
      )
    })
  })

  describe('with a management token', () => {
    for (const scope of ['subject-tokens:create', null]) {
      it(`is refused, and no token is issued for the scope ${scope}`, async () => {
        expectUnauthenticated(await managementToken(machineClient(), { scope }))
        const response = await managementToken(machineClient(), { scope }, () => ({}))
        expect(response.status, response.text).to.equal(200)
      })
    }

    it('is refused where the resource comes with another one, or by default', async () => {
      const both = [API, `${deployment.baseUrl}/api`]
      expectUnauthenticated(await managementToken(machineClient(), { resource: both }))
      const defaultResource = (ctx: { oidc: { issuer: string } }) => ctx.oidc.issuer.replace(/oidc$/, 'api')
      const features = { resourceIndicators: { defaultResource } } as never
      await withDeployment({ configuration: { features } }, async (own) => {
        const parameters = { grant_type: 'client_credentials', ...inBody(machineClient()) }
        expectUnauthenticated(await postToken(own, parameters))
      })
    })

    it('is taken from a client that is registered with client_secret_post', async () => {
      const { status, body } = await managementToken(postingBackend)
      expect([status, body.scope]).to.deep.equal([200, 'subject-tokens:create'])
    })
  })

  describe('is no matter of ours:', () => {
    it('client_credentials for another resource, or for none', async () => {
      for (const resource of [API, null]) {
        const { status, text } = await managementToken(service, { resource, scope: null })
        expect(status, text).to.equal(200)
      }
    })

    it('refresh_token', async () => {
      const { tokens } = await login(deployment, { client: portal })
      const parameters = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
      const { status, text } = await postToken(deployment, { ...parameters, ...inBody(portal) })
      expect(status, text).to.equal(200)
    })

    it('an exchange by a client that is registered with client_secret_post', async () => {
      const { subjectToken } = await issue(deployment)
      const { status, text } = await exchange(deployment, { subject_token: subjectToken, ...inBody(poster) })
      expect(status, text).to.equal(200)
    })

    it('a secret in both places, which the provider refuses for every client', async () => {
      for (const client of [named, poster]) {
        const { subjectToken } = await issue(deployment)
        const headers = credentials(client).headers
        const parameters = { subject_token: subjectToken, ...inBody(client) }
        const { status, body } = await exchange(deployment, parameters, { headers })
        expect([status, body.error]).to.deep.equal([400, 'invalid_request'])
      }
    })

    it('a wrong secret, for which the text does not tell how the client is registered', async () => {
      for (const client of [named, poster]) {
        const parameters = { subject_token: 'x', ...inBody(client), client_secret: 'wrong' }
        const { status, body } = await exchange(deployment, parameters)
        expect([status, body.error_description]).to.deep.equal([401, 'client authentication failed'])
      }
    })
  })
})
