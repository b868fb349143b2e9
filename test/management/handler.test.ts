/** `impersonation.handler()`: the management API in hosts that are not Koa applications. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import connect from 'connect'
import express, { type Express } from 'express'
import express4 from 'express4'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { machineClient } from '../../fixtures/clients.ts'
import { type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { type HttpResponse, send } from '../../fixtures/http.ts'
import { rawRequest } from '../../fixtures/raw-request.ts'
import { managementToken } from '../../fixtures/requests.ts'
import { uncalledStore } from '../../fixtures/uncalled-store.ts'
import { createImpersonation } from '../../src/index.ts'

const VALID = '{"userId":"alice","context":{"ticketId":"T-1"}}'
const COOKIE_KEY = 'a key of the tests'
const JSON_TYPE = { 'content-type': 'application/json' }

async function whileListening(host: RequestListener, use: (baseUrl: string) => Promise<void>) {
  const server = createServer(host)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
}

describe('management: handler', () => {
  let deployment: Deployment
  let token: string
  before(async () => {
    deployment = await startDeployment()
    token = await managementToken(deployment)
  })
  after(() => deployment.close())

  const issue = (baseUrl: string, body = VALID, path = '/api/subject-tokens'): Promise<HttpResponse> =>
    send(baseUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...JSON_TYPE },
      body,
    })

  it('is made after attach', () => {
    const impersonation = createImpersonation({ store: uncalledStore })
    expect(() => impersonation.handler()).to.throw(TypeError, 'call attach(provider) before handler()')
    expect(() => impersonation.router()).to.throw(TypeError, 'call attach(provider) before router()')
  })

  it('issues, shows, lists and revokes under node:http', async () => {
    await whileListening(deployment.impersonation.handler(), async (baseUrl) => {
      const issued = await issue(baseUrl)
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
    })
  })

  describe('without a next', () => {
    const expectNotFound = ({ status, headers, body }: HttpResponse) => {
      expect([status, body]).to.deep.equal([404, { error: 'not_found', error_description: 'not found' }])
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(headers.get('content-type')).to.equal('application/json; charset=utf-8')
    }

    it('responds with 404 in JSON to every other path and method', async () => {
      await whileListening(deployment.impersonation.handler(), async (baseUrl) => {
        for (const path of [
          '/',
          '/api',
          '/subject-tokens',
          '/api/subject-tokens/',
          '/x?y=/api/subject-tokens',
        ])
          expectNotFound(await send(baseUrl + path))
        expectNotFound(await send(`${baseUrl}/tickets`, { method: 'POST', headers: JSON_TYPE, body: VALID }))
        const head = await fetch(`${baseUrl}/x`, { method: 'HEAD' })
        expect([head.status, await head.text()]).to.deep.equal([404, ''])
      })
    })

    it('survives a request line that is not a URL', async () => {
      await whileListening(deployment.impersonation.handler(), async (baseUrl) => {
        for (const target of ['http://a:99999/api', 'http://a%/x', '*', '//'])
          expect(await rawRequest(baseUrl, [`OPTIONS ${target} HTTP/1.1`, 'Host: localhost'])).to.match(
            /^HTTP\/1.1 404 /,
          )
        expect((await issue(baseUrl)).status).to.equal(201)
      })
    })
  })

  describe('passes on to the host', () => {
    const handle = () => deployment.impersonation.handler()

    /** What a path arrives as, if it is passed on. */
    async function passedOn(build: () => RequestListener, path: string): Promise<string> {
      let text = ''
      await whileListening(build(), async (baseUrl) => {
        text = (await send(baseUrl + path)).text
      })
      return text
    }
    const tell = (request: IncomingMessage & { originalUrl?: string }) =>
      `${request.url} of ${request.originalUrl}`

    const frameworks: [name: string, application: () => Express][] = [
      ['Express 5', () => express()],
      ['Express 4', () => express4() as unknown as Express],
      ['Connect', () => connect() as unknown as Express],
    ]
    for (const [name, application] of frameworks) {
      it(`paths that another mount left of a path of its own, under ${name}`, async () => {
        const mounted = (path: string) => () => {
          const inner = application()
          inner.use(handle())
          inner.use((request, response) => void response.end(tell(request)))
          return application().use(path, inner)
        }
        for (const [path, left] of [
          ['/foreign', '/subject-tokens'],
          ['/foreign', '/subject-tokens/x?userId=alice'],
          ['/xapi', '/subject-tokens'],
          ['/api/v2', '/subject-tokens'],
          ['/API', '/subject-tokens'],
        ] as const)
          expect(await passedOn(mounted(path), path + left)).to.equal(`${left} of ${path}${left}`)
      })

      it(`with the URL as it was, under ${name}`, async () => {
        const unmounted = () => {
          const app = application()
          app.use(handle())
          app.use('/api', handle())
          app.use('/api', (request, response) => void response.end(tell(request)))
          return app
        }
        for (const left of ['/health', '/x?y', '/Subject-tokens', '/subject-tokens/'])
          expect(await passedOn(unmounted, `/api${left}`)).to.equal(`${left} of /api${left}`)
      })
    }

    it('what was rewritten, unless the original URL ends in the prefix and the new one', async () => {
      const rewritten: RequestListener = (request, response) => {
        const given = { originalUrl: request.url, url: '/subject-tokens' }
        deployment.impersonation.handler()(Object.assign(request, given), response, () =>
          response.end(request.url),
        )
      }
      for (const original of [
        '/go?to=/api/subject-tokens',
        '/api/subject-tokens?x',
        '/subject-tokens',
        '/api',
      ])
        expect(await passedOn(() => rewritten, original)).to.equal('/subject-tokens')
      expect(await passedOn(() => rewritten, '/v2/api/subject-tokens')).to.include('invalid_token')
    })
  })

  it('changes no URL of its own paths either, which loggers read', async () => {
    const inside = express().use('/api', deployment.impersonation.handler())
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

  describe('takes a body that the host has parsed', () => {
    const parsers: [title: string, host: () => RequestListener][] = [
      ['Express 5, express.json()', () => express().use(express.json())],
      ['Express 4, express.json()', () => express4().use(express4.json())],
      ['Express 5, as text', () => express().use(express.text({ type: '*/*' }))],
      ['Express 5, as bytes', () => express().use(express.raw({ type: '*/*' }))],
      ['Express 5, forms only', () => express().use(express.urlencoded())],
      ['Express 4, forms only', () => express4().use(express4.urlencoded({ extended: false }))],
      [
        'Express 4, forms and text',
        () => express4().use(express4.urlencoded({ extended: true }), express4.text()),
      ],
    ]
    for (const [title, host] of parsers) {
      it(title, async () => {
        const app = host() as Express
        app.use(deployment.impersonation.handler())
        await whileListening(app, async (baseUrl) => {
          const response = await issue(baseUrl)
          expect(response.status, response.text).to.equal(201)
          const refused = await issue(baseUrl, '{}')
          expect([refused.status, refused.body.error_description]).to.deep.equal([400, 'userId is required'])
        })
      })
    }
  })

  describe('reads requests as the provider does', () => {
    const seen: { secure?: boolean; ip?: string; cookie?: string | undefined }[] = []
    const look = (ctx: KoaContextWithOIDC) => {
      seen.push({ secure: ctx.secure, ip: ctx.ip, cookie: ctx.cookies.get('mine', { signed: true }) })
    }

    it('with its proxy setting and its keys, also if they are set later', async () => {
      const findAccount = async (ctx: KoaContextWithOIDC, accountId: string) => {
        look(ctx)
        return { accountId, claims: () => ({ sub: accountId }) }
      }
      await withDeployment(
        { configuration: { findAccount, cookies: { keys: [COOKIE_KEY] } } },
        async (own) => {
          const bearer = await managementToken(own)
          const { provider, impersonation } = own
          await whileListening(impersonation.handler(), async (baseUrl) => {
            const post = (cookie: string) =>
              send(`${baseUrl}/api/subject-tokens`, {
                method: 'POST',
                headers: {
                  authorization: `Bearer ${bearer}`,
                  ...JSON_TYPE,
                  'x-forwarded-proto': 'https',
                  'x-forwarded-for': '192.0.2.1',
                  cookie,
                },
                body: VALID,
              })
            const signature = createHmac('sha1', COOKIE_KEY).update('mine=1').digest('base64url')
            const signed = `mine=1; mine.sig=${signature}`
            expect((await post(signed)).status).to.equal(201)
            expect((await post('mine=1; mine.sig=forged')).status).to.equal(201)
            provider.proxy = true
            expect((await post(signed)).status).to.equal(201)
          })
        },
      )
      expect(seen).to.deep.equal([
        { secure: false, ip: '127.0.0.1', cookie: '1' },
        { secure: false, ip: '127.0.0.1', cookie: undefined },
        { secure: true, ip: '192.0.2.1', cookie: '1' },
      ])
    })
  })

  describe('when something goes wrong', () => {
    const post = (baseUrl: string, bearer: string) =>
      send(`${baseUrl}/api/subject-tokens`, {
        method: 'POST',
        headers: { authorization: `Bearer ${bearer}`, ...JSON_TYPE },
        body: VALID,
      })
    const isAllowed = () => Promise.reject(new Error('policy'))

    it('tells the listeners of server_error on the provider', async () => {
      await withDeployment({ options: { isAllowed } }, async (own) => {
        const bearer = await managementToken(own)
        const clients: unknown[] = []
        own.provider.on('server_error', ({ oidc }) => void clients.push(oidc.client?.clientId))
        await whileListening(own.impersonation.handler(), async (baseUrl) => {
          expect((await post(baseUrl, bearer)).status).to.equal(500)
        })
        expect(own.errors.map(String)).to.deep.equal(['Error: isAllowed failed'])
        expect(clients).to.deep.equal(['backend'])
      })
    })

    it('gives them a context of the provider, also before the client is known', async () => {
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
          expect((await post(baseUrl, bearer)).status).to.equal(503)
        })
        expect(providers).to.deep.equal([own.provider])
      })
    })

    it('responds also if a listener throws', async () => {
      await withDeployment({ options: { isAllowed } }, async (own) => {
        const bearer = await managementToken(own)
        own.provider.on('server_error', () => {
          throw new Error('a listener')
        })
        await whileListening(own.impersonation.handler(), async (baseUrl) => {
          const response = await post(baseUrl, bearer)
          expect([response.status, response.body?.error]).to.deep.equal([500, 'server_error'])
        })
      })
    })
  })
})
