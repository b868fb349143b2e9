/** The routes in hosts of every kind (docs/protocol.md §2): which paths are ours, and what a host has done before and sees afterwards. */
import { createHmac } from 'node:crypto'
import { type IncomingMessage, METHODS, type RequestListener } from 'node:http'
import { expect } from 'chai'
import connect from 'connect'
import express, { type Express } from 'express'
import express4 from 'express4'
import Koa from 'koa'
import mount from 'koa-mount'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { machineClient } from '../../../fixtures/clients.ts'
import { useDeployment, withDeployment } from '../../../fixtures/deployment.ts'
import { type HttpResponse, send } from '../../../fixtures/http.ts'
import { whileListening } from '../../../fixtures/listening.ts'
import { rawRequest } from '../../../fixtures/raw-request.ts'
import { managementToken } from '../../../fixtures/requests.ts'
import { uncalledStore } from '../../../fixtures/uncalled-store.ts'
import { createImpersonation } from '../../../src/index.ts'

const HOST = 'what the host says'
/** The rest of the host. */
const rest: RequestListener = (_request, response) => void response.end(HOST)
const koa = (useRoutes: (app: Koa) => unknown): RequestListener => {
  const app = new Koa()
  useRoutes(app)
  app.use((ctx) => {
    ctx.body = HOST
  })
  return app.callback()
}
const connected = () => connect() as unknown as Express
const old = () => express4() as unknown as Express

/** Sends a path as it is, which `fetch` would normalise. */
async function ask(baseUrl: string, method: string, path: string) {
  const text = await rawRequest(baseUrl, [`${method} ${path} HTTP/1.1`, 'Host: localhost'])
  const [head = '', ...body] = text.split('\r\n\r\n')
  const [line = '', ...headers] = head.split('\r\n')
  return {
    status: Number(line.split(' ')[1]),
    headers: new Headers(headers.map((header) => header.split(': ', 2) as [string, string])),
    text: body.join('\r\n\r\n'),
  }
}

/** Every response of ours is JSON and stays out of caches. */
async function expectOurs(baseUrl: string, method: string, path: string, allow?: string) {
  const { status, headers, text } = await ask(baseUrl, method, path)
  const said = [status, headers.get('cache-control'), headers.get('content-type'), headers.get('allow')]
  const type = 'application/json; charset=utf-8'
  const expected = [allow === undefined ? 401 : 405, 'no-store', type, allow ?? null]
  expect(said, `${method} ${path} ${text}`).to.deep.equal(expected)
  if (method !== 'HEAD') expect(JSON.parse(text)).to.have.all.keys('error', 'error_description')
}

async function expectHosts(baseUrl: string, method: string, path: string) {
  const { status, headers, text } = await ask(baseUrl, method, path)
  const said = [status, headers.get('cache-control'), text]
  expect(said, `${method} ${path}`).to.deep.equal([200, null, method === 'HEAD' ? '' : HOST])
}

const VALID = '{"userId":"alice","context":{"ticketId":"T-1"}}'
const JSON_TYPE = { 'content-type': 'application/json' }
const posts = (baseUrl: string, token: string, body = VALID, headers = {}): Promise<HttpResponse> =>
  send(`${baseUrl}/api/subject-tokens`, {
    method: 'POST',
    // A request that no one answers fails its test, and ends.
    signal: AbortSignal.timeout(5000),
    headers: { authorization: `Bearer ${token}`, ...JSON_TYPE, ...headers },
    body,
  })

