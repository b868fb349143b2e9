/**
 * The requests of two published walkthroughs (November 2026), one by one, and what this provider responds to each:
 * https://auth0.com/docs/secure/call-apis-on-users-behalf/on-behalf-of-token-exchange and
 * https://www.keycloak.org/securing-apps/token-exchange#_standard-token-exchange (protocol.md §8).
 */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ClientMetadata, ResourceServer } from 'oidc-provider'
import { actorToken } from '../../fixtures/actor-tokens.ts'
import { API, OPAQUE_API, RESOURCES, useDeployment } from '../../fixtures/deployment.ts'
import { form, type HttpResponse, type Parameters, send } from '../../fixtures/http.ts'
import { apiClient, BILLING, billingApi, LEDGER } from '../../fixtures/on-behalf-of.ts'
import { exchange, postToken } from '../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/index.ts'

const resource = (audience: string, scope: string): Record<string, ResourceServer> => ({
  [audience]: {
    ...{ audience, scope, accessTokenFormat: 'jwt', accessTokenTTL: 600 },
    jwt: { sign: { alg: 'ES256' } },
  },
})

const mayGo = { token_exchange_audiences: [API], token_exchange_resources: [BILLING] }
const orders = apiClient(mayGo)
const billing = billingApi({ token_exchange_resources: [LEDGER] })
/** Auth0's walkthrough authenticates in the body. */
const poster = apiClient({
  ...mayGo,
  client_id: 'mcp-server',
  client_secret: 'mcp-server-secret',
  token_endpoint_auth_method: 'client_secret_post',
})

describe('on behalf of: published walkthroughs', () => {
  const deployment = useDeployment({
    clients: [orders, billing, poster],
    options: { onBehalfOf: true },
    resources: {
      ...RESOURCES,
      ...resource(API, 'orders:read invoices:read'),
      ...resource(BILLING, 'invoices:read invoices:write'),
      ...resource(LEDGER, 'invoices:read'),
    },
  })

  /** Alice's own, from an application in which she has signed in. */
  const ownToken = (audience = API) =>
    actorToken(deployment, {
      accountId: 'alice',
      format: audience === OPAQUE_API ? 'opaque' : 'jwt',
      audience,
      scope: 'orders:read invoices:read',
    })

  /** Alice's own token, passed on by the orders API. */
  const walk = async (changes: Parameters, client: ClientMetadata = orders): Promise<HttpResponse> => {
    const own = { subject_token: await ownToken(), subject_token_type: ACCESS_TOKEN_TYPE }
    return postToken(deployment, { grant_type: TOKEN_EXCHANGE, ...own, ...changes }, { client })
  }
  /** By the API that received the first one. */
  const onwards = async (target: string, client: ClientMetadata = orders): Promise<HttpResponse> => {
    const { body } = await walk({ resource: BILLING })
    return walk({ subject_token: body.access_token, resource: target }, client)
  }
  const asApplication = async () =>
    exchange(deployment, { subject_token: await ownToken(), resource: BILLING })

  const asPoster = async (changes: Parameters) => ({
    client_id: 'mcp-server',
    client_secret: 'mcp-server-secret',
    grant_type: TOKEN_EXCHANGE,
    subject_token: await ownToken(),
    subject_token_type: ACCESS_TOKEN_TYPE,
    requested_token_type: ACCESS_TOKEN_TYPE,
    ...changes,
  })
  const post = async (changes: Parameters) =>
    send(deployment.tokenEndpoint, { method: 'POST', body: form(await asPoster(changes)) })
  const postJson = async (changes: Parameters) =>
    send(deployment.tokenEndpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(await asPoster(changes)),
    })

  const SEND_RESOURCE = 'invalid_target: audience is not supported: send resource instead'
  const scope = 'invoices:read'
  const type = (name: string) => `urn:ietf:params:oauth:token-type:${name}`
  const rows: readonly [title: string, outcome: string, request: () => Promise<HttpResponse>][] = [
    ['Auth0: a JSON body', 'invalid_request', () => postJson({ audience: BILLING })],
    ['Auth0: a form with audience', SEND_RESOURCE, () => post({ audience: BILLING })],
    ['Auth0: a form with resource', 'granted no scope', () => post({ resource: BILLING })],
    [
      'Auth0: a scope of the received token',
      'granted invoices:read',
      () => post({ resource: BILLING, scope }),
    ],
    [
      'Auth0: a scope that it lacks',
      'invalid_scope',
      () => post({ resource: BILLING, scope: 'invoices:write' }),
    ],
    ['Auth0: one API more', 'invalid_request', () => onwards(LEDGER, billing)],
    ['Auth0: a public client', 'unauthorized_client', asApplication],
    ['Keycloak: no audience', 'invalid_target', () => walk({ requested_token_type: ACCESS_TOKEN_TYPE })],
    ['Keycloak: scope alone', 'invalid_target', () => walk({ scope })],
    ['Keycloak: an audience', SEND_RESOURCE, () => walk({ scope, audience: 'target-client2' })],
    [
      'Keycloak: two audiences',
      SEND_RESOURCE,
      () => walk({ scope, audience: ['target-client2', 'target-client3'] }),
    ],
    ['Keycloak: with resource', 'granted invoices:read', () => walk({ scope, resource: BILLING })],
    ['Keycloak: a scope more', 'invalid_scope', () => walk({ scope: 'invoices:write', resource: BILLING })],
    [
      'Keycloak: a refresh token',
      'invalid_request',
      () => walk({ resource: BILLING, requested_token_type: type('refresh_token') }),
    ],
    [
      'Keycloak: an ID token',
      'invalid_request',
      () => walk({ resource: BILLING, requested_token_type: type('id_token') }),
    ],
    [
      'Keycloak: a token for another',
      'invalid_request',
      async () => walk({ subject_token: await ownToken(OPAQUE_API), resource: BILLING }),
    ],
    ['Keycloak: a token of its own', 'invalid_request', () => onwards(BILLING)],
    ['Keycloak: a public client', 'unauthorized_client', asApplication],
  ]

  for (const [title, outcome, request] of rows)
    it(`${title}: ${outcome}`, async () => {
      const { status, body, text } = await request()
      const said =
        status === 200 ? `granted ${body.scope ?? 'no scope'}` : `${body.error}: ${body.error_description}`
      expect(said.startsWith(outcome), text).to.equal(true)
    })

  it('a granted request has the members of every exchange, and the API is in act', async () => {
    const { body } = await post({ resource: BILLING, scope })
    expect(body).to.have.all.keys('access_token', 'issued_token_type', 'token_type', 'expires_in', 'scope')
    expect(body.expires_in).to.be.at.most(600)
    expect(decodeJwt(body.access_token).act).to.deep.equal({ sub: 'mcp-server', client_id: 'mcp-server' })
  })
})
