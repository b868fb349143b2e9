/** The programs of docs/support-tool.md, run against a deployment, and what the page says of the client's methods. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Context, Middleware } from 'koa'
import { actorToken } from '../../../fixtures/actor-tokens.ts'
import { webClient } from '../../../fixtures/clients.ts'
import { API, RESOURCES, useDeployment } from '../../../fixtures/deployment.ts'
import { send } from '../../../fixtures/http.ts'
import { show } from '../../../fixtures/management.ts'
import { readPage, usePrograms } from '../../../fixtures/markdown.ts'
import { viewed } from '../../../fixtures/on-behalf-of.ts'
import { sectionOf } from '../../../fixtures/page.ts'
import { issue } from '../../../fixtures/requests.ts'
import { createImpersonationClient } from '../../../packages/client/src/index.ts'
import { MARGIN, REST } from '../../../packages/client/src/management-tokens.ts'

const PAGE = readPage('docs/support-tool.md')
const VALID = { issuer: 'https://id.example.com/oidc', clientId: 'backend', clientSecret: 'secret' }

describe('docs: support tool', () => {
  let page: Middleware
  /** Of a rate limiter in front of the management API: the body of what it refuses. */
  let refusal: object | string | undefined
  const limiter: Middleware = (ctx, next) => {
    if (refusal === undefined || !ctx.path.startsWith('/api')) return next()
    Object.assign(ctx, { status: 429, body: refusal })
  }
  const deployment = useDeployment({
    clients: [webClient({ client_id: 'support-portal', client_secret: 'portal-secret' })],
    resources: Object.fromEntries(
      Object.entries(RESOURCES).map(([name, server]) => [name, { ...server, readOnly: true }]),
    ),
    before: [limiter, (ctx, next) => page(ctx, next)],
  })
  const programs = usePrograms('docs/support-tool.md', () => {
    const secrets = { BACKEND_SECRET: 'backend-secret', PORTAL_SECRET: 'portal-secret' }
    return { variables: { ISSUER: deployment.issuer, ...secrets } }
  })
  before(async () => {
    const { accesses } = await programs.load('my-accesses.ts')
    page = accesses(
      deployment.impersonation,
      async (ctx: Context) => ctx.get('Cookie').replace(/^user=/, '') || undefined,
    )
  })

  it('has a backend that issues, exchanges, looks and stops', async () => {
    const { start, become, leave, stop, stopAllOf, history } = await programs.load('my-backend.ts')
    const { subjectToken, expiresIn, id } = await start('bob', 'alice', 'T-1')
    expect(expiresIn).to.equal(60)
    const { accessToken, scope } = await become(subjectToken, await actorToken(deployment))
    expect(scope).to.equal('orders:read')
    expect(decodeJwt(accessToken)).to.deep.include({
      ...{ sub: 'alice', aud: API, act: { sub: 'bob' }, read_only: true },
    })
    expect(await history('alice')).to.deep.equal(['bob for T-1: consumed'])
    expect(await stop(id, 'dana', 'the customer has asked for it')).to.deep.equal({ revoked: 1 })
    expect(await history('alice')).to.deep.equal(['bob for T-1: revoked'])
    expect((await show(deployment, id)).body.revocation).to.include({ cause: 'api', by: 'dana' })
    const own = await start('bob', 'alice', 'T-2')
    expect(await leave(own.id, 'bob')).to.deep.equal({ revoked: 1 })
    expect((await show(deployment, own.id)).body.revocation).to.include({ cause: 'self', by: 'bob' })
    await start('bob', 'alice', 'T-3')
    expect(await stopAllOf('bob', 'dana')).to.deep.equal({ revoked: 1 })
  })

  it('says what a call is rejected with that a rate limiter refuses, and will not let pass in time', async () => {
    const { start } = await programs.load('my-backend.ts')
    const [told = ''] = /^\| 429 \|.*$/m.exec(sectionOf(PAGE, 'Errors')) ?? []
    for (const [body, code] of [
      [{ error: 'slow_down' }, 'its `error`'],
      ['slow down', '`invalid_response` if it is no JSON'],
    ] as const) {
      refusal = body
      const rejected = await start('bob', 'alice', 'T-1').catch((error: Error) => error)
      refusal = undefined
      expect(rejected).to.include({
        status: 429,
        code: typeof body === 'string' ? 'invalid_response' : body.error,
      })
      expect(told).to.include(code)
    }
  })

  it('lists every method', () => {
    const told = [...sectionOf(PAGE, 'Methods').matchAll(/^\| `(\w+)\(/gm)].map(([, name]) => name)
    expect(told).to.have.members(Object.keys(createImpersonationClient(VALID)))
  })

  it('tells the numbers of the code', () => {
    expect(PAGE.replace(/\s+/g, ' '))
      .to.include(`renewed ${MARGIN} seconds before`)
      .and.include(`no other for ${REST} seconds`)
  })

  const visit = (headers: Record<string, string> = {}, method = 'GET') =>
    send(`${deployment.baseUrl}/me/accesses`, { method, headers: { cookie: 'user=alice', ...headers } })

  it('shows the customer who was there and why, and no one else', async () => {
    await viewed(deployment, {}, { context: { reason: 'order is missing' } })
    await issue(deployment, { userId: 'dave', context: { reason: 'another matter' } })
    const { status, body, text } = await visit()
    expect(status).to.equal(200)
    expect(body[0]).to.deep.include({ by: 'bob', reason: 'order is missing', state: 'consumed' })
    expect(text).not.to.include('another matter')
    expect((await visit({ cookie: '' })).status).to.equal(401)
  })

  it('stops it for the customer, and says so on the record', async () => {
    const { id } = await issue(deployment, { userId: 'alice' })
    expect((await visit({}, 'POST')).status).to.equal(403)
    expect((await show(deployment, id)).body.state).to.equal('active')
    const { body } = await visit({ 'sec-fetch-site': 'same-origin' }, 'POST')
    expect(body[0].state).to.equal('revoked')
    expect((await show(deployment, id)).body.revocation).to.deep.equal({
      cause: 'host',
      by: 'alice',
      reason: 'the customer stopped it',
    })
  })
})