describe('management: handler', () => {
  const deployment = useDeployment()
  let token: string
  before(async () => {
    token = await managementToken(deployment)
  })
  const handler = () => deployment.impersonation.handler()

  it('issues, shows, lists and revokes under node:http, with 404 in JSON for all else', () =>
    whileListening(handler(), async (baseUrl) => {
      const issued = await posts(baseUrl, token)
      expect(issued.status, issued.text).to.equal(201)
      const location = issued.headers.get('location') ?? ''
      expect(location).to.match(new RegExp(`^${deployment.baseUrl}/api/subject-tokens/[0-9a-f]{32}$`))
      const item = baseUrl + new URL(location).pathname
      const headers = { authorization: `Bearer ${token}` }
      expect((await send(item, { headers })).body).to.include({ userId: 'alice', state: 'active' })
      const listed = await send(`${baseUrl}/api/subject-tokens?userId=alice&limit=1`, { headers })
      expect(listed.body.items).to.have.length(1)
      expect((await send(item, { method: 'DELETE', headers })).status).to.equal(204)
      expect((await send(item, { headers })).body.state).to.equal('revoked')

      const { status, headers: sent, body } = await send(`${baseUrl}/x?y=/api/subject-tokens`)
      expect([status, body]).to.deep.equal([404, { error: 'not_found', error_description: 'not found' }])
      expect([sent.get('cache-control'), sent.get('content-type')]).to.deep.equal([
        'no-store',
        'application/json; charset=utf-8',
      ])
      for (const path of ['/', '/api', '/subject-tokens', '/api/subject-tokens/'])
        for (const method of ['GET', 'HEAD', 'POST'])
          expect((await ask(baseUrl, method, path)).status, `${method} ${path}`).to.equal(404)
      // Request lines that are no URLs.
      for (const target of ['http://a:99999/api', 'http://a%/x', '*', '//'])
        expect((await ask(baseUrl, 'OPTIONS', target)).status).to.equal(404)
      expect((await posts(baseUrl, token)).status).to.equal(201)
    }))

  const tell = (request: IncomingMessage & { originalUrl?: string }) =>
    `${request.url} of ${request.originalUrl}`
  const frameworks: readonly (readonly [name: string, application: () => Express])[] = [
    ['Express 5', () => express()],
    ['Express 4', old],
    ['Connect', connected],
  ]
  for (const [name, application] of frameworks)
    it(`passes on what is the host's with the URL as it was, under ${name}`, async () => {
      for (const [path, left] of [
        ['/foreign', '/subject-tokens'],
        ['/foreign', '/subject-tokens/x?userId=alice'],
        ['/xapi', '/subject-tokens'],
        ['/api/v2', '/subject-tokens'],
        ['/API', '/subject-tokens'],
        ['/api', '/health'],
        ['/api', '/x?y'],
        ['/api', '/Subject-tokens'],
        ['/api', '/subject-tokens/'],
      ] as const) {
        const inner = application()
        inner.use(handler())
        inner.use((request, response) => void response.end(tell(request)))
        const host = application()
        if (path === '/api') host.use(handler()).use(path, handler())
        await whileListening(host.use(path, inner), async (baseUrl) => {
          expect((await send(baseUrl + path + left)).text).to.equal(`${left} of ${path}${left}`)
        })
      }
    })

  it('passes on what was rewritten, unless the original URL ends in the prefix and the new one', () => {
    const rewritten: RequestListener = (request, response) => {
      const given = { originalUrl: request.url, url: '/subject-tokens' }
      handler()(Object.assign(request, given), response, () => response.end(request.url))
    }
    return whileListening(rewritten, async (baseUrl) => {
      for (const path of ['/go?to=/api/subject-tokens', '/api/subject-tokens?x', '/subject-tokens', '/api'])
        expect((await send(baseUrl + path)).text).to.equal('/subject-tokens')
      expect((await send(`${baseUrl}/v2/api/subject-tokens`)).text).to.include('invalid_token')
    })
  })

  it('changes no URL of its own paths either, which loggers read', async () => {
    const inside = express().use('/api', handler())
    const seen: (string | undefined)[] = []
    const server: RequestListener = (request, response) => {
      response.once('finish', () => seen.push(request.url))
      inside(request, response)
    }
    await whileListening(server, async (baseUrl) => {
      expect((await send(`${baseUrl}/api/subject-tokens?x`)).status).to.equal(401)
    })
    expect(seen).to.deep.equal(['/subject-tokens?x'])
  })

  const parsers: Readonly<Record<string, () => RequestListener>> = {
    'Express 5, express.json()': () => express().use(express.json()),
    'Express 4, express.json()': () => express4().use(express4.json()),
    'Express 5, as text': () => express().use(express.text({ type: '*/*' })),
    'Express 5, as bytes': () => express().use(express.raw({ type: '*/*' })),
    'Express 5, forms only': () => express().use(express.urlencoded()),
    'Express 4, forms only': () => express4().use(express4.urlencoded({ extended: false })),
    'Express 4, forms and text': () =>
      express4().use(express4.urlencoded({ extended: true }), express4.text()),
  }
  for (const [title, host] of Object.entries(parsers))
    it(`takes a body that the host has parsed: ${title}`, () =>
      whileListening((host() as Express).use(handler()), async (baseUrl) => {
        const response = await posts(baseUrl, token)
        expect(response.status, response.text).to.equal(201)
        const refused = await posts(baseUrl, token, '{}')
        expect([refused.status, refused.body.error_description]).to.deep.equal([400, 'userId is required'])
      }))

  it('reads requests with the proxy setting and the keys of the provider, also if they are set later', async () => {
    const key = 'a key of the tests'
    const seen: unknown[] = []
    const findAccount = async (ctx: KoaContextWithOIDC, accountId: string) => {
      seen.push([ctx.secure, ctx.ip, ctx.cookies.get('mine', { signed: true })])
      return { accountId, claims: () => ({ sub: accountId }) }
    }
    await withDeployment({ configuration: { findAccount, cookies: { keys: [key] } } }, async (own) => {
      const bearer = await managementToken(own)
      const by = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' }
      const signed = `mine=1; mine.sig=${createHmac('sha1', key).update('mine=1').digest('base64url')}`
      await whileListening(own.impersonation.handler(), async (baseUrl) => {
        const sends = (cookie: string) => posts(baseUrl, bearer, VALID, { ...by, cookie })
        expect((await sends(signed)).status).to.equal(201)
        expect((await sends('mine=1; mine.sig=forged')).status).to.equal(201)
        own.provider.proxy = true
        expect((await sends(signed)).status).to.equal(201)
      })
    })
    expect(seen).to.deep.equal([
      [false, '127.0.0.1', '1'],
      [false, '127.0.0.1', undefined],
      [true, '192.0.2.1', '1'],
    ])
  })

  it('tells the listeners of server_error, in a context of the provider, and responds also if one throws', async () => {
    const isAllowed = () => Promise.reject(new Error('policy'))
    await withDeployment({ options: { isAllowed } }, async (own) => {
      const bearer = await managementToken(own)
      const clients: unknown[] = []
      own.provider.on('server_error', ({ oidc }) => {
        clients.push(oidc.client?.clientId)
        throw new Error('a listener')
      })
      await whileListening(own.impersonation.handler(), async (baseUrl) => {
        const { status, body } = await posts(baseUrl, bearer)
        expect([status, body?.error]).to.deep.equal([500, 'server_error'])
      })
      expect(own.errors.map(String)).to.deep.equal(['Error: isAllowed failed'])
      expect(clients).to.deep.equal(['backend'])
    })
  })

  it('gives them a context before the client is known', async () => {
    const client = machineClient({ client_id: 'stored' })
    let down = false
    const adapter = (model: string) => ({
      async find(id: string) {
        if (down) throw new Error('down')
        return model === 'Client' && id === client.client_id ? client : undefined
      },
    })
    await withDeployment({ configuration: { adapter: adapter as never } }, async (own) => {
      const bearer = await managementToken(own, { client })
      const providers: unknown[] = []
      own.provider.on('server_error', ({ oidc }) => void providers.push(oidc.provider))
      down = true
      await whileListening(own.impersonation.handler(), async (baseUrl) => {
        expect((await posts(baseUrl, bearer)).status).to.equal(503)
      })
      expect(providers).to.deep.equal([own.provider])
    })
  })
})

