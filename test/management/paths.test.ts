/** Which paths are ours (protocol.md §2), and that every response there is JSON and stays out of caches. */
import { once } from 'node:events'
import { createServer, METHODS, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import connect from 'connect'
import express from 'express'
import express4 from 'express4'
import Koa from 'koa'
import mount from 'koa-mount'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { rawRequest } from '../../fixtures/raw-request.ts'
import type { Impersonation } from '../../src/index.ts'

const HOST = 'what the host says'

interface Response {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

interface Host {
  request(method: string, path: string): Promise<Response>
  close(): Promise<void>
}

/** A Koa application that has only our routes and, after them, the rest of the host. */
function koa(useRoutes: (app: Koa) => unknown): RequestListener {
  const app = new Koa()
  useRoutes(app)
  app.use((ctx) => {
    ctx.body = HOST
  })
  return app.callback()
}

/** The rest of a host that is not a Koa application. */
const rest: RequestListener = (_request, response) => void response.end(HOST)

async function serve(host: RequestListener): Promise<Host> {
  const server = createServer(host)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    async request(method, path) {
      const response = await rawRequest(`http://127.0.0.1:${port}`, [
        `${method} ${path} HTTP/1.1`,
        'Host: localhost',
      ])
      const [head = '', ...body] = response.split('\r\n\r\n')
      const [status = '', ...lines] = head.split('\r\n')
      const headers = new Headers(
        lines.map((line): [string, string] => [line.split(': ')[0] ?? '', line.split(': ')[1] ?? '']),
      )
      return { status: Number(status.split(' ')[1]), headers, text: body.join('\r\n\r\n') }
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function expectOurs({ status, headers, text }: Response, expected: number, method = 'GET'): void {
  expect([status, headers.get('cache-control')], text).to.deep.equal([expected, 'no-store'])
  expect(headers.get('content-type')).to.equal('application/json; charset=utf-8')
  if (method !== 'HEAD') expect(JSON.parse(text)).to.have.all.keys('error', 'error_description')
}

function expectHosts({ status, headers, text }: Response, method = 'GET'): void {
  expect([status, text]).to.deep.equal([200, method === 'HEAD' ? '' : HOST])
  expect(headers.get('cache-control')).to.equal(null)
}

const OURS = [
  '/subject-tokens',
  '/subject-tokens?userId=alice',
  '/subject-tokens?',
  '/subject-tokens?userId=/',
  '/subject-tokens?userId=/?x',
  '/subject-tokens/x',
  '/subject-tokens/X',
  '/subject-tokens/x?y',
  '/subject-tokens/..',
  '/subject-tokens/%2e%2e',
  '/subject-tokens/%2F',
  '/subject-tokens/x%2F',
  '/subject-tokens/%',
  '/subject-tokens/x;y',
]

const HOSTS = [
  '',
  '/',
  '/subject-tokens/',
  '/subject-tokens/?userId=alice',
  '/subject-tokens/x/',
  '/subject-tokens/x/y',
  '/Subject-Tokens',
  '/SUBJECT-TOKENS/x',
  '/subject-tokenS',
  '/subject%2Dtokens',
  '/subject%2dtokens/x',
  '/%73ubject-tokens',
  '/subject-tokens%2F',
  '/subject-tokens%2Fx',
  '/subject-tokens%00',
  '/subject-tokens%20',
  '/subject-tokens;x',
  '/subject-tokens//',
  '/subject-tokens//x',
  '//subject-tokens',
  '/./subject-tokens',
  '/x/../subject-tokens',
  '/%2e/subject-tokens',
  '/subject-tokens\\x',
]

describe('management: paths', () => {
  let deployment: Deployment
  let impersonation: Impersonation
  before(async () => {
    deployment = await startDeployment()
    impersonation = deployment.impersonation
  })
  after(() => deployment.close())

  const routes = (options?: { prefix: string }) => impersonation.router(options).routes()
  const handler = (options?: { prefix: string }) => impersonation.handler(options)
  const mounted: [title: string, base: string, host: () => RequestListener][] = [
    ['by default', '/api', () => koa((app) => app.use(routes()))],
    ['under a prefix', '/internal/v1.2', () => koa((app) => app.use(routes({ prefix: '/internal/v1.2' })))],
    ['at the root', '', () => koa((app) => app.use(routes({ prefix: '' })))],
    ['under koa-mount', '/internal/api', () => koa((app) => app.use(mount('/internal', routes())))],
    [
      'at the root of koa-mount',
      '/internal',
      () => koa((app) => app.use(mount('/internal', routes({ prefix: '' })))),
    ],
    [
      'under node:http',
      '/api',
      () => {
        const handle = handler()
        return (request, response) => handle(request, response, () => rest(request, response))
      },
    ],
    ['under Express 5', '/api', () => express().use(handler()).use(rest)],
    [
      'under Express 4',
      '/internal',
      () =>
        express4()
          .use(handler({ prefix: '/internal' }))
          .use(rest),
    ],
    [
      'at the root of Express',
      '',
      () =>
        express()
          .use(handler({ prefix: '' }))
          .use(rest),
    ],
    ['under Express, mounted at the prefix', '/api', () => express().use('/api', handler()).use(rest)],
    ['under Express 4, mounted at the prefix', '/api', () => express4().use('/api', handler()).use(rest)],
    [
      'under Express, mounted elsewhere',
      '/internal/api',
      () => express().use('/internal', handler()).use(rest),
    ],
    [
      'under Express, mounted at the prefix below another path',
      '/internal/api',
      () => express().use('/internal', express.Router().use('/api', handler())).use(rest),
    ],
    ['under Connect', '/api', () => connect().use(handler()).use(rest)],
    ['under Connect, mounted at the prefix', '/api', () => connect().use('/api', handler()).use(rest)],
  ]
  for (const [title, base, application] of mounted) {
    describe(title, () => {
      let host: Host
      before(async () => {
        host = await serve(application())
      })
      after(() => host.close())

      for (const path of OURS) {
        it(`are ours: ${base}${path}`, async () => expectOurs(await host.request('GET', base + path), 401))
      }

      for (const path of HOSTS) {
        const whole = base + path || '/'
        it(`are the host's: ${whole}`, async () => expectHosts(await host.request('GET', whole)))
      }

      it('are ours if the request names the whole URL', async () => {
        expectOurs(await host.request('GET', `http://evil.example.com${base}/subject-tokens`), 401)
      })

      it("are the host's in another case or spelling of the base", async () => {
        const others = ['//subject-tokens', '/Subject-tokens']
        if (base !== '') {
          others.push(`${base.toUpperCase()}/subject-tokens`, `/${base}/subject-tokens`)
          others.push(`/%${base.charCodeAt(1).toString(16)}${base.slice(2)}/subject-tokens`)
        }
        if (base.includes('.')) others.push(`${base.replace('.', 'x')}/subject-tokens`)
        for (const path of others) expectHosts(await host.request('GET', path))
      })

      for (const [path, allowed] of [
        ['/subject-tokens', ['GET', 'HEAD', 'POST', 'DELETE']],
        ['/subject-tokens/x', ['GET', 'HEAD', 'DELETE']],
      ] as const) {
        it(`accept the methods of ${path}, and refuse every other with 405`, async () => {
          for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
            const response = await host.request(method, base + path)
            const offered = allowed.some((name) => name === method)
            expectOurs(response, offered ? 401 : 405, method)
            expect(response.headers.get('allow')).to.equal(offered ? null : allowed.join(', '))
          }
        })
      }

      it("leave every method of the host's paths to the host", async () => {
        for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
          expectHosts(await host.request(method, `${base}/subject-tokens/`), method)
        }
      })
    })
  }

  // Characters with a meaning in patterns must not affect the match.
  for (const prefix of ['/a', '/A-b_c.d~e/1', "/a$b&c,d;e=f@g'h", '/a%20b', '/a.b/c.d']) {
    it(`below the prefix ${prefix} return JSON that no cache stores`, async () => {
      const host = await serve(koa((app) => app.use(routes({ prefix }))))
      try {
        expectOurs(await host.request('GET', `${prefix}/subject-tokens`), 401)
        expectOurs(await host.request('PUT', `${prefix}/subject-tokens/x`), 405)
        expectHosts(await host.request('GET', `${prefix}/subject-tokens/`))
      } finally {
        await host.close()
      }
    })
  }

  for (const prefix of [
    'api',
    '/',
    '/api/',
    '//api',
    '/api//v1',
    '/api/../internal',
    '/./api',
    '/..',
    '/api/%2E%2e/internal',
    '/api?x',
    '/api#x',
    '/:tenant/api',
    '/api*',
    '/api/*rest',
    '/(api)',
    '/api{/v1}',
    '/[api]',
    '/api+',
    '/api!',
    '/api\\v1',
    '/api v1',
    '/bücher',
    '/api%',
    '/api%zz',
    'https://id.example.com/api',
    null,
    1,
    ['/api'],
    /api/,
  ]) {
    it(`are not below ${prefix}, which would never match: a TypeError names the option`, () => {
      for (const method of ['router', 'handler'] as const) {
        expect(() => impersonation[method]({ prefix } as { prefix: string })).to.throw(
          TypeError,
          "option prefix must be a path such as '/api', without trailing slash, query, fragment and pattern, or ''",
        )
      }
    })
  }

  describe('with only', () => {
    for (const [only, isOurs] of [
      ['management', true],
      ['status-lists', false],
      [undefined, true],
    ] as const) {
      it(`${only} are ${isOurs ? 'ours' : "the host's"}`, async () => {
        const handle = impersonation.handler({ only })
        const hosts = [
          koa((app) => app.use(impersonation.router({ only }).routes())),
          express().use(handle).use(rest),
          express().use('/api', handle).use(rest),
        ]
        for (const listener of hosts) {
          const host = await serve(listener)
          try {
            for (const path of ['/api/subject-tokens', '/api/subject-tokens/x']) {
              const response = await host.request('GET', path)
              if (isOurs) expectOurs(response, 401)
              else expectHosts(response)
            }
          } finally {
            await host.close()
          }
        }
      })
    }

    for (const only of ['lists', '', null, ['management']]) {
      it(`${JSON.stringify(only)} are refused: a TypeError names the option`, () => {
        for (const method of ['router', 'handler'] as const)
          expect(() => impersonation[method]({ only } as never)).to.throw(
            TypeError,
            "option only must be 'management', 'status-lists', 'door' or 'health'",
          )
      })
    }
  })

  it('are not set by an unknown option: a TypeError names it', () => {
    for (const [given, message] of [
      [{ prefx: '/internal' }, 'unknown option: prefx'],
      [{ prefix: '/internal', strict: false }, 'unknown option: strict'],
      ['/internal', 'takes an options object'],
      [null, 'takes an options object'],
    ] as const) {
      for (const method of ['router', 'handler'] as const)
        expect(() => impersonation[method](given as object)).to.throw(
          TypeError,
          message.replace(/^takes/, `${method} takes`),
        )
    }
    expect(() => impersonation.router({ prefix: undefined })).not.to.throw()
  })
})
