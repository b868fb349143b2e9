/** The route of the status lists (protocol.md §2.4, §4.1; draft-ietf-oauth-status-list §8.1, §8.2, §8.4). */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import fc from 'fast-check'
import Koa from 'koa'
import { ExternalSigningKey } from 'oidc-provider'
import { stopClock } from '../../fixtures/clock.ts'
import { type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { SIGNING_KEY } from '../../fixtures/keys.ts'
import { revoke } from '../../fixtures/management.ts'
import { description } from '../../fixtures/openapi.ts'
import { rawRequest } from '../../fixtures/raw-request.ts'
import { askList, fetchList, impersonate } from '../../fixtures/status-lists.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const ROUTE = '/status-lists/{m}'
const MEDIA_TYPE = 'application/statuslist+jwt'

const ERRORS = {
  404: ['not_found', 'status list not found'],
  405: ['invalid_request', 'method not allowed'],
  406: ['invalid_request', 'a status list is application/statuslist+jwt and nothing else'],
  500: ['server_error', 'something went wrong'],
  501: ['invalid_request', 'time is not supported: only the present list is published'],
  503: ['temporarily_unavailable', 'the service is temporarily unavailable'],
} as const

function expectError({ status, body, headers, text }: HttpResponse, expected: keyof typeof ERRORS): void {
  const [error, error_description] = ERRORS[expected]
  expect([status, body], text).to.deep.equal([expected, { error, error_description }])
  expect(headers.get('cache-control')).to.equal('no-store')
  expect(headers.get('access-control-allow-origin')).to.equal('*')
  expect(headers.get('retry-after')).to.equal(expected === 503 ? '5' : null)
}

describe('status lists: the route', () => {
  let deployment: Deployment
  let clock: ReturnType<typeof stopClock>
  before(async () => {
    deployment = await startDeployment()
  })
  beforeEach(() => {
    clock = stopClock()
  })
  afterEach(() => clock.restore())
  after(() => deployment.close())

  const ask = (path?: string, init?: RequestInit) => askList(deployment, path, init)

  it('needs no token, and every origin may read it (draft §8.1, §8.2)', async () => {
    const { status, headers } = await ask()
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.equal(MEDIA_TYPE)
    expect(headers.get('access-control-allow-origin')).to.equal('*')
  })

  it('has the first list before anything was issued, and the next one', () =>
    withDeployment({}, async (empty) => {
      for (const [path, status] of [
        ['/0', 200],
        ['/1', 200],
        ['/2', 404],
      ] as const)
        expect((await askList(empty, path)).status, path).to.equal(status)
    }))

  it('may be kept by caches until the list is no longer fresh', async () => {
    clock.tick(60)
    const left = async (init?: RequestInit) => (await ask('/0', init)).headers.get('cache-control')
    expect(await left()).to.equal('public, max-age=30')
    clock.tick(9)
    expect(await left()).to.equal('public, max-age=21')
    clock.tick(6)
    expect(await left()).to.equal('public, max-age=30')
  })

  it('is not fresh any longer for a 304: caches keep it until the same second', async () => {
    clock.tick(60)
    const etag = (await ask()).headers.get('etag') ?? ''
    clock.tick(9)
    const { status, headers } = await ask('/0', { headers: { 'if-none-match': etag } })
    expect([status, headers.get('cache-control')]).to.deep.equal([304, 'public, max-age=21'])
  })

  it('responds to HEAD as to GET, without the body', async () => {
    const get = await ask()
    const head = await ask('/0', { method: 'HEAD' })
    expect([head.status, head.text]).to.deep.equal([200, ''])
    for (const name of ['content-type', 'content-length', 'etag', 'cache-control'])
      expect(head.headers.get(name), name).to.equal(get.headers.get(name))
  })

  describe('for a condition (RFC 9110 §13.1.2)', () => {
    let etag = ''
    beforeEach(async () => {
      etag = (await ask()).headers.get('etag') ?? ''
      expect(etag).to.match(/^"[\w-]{43}"$/)
    })
    const under = (condition: string, headers: Record<string, string> = {}) =>
      ask('/0', { headers: { 'if-none-match': condition, ...headers } })

    const met: ((tag: string) => string)[] = [
      (tag) => tag,
      (tag) => `W/${tag}`,
      (tag) => `"x", ${tag}`,
      (tag) => `"x",W/"y" ,${tag}, "z"`,
      () => '*',
    ]
    for (const condition of met) {
      it(`responds with 304 to ${condition('"tag"')}, whatever Cache-Control the request has`, async () => {
        for (const control of ['', 'no-cache', 'max-age=0']) {
          const response = await under(condition(etag), control ? { 'cache-control': control } : {})
          expect([response.status, response.text]).to.deep.equal([304, ''])
          expect(response.headers.get('etag')).to.equal(etag)
          expect(response.headers.get('cache-control')).to.match(/^public, max-age=\d+$/)
          expect(response.headers.get('content-type')).to.equal(null)
        }
      })
    }

    for (const condition of ['"x"', 'x', '"*"', '""', 'W/"x"']) {
      it(`sends the list to ${condition}`, async () => {
        expect((await under(condition)).status).to.equal(200)
      })
    }

    it('sends the list once it has changed', async () => {
      const { id } = await impersonate(deployment)
      await revoke(deployment, id)
      clock.tick(1)
      expect((await under(etag)).status).to.equal(200)
    })

    it('is asked after whether there is such a list', async () => {
      expectError(await ask('/7', { headers: { 'if-none-match': '*' } }), 404)
    })
  })

  describe('responds with 404', () => {
    const others = [
      '/2',
      '/1000',
      '/00',
      '/01',
      '/-1',
      '/+1',
      '/1.0',
      '/1e0',
      '/0x0',
      '/a',
      '/0a',
      '/%30',
      '/0%00',
    ]
    for (const path of [
      ...others,
      '/99999999999999999999',
      `/${'9'.repeat(5000)}`,
      '/０',
      '/0;v=1',
      '/%zz',
    ]) {
      it(`to ${path.slice(0, 30)}, also with ?time=`, async () => {
        for (const query of ['', '?time=1', '?x=1']) {
          expectError(await ask(path + query), 404)
        }
      })
    }

    it('without asking the database', async () => {
      const { statements } = deployment.database
      await fetchList(deployment)
      const before = statements.length
      await Promise.all(Array.from({ length: 50 }, (_, number) => ask(`/${number + 2}`)))
      expect(statements.slice(before)).to.deep.equal([])
      clock.tick(1)
      for (const path of ['/x', '/00']) await ask(path)
      expect(statements.slice(before)).to.deep.equal([])
    })

    it('or 200 to whatever comes', () =>
      fc.assert(
        fc.asyncProperty(
          fc.oneof(
            fc.integer().map(String),
            fc.double().map(String),
            fc.bigInt().map(String),
            fc.webPath().map((path) => path.replaceAll('/', '')),
            fc.string({ unit: 'binary' }).map(encodeURIComponent),
            fc.stringMatching(/^[!-~]{1,40}$/).map((text) => text.replaceAll(/[/?#]/g, '')),
          ),
          fc.constantFrom('', '?time=1', '?time', '?', '?%'),
          async (name, query) => {
            if (name === '' || /^(\.|%2e){1,2}$/i.test(name)) return
            const path = `/api/status-lists/${name}${query}`
            const response = await rawRequest(deployment.baseUrl, [`GET ${path} HTTP/1.1`, 'Host: x'])
            const isServed = name === '0' || name === '1'
            const expected = !isServed ? 404 : query.startsWith('?time') ? 501 : 200
            expect(response, path).to.match(new RegExp(`^HTTP/1.1 ${expected} `))
          },
        ),
        { numRuns: 300 },
      ))
  })

  it('responds with 501 to ?time= for a list that is served (draft §8.4)', async () => {
    for (const query of ['?time=1686925000', '?time=', '?time', '?x=1&time=1'])
      expectError(await ask(`/0${query}`), 501)
    expect((await ask('/0?x=1')).status).to.equal(200)
  })

  it('responds with 406 where the media type is excluded', async () => {
    const excluded = ['application/json', 'application/statuslist+cwt', 'text/*', `${MEDIA_TYPE};q=0`]
    for (const accept of excluded) expectError(await ask('/0', { headers: { accept } }), 406)
    for (const accept of [MEDIA_TYPE, '*/*', 'application/*', `application/json, ${MEDIA_TYPE};q=0.1`])
      expect((await ask('/0', { headers: { accept } })).status, accept).to.equal(200)
  })

  it('responds with 500 while the key cannot sign, tells the operator, and recovers', async () => {
    const state = { down: true }
    class Remote extends ExternalSigningKey {
      readonly key = createPrivateKey({ key: { ...SIGNING_KEY } as never, format: 'jwk' })
      override keyObject = () => createPublicKey(this.key)
      override async sign(data: Uint8Array) {
        if (state.down) throw new Error('private: no answer')
        return sign('sha256', data, { key: this.key, dsaEncoding: 'ieee-p1363' })
      }
    }
    const features = { externalSigningSupport: { enabled: true, ack: 'experimental-01' } } as never
    await withDeployment({ configuration: { jwks: { keys: [new Remote()] }, features } }, async (own) => {
      for (const count of [1, 2]) {
        expectError(await askList(own), 500)
        expect(own.errors).to.have.length(count)
        expectError(await askList(own, '/7'), 404)
        expect(own.errors).to.have.length(count)
      }
      state.down = false
      expect((await askList(own)).status).to.equal(200)
      expect(own.errors).to.have.length(2)
    })
  })

  it('responds with 405 to other methods', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      for (const path of ['/0', '/7', '/x']) {
        const response = await ask(path, { method })
        expectError(response, 405)
        expect(response.headers.get('allow')).to.equal('GET, HEAD')
      }
  })

  it('is what openapi.json describes', async () => {
    const { faultsOf } = description()
    const etag = (await ask()).headers.get('etag') ?? ''
    const cases: [status: number, path: string, headers?: Record<string, string>][] = [
      [200, '/0'],
      [304, '/0', { 'if-none-match': etag }],
      [404, '/7'],
      [406, '/0', { accept: 'text/html' }],
      [501, '/0?time=1'],
    ]
    for (const method of ['GET', 'HEAD'])
      for (const [status, path, headers = {}] of cases) {
        const response = await ask(path, { method, headers })
        expect([response.status, ...faultsOf(method, ROUTE, response)], path).to.deep.equal([status])
      }
    expect(faultsOf('POST', ROUTE, await ask('/0', { method: 'POST' }))).to.deep.equal([])
  })

  it('is served by router() and handler(), and left out by only', async () => {
    const { impersonation } = deployment
    const app = new Koa()
    app.use(impersonation.router({ prefix: '/all' }).routes())
    app.use(impersonation.router({ prefix: '/internal', only: 'management' }).routes())
    app.use(impersonation.router({ prefix: '/public', only: 'status-lists' }).routes())
    const handle = impersonation.handler({ prefix: '/node' })
    const koa = app.callback()
    const server = createServer((request, response) =>
      handle(request, response, () => koa(request, response)),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { statements } = deployment.database
    clock.tick(1)
    const before = statements.length
    for (const [path, status] of Object.entries({
      '/node/status-lists/0': 200,
      '/node/status-lists/7': 404,
      '/all/status-lists/0': 200,
      '/public/status-lists/0': 200,
      '/internal/status-lists/0': 404,
      '/internal/subject-tokens': 401,
      '/public/subject-tokens': 404,
    }))
      expect((await fetch(`http://127.0.0.1:${port}${path}`)).status, path).to.equal(status)
    // What is remembered is the process's, not the router's.
    expect(statements.slice(before)).to.have.length(2)
    server.close()
    server.closeAllConnections()
  })

  it('leaves other paths to the host', async () => {
    for (const path of ['', '/', '/0/', '/0/1']) expect((await ask(path)).text, path).to.equal('Not Found')
    expect((await fetch(`${deployment.baseUrl}/api/Status-lists/0`)).headers.get('content-type')).to.match(
      /^text/,
    )
  })

  it('does not exist without status lists', () =>
    withDeployment({ options: { statusList: false } }, async (without) => {
      expect((await askList(without)).text).to.equal('Not Found')
      expect((await askList(without, '/0', { method: 'POST' })).text).to.equal('Not Found')
      for (const method of ['router', 'handler'] as const)
        expect(() => without.impersonation[method]({ only: 'status-lists' })).to.throw(
          TypeError,
          'statusList',
        )
    }))

  for (const method of ['findStopped', 'findStatusLists'] as const) {
    it(`responds with 503 when ${method} fails, asks again after a second, and recovers`, async () => {
      const real = createSubjectTokenStore(deployment.database.sequelize)
      const state = { asked: 0, down: true }
      const failing = async (...call: unknown[]) => {
        state.asked += 1
        if (state.down) throw new Error('private: no connection')
        return Reflect.apply(real[method], real, call)
      }
      const { database } = deployment
      const store = { ...real, [method]: failing }
      await withDeployment({ database, options: { store } }, async (own) => {
        for (let count = 0; count < 5; count += 1) {
          const response = await askList(own)
          expectError(response, 503)
          expect(description().faultsOf('GET', ROUTE, response)).to.deep.equal([])
          expect(response.text).not.to.include('private')
        }
        expect(state.asked).to.equal(1)
        state.down = false
        clock.tick(1)
        expect((await askList(own)).status).to.equal(200)
        state.down = true
        clock.tick(1)
        expect((await askList(own)).status).to.equal(503)
        expect(own.errors).to.have.length(6)
      })
    })
  }
})