const OURS = [
  ...['', '?userId=alice', '?', '?userId=/', '?userId=/?x', '/x', '/X', '/x?y', '/..', '/%2e%2e', '/%2F'],
  ...['/x%2F', '/%', '/x;y'],
].map((path) => `/subject-tokens${path}`)
const HOSTS = [
  ...['', '/', '/subject-tokens/', '/subject-tokens/?userId=alice', '/subject-tokens/x/'],
  ...['/subject-tokens/x/y', '/Subject-Tokens', '/SUBJECT-TOKENS/x', '/subject-tokenS', '/subject%2Dtokens'],
  ...['/subject%2dtokens/x', '/%73ubject-tokens', '/subject-tokens%2F', '/subject-tokens%2Fx'],
  ...['/subject-tokens%00', '/subject-tokens%20', '/subject-tokens;x', '/subject-tokens//'],
  ...['/subject-tokens//x', '//subject-tokens', '/./subject-tokens', '/x/../subject-tokens'],
  ...['/%2e/subject-tokens', '/subject-tokens\\x'],
]
const METHODS_SENT = METHODS.filter((name) => name !== 'CONNECT')
const ALLOWED = { '/subject-tokens': 'GET, HEAD, POST, DELETE', '/subject-tokens/x': 'GET, HEAD, DELETE' }

