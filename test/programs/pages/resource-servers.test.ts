/** The programs of docs/resource-servers.md, the table of its callers and its numbers. */
import { createServer } from 'node:http'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorToken } from '../../../fixtures/actor-tokens.ts'
import {
  API,
  type Deployment,
  OPAQUE_API,
  RESOURCES,
  startDeployment,
  useDeployment,
} from '../../../fixtures/deployment.ts'
import { dpopKey } from '../../../fixtures/dpop.ts'
import { type Listening, listen } from '../../../fixtures/listening.ts'
import { manage } from '../../../fixtures/management.ts'
import { readPage, runnable, usePrograms, whileRunning, whileServing } from '../../../fixtures/markdown.ts'
import { apiClient, ownToken, passedOn, viewed } from '../../../fixtures/on-behalf-of.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'
import { freePort } from '../../../fixtures/server-process.ts'
import { FRESH, UNKNOWN_KEY_REST, USABLE } from '../../../packages/resource-server/src/discovery.ts'
import { WINDOW } from '../../../packages/resource-server/src/dpop.ts'
import {
  createVerifier,
  type Unauthorized,
  type Verifier,
} from '../../../packages/resource-server/src/index.ts'
import { startIssuer, withBearer } from '../../../packages/resource-server/test/issuer.ts'

const PAGE = readPage('docs/resource-servers.md')

/** The chain of the ids, newest first; APIs are those whose name says so. */
const actOf = ([newest, ...earlier]: readonly string[]): object | undefined =>
  newest === undefined
    ? undefined
    : {
        sub: newest,
        ...(newest.endsWith('-api') && { client_id: newest }),
        ...(earlier.length > 0 && { act: actOf(earlier) }),
      }

