import { expect } from 'chai'
import { actorToken } from '../../../fixtures/actor-tokens.ts'
import { API, type Deployment, startDeployment } from '../../../fixtures/deployment.ts'
import { type Programs, programsOf, readPage, runnable, whileServing } from '../../../fixtures/markdown.ts'
import { viewed } from '../../../fixtures/on-behalf-of.ts'
import { freePort } from '../../../fixtures/server-process.ts'
import { FRESH, UNKNOWN_KEY_REST, USABLE } from '../../../packages/resource-server/src/discovery.ts'
import { WINDOW } from '../../../packages/resource-server/src/dpop.ts'
import { startIssuer, withBearer } from '../../../packages/resource-server/test/issuer.ts'

const PAGE = readPage('docs/resource-servers.md')

type Send = (request: Request) => Promise<Response>

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
  let deployment: Deployment
  let programs: Programs
  before(async () => {
    deployment = await startDeployment()
    programs = programsOf('docs/resource-servers.md', deployment)
    programs.write('my-api.ts', runnable(programs.code('my-api.ts')))
  })
  after(async () => {
    programs.remove()
    await deployment.close()
  })

  for (const host of ['koa', 'express', 'fastify']) {
    it(`has a program for ${host} that lets the right ones pass`, async () => {
      const name = `${host}-api.ts`
      const baseUrl = `http://127.0.0.1:${await freePort()}`
      await whileServing(programs, { name, code: programs.code(name), baseUrl }, async () => {
        await expectApi((request) => fetch(new Request(request.url.replace(API, baseUrl), request)))
      })
    })
  }

  it('has a fetch handler that lets the right ones pass', async () => {
    const { default: handler } = await programs.load('fetch-api.ts')
    await expectApi(handler.fetch)
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

  async function expectApi(send: Send): Promise<void> {
    const call = (method: string, path: string, token?: string) =>
      send(new Request(API + path, { method, headers: token ? { authorization: `Bearer ${token}` } : {} }))
    const [own, engineer] = await Promise.all([
      ownToken('orders:read'),
      viewed(deployment, { scope: 'orders:read' }),
    ])

    expect(await (await call('GET', '/orders', own)).json()).to.deep.equal({ user: 'alice' })
    expect((await call('PUT', '/email', own)).status).to.equal(204)
    expect(await (await call('GET', '/orders', engineer.accessToken)).json()).to.deep.equal({
      user: 'alice',
      actor: 'bob',
    })
    await expectRefused(await call('PUT', '/email', engineer.accessToken), 403, 'access_denied')
    const lacking = await call('GET', '/orders', await ownToken('orders:write'))
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

  const ownToken = (scope: string) => actorToken(deployment, { accountId: 'alice', format: 'jwt', scope })
})