describe('management: paths', () => {
  const deployment = useDeployment()
  const routes = (options?: object) => deployment.impersonation.router(options).routes()
  const handler = (options?: object) => deployment.impersonation.handler(options)
  const below = '/internal'
  const atRoot = { prefix: '' }
  const hosts: Readonly<Record<string, readonly [base: string, host: () => RequestListener]>> = {
    'by default': ['/api', () => koa((app) => app.use(routes()))],
    'under a prefix': ['/internal/v1.2', () => koa((app) => app.use(routes({ prefix: '/internal/v1.2' })))],
    'at the root': ['', () => koa((app) => app.use(routes(atRoot)))],
    'under koa-mount': ['/internal/api', () => koa((app) => app.use(mount(below, routes())))],
    'at the root of koa-mount': [below, () => koa((app) => app.use(mount(below, routes(atRoot))))],
    'under node:http': [
      '/api',
      () => {
        const handle = handler()
        return (request, response) => handle(request, response, () => rest(request, response))
      },
    ],
    'under Express 5': ['/api', () => express().use(handler()).use(rest)],
    'under Express 4': [
      below,
      () =>
        old()
          .use(handler({ prefix: below }))
          .use(rest),
    ],
    'at the root of Express': ['', () => express().use(handler(atRoot)).use(rest)],
    'under Express, mounted at the prefix': ['/api', () => express().use('/api', handler()).use(rest)],
    'under Express 4, mounted at the prefix': ['/api', () => old().use('/api', handler()).use(rest)],
    'under Express, mounted elsewhere': ['/internal/api', () => express().use(below, handler()).use(rest)],
    'under Express, mounted at the prefix below another path': [
      '/internal/api',
      () => express().use(below, express.Router().use('/api', handler())).use(rest),
    ],
    'under Connect': ['/api', () => connected().use(handler()).use(rest)],
    'under Connect, mounted at the prefix': ['/api', () => connected().use('/api', handler()).use(rest)],
  }
  for (const [title, [base, host]] of Object.entries(hosts)) {
    it(`${title} are ours to the letter, and all others the host's`, () =>
      whileListening(host(), async (baseUrl) => {
        const others = HOSTS.map((path) => base + path || '/')
        if (base !== '') {
          others.push('//subject-tokens', '/Subject-tokens')
          others.push(`${base.toUpperCase()}/subject-tokens`, `/${base}/subject-tokens`)
          others.push(`/%${base.charCodeAt(1).toString(16)}${base.slice(2)}/subject-tokens`)
        }
        if (base.includes('.')) others.push(`${base.replace('.', 'x')}/subject-tokens`)
        for (const path of others) await expectHosts(baseUrl, 'GET', path)
        const named = `http://evil.example.com${base}/subject-tokens`
        for (const path of [named, ...OURS.map((ours) => base + ours)]) await expectOurs(baseUrl, 'GET', path)
        for (const method of METHODS_SENT) {
          await expectHosts(baseUrl, method, `${base}/subject-tokens/`)
          for (const [path, allow] of Object.entries(ALLOWED))
            await expectOurs(
              ...([baseUrl, method, base + path] as const),
              allow.split(', ').includes(method) ? undefined : allow,
            )
        }
      }))
  }

  it('may stand below characters that have a meaning in patterns', async () => {
    for (const prefix of ['/a', '/A-b_c.d~e/1', "/a$b&c,d;e=f@g'h", '/a%20b', '/a.b/c.d'])
      await whileListening(
        koa((app) => app.use(routes({ prefix }))),
        async (baseUrl) => {
          await expectOurs(baseUrl, 'GET', `${prefix}/subject-tokens`)
          await expectOurs(baseUrl, 'PUT', `${prefix}/subject-tokens/x`, ALLOWED['/subject-tokens/x'])
          await expectHosts(baseUrl, 'GET', `${prefix}/subject-tokens/`)
        },
      )
  })

  const PREFIX =
    "option prefix must be a path such as '/api', without trailing slash, query, fragment and pattern, or ''"
  const ONLY = "option only must be 'management', 'status-lists', 'door' or 'health'"
  const refused: readonly (readonly [given: unknown, text: string])[] = [
    ...[
      ...['api', '/', '/api/', '//api', '/api//v1', '/api/../internal', '/./api', '/..', '/api?x', '/api#x'],
      ...['/api/%2E%2e/internal', '/:tenant/api', '/api*', '/api/*rest', '/(api)', '/api{/v1}', '/[api]'],
      ...['/api+', '/api!', '/api\\v1', '/api v1', '/bücher', '/api%', '/api%zz'],
      ...['https://id.example.com/api', null, 1, ['/api'], /api/],
    ].map((prefix) => [{ prefix }, PREFIX] as const),
    ...['lists', '', null, ['management']].map((only) => [{ only }, ONLY] as const),
    [{ prefx: '/internal' }, 'unknown option: prefx'],
    [{ prefix: '/internal', strict: false }, 'unknown option: strict'],
    ['/internal', 'takes an options object'],
    [null, 'takes an options object'],
  ]
  for (const method of ['router', 'handler'] as const)
    it(`are not below what no request could match: a TypeError of ${method} names the option`, () => {
      for (const [given, text] of refused) {
        const said = text.replace(/^takes/, `${method} takes`)
        expect(() => deployment.impersonation[method](given as object), JSON.stringify(given)).to.throw(
          TypeError,
          said,
        )
      }
      expect(() => deployment.impersonation[method]({ prefix: undefined })).not.to.throw()
      const unattached = createImpersonation({ store: uncalledStore })
      expect(() => unattached[method]()).to.throw(TypeError, `call attach(provider) before ${method}()`)
    })

  for (const [only, expectThem] of [
    ['management', expectOurs],
    ['status-lists', expectHosts],
    [undefined, expectOurs],
  ] as const)
    it(`with only ${only} are ${expectThem === expectOurs ? 'ours' : "the host's"}`, async () => {
      for (const host of [
        koa((app) => app.use(routes({ only }))),
        express().use(handler({ only })).use(rest),
        express().use('/api', handler({ only })).use(rest),
      ])
        await whileListening(host, async (baseUrl) => {
          for (const path of ['/api/subject-tokens', '/api/subject-tokens/x'])
            await expectThem(baseUrl, 'GET', path)
        })
    })
})