describe('docs: resource servers', () => {
  const { [API]: orders, [OPAQUE_API]: opaque } = RESOURCES
  const resources = { [API]: orders, [OPAQUE_API]: { ...opaque, readOnly: true } } as typeof RESOURCES
  const deployment = useDeployment({ resources, clients: [apiClient()] })
  const programs = usePrograms('docs/resource-servers.md', () => ({
    baseUrl: deployment.baseUrl,
    variables: { ORDERS_API_SECRET: apiClient().client_secret ?? '' },
  }))

  it('has a program for Express that lets the right ones pass', async () => {
    const name = 'express-api.ts'
    const baseUrl = `http://127.0.0.1:${await freePort()}`
    programs.write('my-api.ts', runnable(programs.code('my-api.ts')))
    await whileServing(programs, { name, code: programs.code(name), baseUrl }, expectApi)
  })

  it('has a program in Python that takes what may read, and lets nothing read-only write', async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}`
    const code = readPage('example/hosts/orders_api.py')
      .replace('https://id.example.com/oidc', deployment.issuer)
      .replace(API, OPAQUE_API)
      .replace('3000', new URL(baseUrl).port)
    const request = { resource: OPAQUE_API, scope: 'orders:read' }
    const { accessToken: readOnly } = await viewed(deployment, request, { readOnly: true })
    const { accessToken: writing } = await viewed(deployment, request)
    const own = await actorToken(deployment, { accountId: 'alice', audience: OPAQUE_API })
    const { subjectToken } = await issue(deployment)
    const headers = { dpop: await (await dpopKey()).proof(deployment) }
    const bound = await exchange(deployment, { ...request, subject_token: subjectToken }, { headers })
    const elsewhere = [await actorToken(deployment), await actorToken(deployment, { format: 'jwt' })]
    const send = async (method: string, token: string, more: object = {}) => {
      const response = await fetch(baseUrl, {
        method,
        headers: { authorization: `Bearer ${token}`, ...more },
      })
      const { error, ...caller } = JSON.parse(await response.text())
      return [response.status, error ?? caller]
    }
    await whileRunning(programs.write('orders_api.py', code), baseUrl, async () => {
      expect(await send('GET', own)).to.deep.equal([200, { user: 'alice', actor: null }])
      const engineer = [200, { user: 'alice', actor: 'bob' }]
      expect(await send('GET', readOnly)).to.deep.equal(engineer)
      expect(await send('POST', writing)).to.deep.equal(engineer)
      const refused = [403, 'insufficient_scope']
      expect(await send('POST', readOnly)).to.deep.equal(refused)
      expect(await send('GET', readOnly, { 'x-http-method-override': '' })).to.deep.equal(refused)
      for (const token of ['unknown', bound.body.access_token, ...elsewhere])
        expect(await send('GET', token)).to.deep.equal([401, 'invalid_token'])
    })
  })

  it('shows what the verifier makes of every chain', async () => {
    const rows = [...PAGE.matchAll(/^\| (.+) \| (yes|–) \| (.+) \| (.+) \| (.+) \| (`true`|`false`) \|$/gm)]
    const idsOf = (cell = '') => cell.split(', ').filter((id) => !['–', '`[]`'].includes(id))
    const issuer = await startIssuer()
    await issuer.publish()
    const verifier = issuer.verifier()
    for (const [row, chain, status, actor, actors, through, impersonated] of rows) {
      const act = actOf(idsOf(chain))
      const token = status === 'yes' ? await issuer.tokenWithStatus(7, { act }) : await issuer.token({ act })
      const caller = await verifier(withBearer(token))
      expect(
        [caller.actor?.sub].filter((id) => id !== undefined),
        row,
      ).to.deep.equal(idsOf(actor))
      expect(
        caller.actors.map(({ sub }) => sub),
        row,
      ).to.deep.equal(idsOf(actors))
      expect(caller.through, row).to.deep.equal(idsOf(through))
      expect(`\`${caller.impersonated}\``, row).to.equal(impersonated)
    }
    expect(rows).to.have.length(7)
    await issuer.close()
  })

  it('tells the numbers of the code', () => {
    expect([FRESH, USABLE, UNKNOWN_KEY_REST]).to.deep.equal([600, 3600, 5])
    expect(PAGE.replaceAll('\n', ' '))
      .to.include('renewed every ten minutes')
      .and.include('the old ones serve for an hour')
      .and.include('at most every five seconds')
      .and.include(`at most ${WINDOW} seconds old`)
  })

  async function expectApi(baseUrl: string): Promise<void> {
    const call = (method: string, path: string, token?: string) =>
      fetch(baseUrl + path, { method, headers: token ? { authorization: `Bearer ${token}` } : {} })
    const own = await ownToken(deployment, { scope: 'orders:read' })
    const { accessToken } = await viewed(deployment, { scope: 'orders:read' })

    expect(await (await call('GET', '/orders', own)).json()).to.deep.equal({ user: 'alice' })
    expect((await call('PUT', '/email', own)).status).to.equal(204)
    const seen = await (await call('GET', '/orders', accessToken)).json()
    expect(seen).to.deep.equal({ user: 'alice', actor: 'bob' })
    await expectRefused(await call('PUT', '/email', accessToken), 403, 'access_denied')
    const lacking = await call('GET', '/orders', await ownToken(deployment, { scope: 'orders:write' }))
    expect(lacking.headers.get('www-authenticate')).to.include('scope="orders:read"')
    await expectRefused(lacking, 403, 'insufficient_scope')
    for (const token of [undefined, 'a.b.c', 'opaque']) {
      const response = await call('GET', '/orders', token)
      expect(response.headers.get('www-authenticate')).to.match(/^Bearer realm=/)
      await expectRefused(response, 401, 'invalid_token')
    }
  }

  async function expectRefused(response: Response, status: number, error: string): Promise<void> {
    const text = await response.text()
    expect(response.status, text).to.equal(status)
    expect(response.headers.get('content-type')).to.match(/^application\/json/)
    expect(Object.keys(JSON.parse(text))).to.deep.equal(['error', 'error_description'])
    expect(JSON.parse(text).error).to.equal(error)
  }
})

