/** docs/downstream.md: its programs run, and the requests of its walkthroughs are sent, one by one. */
import { createServer } from 'node:http'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ClientMetadata, ResourceServer } from 'oidc-provider'
import { actorToken } from '../../../fixtures/actor-tokens.ts'
import { API, type Deployment, OPAQUE_API, RESOURCES, startDeployment } from '../../../fixtures/deployment.ts'
import { form, type HttpResponse, type Parameters, send } from '../../../fixtures/http.ts'
import { type Listening, listen } from '../../../fixtures/listening.ts'
import { manage } from '../../../fixtures/management.ts'
import { type Programs, programsOf, readPage } from '../../../fixtures/markdown.ts'
import { viewed } from '../../../fixtures/on-behalf-of.ts'
import { exchange, postToken } from '../../../fixtures/requests.ts'
import {
  createVerifier,
  type Unauthorized,
  type Verifier,
} from '../../../packages/resource-server/src/index.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../../src/index.ts'

const PAGE = readPage('docs/downstream.md')
const TOOLS = 'https://tools.example.com/mcp'
const LEDGER = 'https://ledger.example.com'
const METADATA = 'https://tools.example.com/.well-known/oauth-protected-resource/mcp'

const resource = (audience: string, scope: string): Record<string, ResourceServer> => ({
  [audience]: {
    ...{ audience, scope, accessTokenFormat: 'jwt', accessTokenTTL: 600 },
    jwt: { sign: { alg: 'ES256' } },
  },
})

const api = (client_id: string, metadata: Partial<ClientMetadata>): ClientMetadata => ({
  client_id,
  client_secret: `${client_id}-secret`,
  grant_types: [TOKEN_EXCHANGE],
  redirect_uris: [],
  response_types: [],
  ...metadata,
})

