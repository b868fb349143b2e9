/** Rate limits belong to the host (protocol.md §7), and `openapi.json` describes what callers get from them. */
import { expect } from 'chai'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { send } from '../../fixtures/http.ts'
import { description, type Json } from '../../fixtures/openapi.ts'

const { document, faultsOf } = description()

const operations = Object.entries<Json>(document.paths).flatMap(([route, item]) =>
  Object.entries<Json>(item)
    .filter(([, { operationId }]) => operationId)
    .map(([method]) => ({ method: method.toUpperCase(), route, below: item.servers ? '/oidc' : '/api' })),
)

/** What limiters say. */
const LIMITED: Readonly<Record<string, { readonly body: unknown; readonly retryAfter?: string }>> = {
  'in seconds': { body: { error: 'too_many_requests' }, retryAfter: '30' },
  'by a date': { body: 'Too many requests', retryAfter: new Date(4e12).toUTCString() },
  'without a time': { body: '' },
}

describe("openapi.json: the host's rate limits", () => {
  let deployment: Deployment
  let limited = LIMITED['in seconds']
  before(async () => {
    deployment = await startDeployment({
      before: [
        (ctx) => {
          ctx.status = 429
          ctx.body = limited?.body
          if (limited?.retryAfter) ctx.set('Retry-After', limited.retryAfter)
        },
      ],
    })
  })
  after(() => deployment.close())

  it('are those of every operation', () => {
    expect(operations.length).to.be.greaterThan(8)
    for (const { method, route } of operations)
      expect(document.paths[route][method.toLowerCase()].responses, `${method} ${route}`).to.include.keys(
        '429',
      )
  })

  for (const [told, response] of Object.entries(LIMITED)) {
    it(`are described, where a limiter says ${told} when to try again`, async () => {
      limited = response
      for (const { method, route, below } of operations) {
        const path = route.replace('{id}', '0'.repeat(32)).replace('{m}', '0')
        const answer = await send(`${deployment.baseUrl}${below}${path}`, { method })
        expect(answer.status).to.equal(429)
        expect(faultsOf(method, route, answer), `${method} ${route}`).to.deep.equal([])
      }
    })
  }

  it('are not described where a limiter says nothing that HTTP knows', async () => {
    limited = { body: '', retryAfter: 'soon' }
    const answer = await send(deployment.subjectTokens)
    expect(faultsOf('GET', '/subject-tokens', answer)).not.to.deep.equal([])
  })
})