describe('docs: an API behind an API', () => {
  let deployment: Deployment
  let server: Listening
  /** Its resource indicator is where it is reached. */
  let billing: string
  let verifyBilling: Verifier

  before(async () => {
    server = await listen(
      createServer((request, response) => {
        verifyBilling(request).then(
          ({ user, actor, through, impersonated, scopes }) =>
            response.end(JSON.stringify({ user, actor, through, impersonated, scopes })),
          ({ status }: Unauthorized) => response.writeHead(status).end(),
        )
      }),
    )
    billing = server.baseUrl
    const jwt = { accessTokenFormat: 'jwt', accessTokenTTL: 600, jwt: { sign: { alg: 'ES256' } } } as const
    deployment = await startDeployment({
      clients: [apiClient({ token_exchange_audiences: [API], token_exchange_resources: [billing] })],
      options: { onBehalfOf: true },
      resources: {
        [API]: { ...jwt, audience: API, scope: 'orders:read invoices:read' },
        [billing]: { ...jwt, audience: billing, scope: 'invoices:read' },
      },
    })
    verifyBilling = createVerifier({ issuer: deployment.issuer, audience: billing })
  })
  after(async () => {
    await server.close()
    await deployment.close()
  })
  const programs = usePrograms('docs/resource-servers.md', () => ({
    baseUrl: deployment.baseUrl,
    variables: { ORDERS_API_SECRET: apiClient().client_secret ?? '' },
    adapted: (code) => code.replaceAll('https://billing.example.com', billing),
  }))

  it('is called for the user, without losing who acts', async () => {
    const { invoicesFor } = await programs.load('my-billing-call.ts')
    const token = await ownToken(deployment, { scope: 'orders:read invoices:read' })
    const own = await (await invoicesFor(token)).json()
    expect(own).to.deep.equal({
      user: 'alice',
      through: ['orders-api'],
      impersonated: false,
      scopes: ['invoices:read'],
    })
    const { accessToken } = await viewed(deployment, { scope: 'invoices:read' })
    expect(await (await invoicesFor(accessToken)).json()).to.deep.equal({
      ...own,
      actor: { sub: 'bob' },
      impersonated: true,
    })
  })

  it('is not called with a token that was stopped (401), for what is not allowed (403), in an outage (503)', async () => {
    const { invoicesFor, statusOf } = await programs.load('my-billing-call.ts')
    const statusFor = (received: string) => invoicesFor(received).catch(statusOf)
    const { id, accessToken } = await viewed(deployment, { scope: 'invoices:read' })
    expect((await manage(deployment, 'DELETE', `/${id}`)).status).to.equal(204)
    expect(await statusFor(accessToken)).to.equal(401)
    expect(await statusFor(await ownToken(deployment, { scope: 'orders:read' }))).to.equal(403)
    const { ImpersonationError } = await import('../../../packages/client/src/index.ts')
    const status = (code: string, number: number) =>
      statusOf(new ImpersonationError({ status: number, code, description: '' }))
    expect([status('no_answer', 0), status('temporarily_unavailable', 503)]).to.deep.equal([503, 503])
    expect([status('invalid_target', 400), status('invalid_client', 401)]).to.deep.equal([500, 500])
    expect(() => statusOf(new Error('a bug'))).to.throw('a bug')
  })

  it('receives the claims of the page', async () => {
    const [, claims = '{}'] = /The token for billing, decoded:\n\n```json\n(.*?)```/s.exec(PAGE) ?? []
    const told = JSON.parse(claims)
    const { accessToken } = await viewed(deployment, { scope: 'invoices:read' })
    const passed = await passedOn(deployment, accessToken, { resource: billing, scope: 'invoices:read' })
    const { iat: _, exp, jti: __, ...issued } = passed.claims
    expect(Object.keys(issued)).to.have.members(Object.keys(told))
    expect(issued).to.deep.include({
      sub: told.sub,
      act: { ...told.act, act: { sub: 'bob' } },
      client_id: told.client_id,
      scope: told.scope,
      status: decodeJwt(accessToken).status,
    })
    expect(exp).to.be.at.most(Number(decodeJwt(accessToken).exp))
    expect(told.act).to.deep.equal({ sub: 'orders-api', client_id: 'orders-api', act: { sub: 'sam' } })
  })
})