describe('docs: downstream', () => {
  let deployment: Deployment
  let programs: Programs
  let server: Listening
  /** Its resource indicator is where it is reached. */
  let billing: string
  let verifyBilling: Verifier
  let clients: Record<'orders' | 'poster' | 'billing', ClientMetadata>

  before(async () => {
    server = await startBilling()
    billing = server.baseUrl
    const mayGo = { token_exchange_audiences: [API], token_exchange_resources: [billing] }
    clients = {
      orders: api('orders-api', mayGo),
      poster: api('mcp-server', { ...mayGo, token_endpoint_auth_method: 'client_secret_post' }),
      billing: api('billing-api', {
        token_exchange_audiences: [billing],
        token_exchange_resources: [LEDGER],
      }),
    }
    const tools = api('tool-server', { ...mayGo, token_exchange_audiences: [TOOLS] })
    deployment = await startDeployment({
      clients: [...Object.values(clients), tools],
      options: { onBehalfOf: true },
      resources: {
        ...RESOURCES,
        ...resource(API, 'orders:read invoices:read'),
        ...resource(billing, 'invoices:read invoices:write'),
        ...resource(LEDGER, 'invoices:read'),
        ...resource(TOOLS, 'invoices:read'),
      },
    })
    verifyBilling = createVerifier({ issuer: deployment.issuer, audience: billing })
    programs = programsOf('docs/downstream.md', {
      baseUrl: deployment.baseUrl,
      variables: { ORDERS_API_SECRET: 'orders-api-secret', TOOL_SERVER_SECRET: 'tool-server-secret' },
      adapted: (code) => code.replaceAll('https://billing.example.com', billing),
    })
  })
  after(async () => {
    programs.remove()
    await server.close()
    await deployment.close()
  })

  /** The billing API: it says what its verifier makes of the request. */
  const startBilling = () =>
    listen(
      createServer((request, response) => {
        verifyBilling(request).then(
          ({ user, actor, through, impersonated, scopes }) =>
            response.end(JSON.stringify({ user, actor, through, impersonated, scopes })),
          ({ status }: Unauthorized) => response.writeHead(status).end(),
        )
      }),
    )

  const SCOPE = 'orders:read invoices:read'
  /** Alice's own, from an application in which she has signed in. */
  const ownToken = (audience = API) =>
    actorToken(deployment, {
      accountId: 'alice',
      format: audience === OPAQUE_API ? 'opaque' : 'jwt',
      audience,
      scope: SCOPE,
    })

  /** One for alice in which bob acts. */
  async function engineersToken(resource: string): Promise<{ id: string; token: string }> {
    const { id, accessToken } = await viewed(deployment, { resource, scope: 'invoices:read' })
    return { id, token: accessToken }
  }

  describe('the orders API', () => {
    it('calls billing for the user, without losing who acts', async () => {
      const { invoicesFor } = await programs.load('my-billing-call.ts')
      const own = await (await invoicesFor(await ownToken())).json()
      expect(own).to.deep.equal({
        user: 'alice',
        through: ['orders-api'],
        impersonated: false,
        scopes: ['invoices:read'],
      })
      const { token } = await engineersToken(API)
      expect(await (await invoicesFor(token)).json()).to.deep.equal({
        ...own,
        actor: { sub: 'bob' },
        impersonated: true,
      })
    })

    it('says 401 for a token that was stopped, 403 for what is not allowed, 503 for an outage', async () => {
      const { invoicesFor, statusOf } = await programs.load('my-billing-call.ts')
      const statusFor = (received: string, signal?: AbortSignal) =>
        invoicesFor(received, signal).catch(statusOf)
      const { id, token } = await engineersToken(API)
      expect((await manage(deployment, 'DELETE', `/${id}`)).status).to.equal(204)
      expect(await statusFor(token)).to.equal(401)
      const withoutScope = await actorToken(deployment, {
        ...{ accountId: 'alice', format: 'jwt' as const, scope: 'orders:read' },
      })
      expect(await statusFor(withoutScope)).to.equal(403)
      const { ImpersonationError } = await import('../../../packages/client/src/index.ts')
      const status = (code: string, number: number) =>
        statusOf(new ImpersonationError({ status: number, code, description: '' }))
      expect([status('no_answer', 0), status('temporarily_unavailable', 503)]).to.deep.equal([503, 503])
      expect([status('invalid_target', 400), status('invalid_client', 401)]).to.deep.equal([500, 500])
      expect(() => statusOf(new Error('a bug'))).to.throw('a bug')
    })

    it('has a token whose claims are those of the page', async () => {
      const [, claims = '{}'] = /The token for billing, decoded:\n\n```json\n(.*?)```/s.exec(PAGE) ?? []
      const told = JSON.parse(claims)
      const { token } = await engineersToken(API)
      const response = await walk({ subject_token: token, resource: billing, scope: 'invoices:read' })
      const { iat: _, exp, jti: __, ...issued } = decodeJwt(response.body.access_token)
      expect(Object.keys(issued)).to.have.members(Object.keys(told))
      expect(issued).to.deep.include({
        sub: told.sub,
        act: { ...told.act, act: { sub: 'bob' } },
        client_id: told.client_id,
        scope: told.scope,
        status: decodeJwt(token).status,
      })
      expect(exp).to.be.at.most(Number(decodeJwt(token).exp))
      expect(told.act).to.deep.equal({ sub: 'orders-api', client_id: 'orders-api', act: { sub: 'sam' } })
    })
  })

  describe('the tool server', () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_invoices' } }
    const post = (
      handler: { fetch(request: Request): Promise<Response> },
      token?: string,
      body: object = call,
    ) =>
      handler.fetch(
        new Request(TOOLS, {
          method: 'POST',
          headers: { ...(token && { authorization: `Bearer ${token}` }), 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      )

    it('names its metadata in the challenge, and its provider there (RFC 9728 §3, §5.1)', async () => {
      const { default: handler } = await programs.load('my-tool-server.ts')
      const refused = await post(handler)
      expect(refused.status).to.equal(401)
      const challenge = refused.headers.get('www-authenticate') ?? ''
      const [, address = ''] = /^Bearer resource_metadata="([^"]+)", realm=/.exec(challenge) ?? []
      expect(address).to.equal(METADATA)
      const metadata = await (await handler.fetch(new Request(address))).json()
      expect(metadata).to.deep.equal({
        resource: TOOLS,
        authorization_servers: [deployment.issuer],
        scopes_supported: ['invoices:read'],
        bearer_methods_supported: ['header'],
      })
      for (const token of ['a.b.c', await ownToken()]) {
        const invalid = await post(handler, token)
        expect(invalid.status).to.equal(401)
        expect(invalid.headers.get('www-authenticate'))
          .to.include(`resource_metadata="${METADATA}"`)
          .and.include('error="invalid_token"')
      }
    })

    it('calls billing for the user who called the tool, and for the engineer who acts', async () => {
      const { default: handler } = await programs.load('my-tool-server.ts')
      for (const [token, actor] of [
        [await ownToken(TOOLS), undefined],
        [(await engineersToken(TOOLS)).token, { sub: 'bob' }],
      ] as const) {
        const response = await post(handler, token)
        const { jsonrpc, id, result } = Object(await response.json())
        expect([response.status, jsonrpc, id]).to.deep.equal([200, '2.0', 1])
        const seen = JSON.parse(result.content[0].text)
        expect([seen.user, seen.actor, seen.through]).to.deep.equal(['alice', actor, ['tool-server']])
      }
    })

    it('knows no other tool', async () => {
      const { default: handler } = await programs.load('my-tool-server.ts')
      const body = { ...call, params: { name: 'delete_everything' } }
      expect(await (await post(handler, await ownToken(TOOLS), body)).json()).to.have.nested.property(
        'error.code',
        -32601,
      )
    })
  })

  /** Alice's own token, passed on by the orders API: a request that would be granted. */
  const walk = async (changes: Parameters, client = clients.orders): Promise<HttpResponse> => {
    const own = { subject_token: await ownToken(), subject_token_type: ACCESS_TOKEN_TYPE }
    return postToken(deployment, { grant_type: TOKEN_EXCHANGE, ...own, ...changes }, { client })
  }
  /** By the API that received the first one. */
  const onwards = async (resource: string, client = clients.orders): Promise<HttpResponse> => {
    const { body } = await walk({ resource: billing })
    return walk({ subject_token: body.access_token, resource }, client)
  }
  const asApplication = async () =>
    exchange(deployment, { subject_token: await ownToken(), resource: billing })

  /** Auth0's walkthrough authenticates in the body. */
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

  const scope = 'invoices:read'
  const type = (name: string) => `urn:ietf:params:oauth:token-type:${name}`
  /** By the names of the rows. */
  const requests: Record<string, () => Promise<HttpResponse>> = {
    A1: () => postJson({ audience: billing }),
    A2: () => post({ audience: billing }),
    A3: () => post({ resource: billing }),
    A4: () => post({ resource: billing, scope }),
    A5: () => post({ resource: billing, scope: 'invoices:write' }),
    A6: () => onwards(LEDGER, clients.billing),
    A7: asApplication,
    K1: () => walk({ requested_token_type: ACCESS_TOKEN_TYPE }),
    K2: () => walk({ scope }),
    K3: () => walk({ scope, audience: 'target-client2' }),
    K4: () => walk({ scope, audience: ['target-client2', 'target-client3'] }),
    K5: () => walk({ scope, resource: billing }),
    K6: () => walk({ scope: 'invoices:write', resource: billing }),
    K7: () => walk({ resource: billing, requested_token_type: type('refresh_token') }),
    K8: () => walk({ resource: billing, requested_token_type: type('id_token') }),
    K9: async () => walk({ subject_token: await ownToken(OPAQUE_API), resource: billing }),
    K10: () => onwards(billing),
    K11: asApplication,
  }

  describe('a walkthrough', () => {
    const rows = new Map(
      [...PAGE.matchAll(/^\| `([AK]\d+)` .*\| ([^|]+) \|$/gm)].map(([, name = '', here = '']) => [
        name,
        here,
      ]),
    )

    it('has a row for each request that is sent here', () => {
      expect([...rows.keys()]).to.deep.equal(Object.keys(requests))
    })

    for (const [name, here] of rows) {
      it(`gets for ${name} what the page says: ${here}`, async () => {
        const [, status, error] = /^(\d{3})(?: `(\w+)`)?/.exec(here) ?? []
        const response = await requests[name]?.()
        expect([String(response?.status), response?.body.error], response?.text).to.deep.equal([
          status,
          error,
        ])
        if (here.includes('send `resource`')) expect(response?.body.error_description).to.include('resource')
        if (here.includes('no scope')) expect(response?.body).not.to.have.property('scope')
      })
    }

    it('that is granted gets the members of every exchange, and the API is in act', async () => {
      const { status, body } = await post({ resource: billing, scope })
      expect(status).to.equal(200)
      expect(body).to.have.all.keys('access_token', 'issued_token_type', 'token_type', 'expires_in', 'scope')
      expect(body.expires_in).to.be.at.most(600)
      expect(decodeJwt(body.access_token).act).to.deep.equal({ sub: 'mcp-server', client_id: 'mcp-server' })
    })
  })
})
