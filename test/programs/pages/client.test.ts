/** The programs of docs/client.md, run against a deployment, and what the page says of options and methods. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Middleware } from 'koa'
import { actorToken } from '../../../fixtures/actor-tokens.ts'
import { webClient } from '../../../fixtures/clients.ts'
import { API, type Deployment, startDeployment, withDeployment } from '../../../fixtures/deployment.ts'
import { type Programs, programsOf, readPage } from '../../../fixtures/markdown.ts'
import { sectionOf } from '../../../fixtures/page.ts'
import { createImpersonationClient, type ImpersonationError } from '../../../packages/client/src/index.ts'
import { MARGIN, REST } from '../../../packages/client/src/management-tokens.ts'

const PAGE = readPage('docs/client.md')
const VALID = { issuer: 'https://id.example.com/oidc', clientId: 'backend', clientSecret: 'secret' }

describe('docs: client', () => {
  let deployment: Deployment
  let programs: Programs
  before(async () => {
    const portal = webClient({ client_id: 'support-portal', client_secret: 'portal-secret' })
    deployment = await startDeployment({ clients: [portal] })
    const secrets = { BACKEND_SECRET: 'backend-secret', PORTAL_SECRET: 'portal-secret' }
    const variables = { ISSUER: deployment.issuer, ...secrets }
    programs = programsOf('docs/client.md', { variables })
  })
  after(async () => {
    programs.remove()
    await deployment.close()
  })

  it('has a backend that issues, looks and ends, and a portal that exchanges', async () => {
    const { start, find, history, end, endAllOf } = await programs.load('my-backend.ts')
    const { become } = await programs.load('my-portal.ts')
    const { subjectToken, expiresIn, id } = await start('bob', 'alice', 'T-1')
    expect(expiresIn).to.equal(60)
    const { accessToken, scope } = await become(subjectToken, await actorToken(deployment))
    expect(scope).to.equal('orders:read')
    expect(decodeJwt(accessToken)).to.deep.include({ sub: 'alice', aud: API, act: { sub: 'bob' } })
    expect(await find(id)).to.include({ id, state: 'consumed', usedBy: 'support-portal' })
    expect(await find('0'.repeat(32))).to.equal(undefined)
    expect(await history('alice')).to.deep.equal(['bob for T-1: consumed'])
    expect(await end(id, 'dana', 'ended by the customer')).to.deep.equal({ revoked: 1 })
    expect(await history('alice')).to.deep.equal(['bob for T-1: revoked'])
    await start('bob', 'alice', 'T-2')
    expect(await endAllOf('bob', 'dana')).to.deep.equal({ revoked: 1 })
  })

  it('has a client that waits for a rate limiter of the host, and says 429 if it must not', async () => {
    const [, , ...rows] = sectionOf(PAGE, 'Errors').match(/^\|.*$/gm) ?? []
    const told = rows.filter((row) => row.startsWith('| 429 |')).join()
    let refusals: { body: unknown; retryAfter?: string }[] = []
    const limiter: Middleware = async (ctx, next) => {
      const refusal = ctx.path.startsWith('/api') ? refusals.shift() : undefined
      if (!refusal) return next()
      ctx.status = 429
      ctx.body = refusal.body
      if (refusal.retryAfter) ctx.set('Retry-After', refusal.retryAfter)
    }
    await withDeployment({ before: [limiter] }, async ({ issuer }) => {
      const credentials = { clientId: 'backend', clientSecret: 'backend-secret' }
      const client = createImpersonationClient({ issuer, ...credentials })
      const issue = () => client.issue({ userId: 'alice' })
      refusals = [{ body: 'slow down', retryAfter: '0' }]
      expect(await issue().catch((error) => error)).to.have.property('subjectToken')
      const refused = async (refusal: (typeof refusals)[number]) => {
        refusals = [refusal]
        const error: ImpersonationError = await issue().catch((thrown) => thrown)
        expect(told).to.include(error.status)
        return error.code
      }
      expect(await refused({ body: { error: 'slow_down' }, retryAfter: '60' })).to.equal('slow_down')
      expect(told).to.include(`\`${await refused({ body: 'slow down' })}\``)
    })
  })

  it('lists every method', () => {
    const told = [...PAGE.matchAll(/^\| `(\w+)\(/gm)].map(([, name]) => name)
    expect(told).to.have.members(Object.keys(createImpersonationClient(VALID)))
  })

  it('tells the numbers of the code', () => {
    expect(PAGE.replace(/\s+/g, ' '))
      .to.include(`renewed ${MARGIN} seconds before`)
      .and.include(`no other for ${REST} seconds`)
  })
})
