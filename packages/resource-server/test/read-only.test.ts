/** Read-only tokens (docs/protocol.md §11): an API takes them where it only reads. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { expect } from 'chai'
import { introspectingClient } from '../../../fixtures/clients.ts'
import { API, type Deployment, OPAQUE_API, startDeployment } from '../../../fixtures/deployment.ts'
import { dpopKey } from '../../../fixtures/dpop.ts'
import { type Listening, listen } from '../../../fixtures/listening.ts'
import { BILLING, downstream, ownToken, passedOn, viewed } from '../../../fixtures/on-behalf-of.ts'
import { rawRequest } from '../../../fixtures/raw-request.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'
import { createVerifier, type Effect, Forbidden, type NodeRequest, type Verifier } from '../src/index.ts'
import { respondJson, withBearer } from './issuer.ts'
import { expectInvalidToken, refusalOf } from './refusals.ts'
import { useIssuer } from './stopped-issuer.ts'

const { client_id: clientId, client_secret: clientSecret = '' } = introspectingClient()
const READ_ONLY = { readOnly: true }
const TEXT = 'the token is read-only'

/** Routes that say what they do. */
const EFFECTS: Readonly<Record<string, Effect>> = { '/read': 'read', '/write': 'write' }

const READS: readonly (readonly string[])[] = [
  ...['GET', 'HEAD', 'OPTIONS', 'TRACE'].map((method) => [`${method} /`]),
  ...['POST', 'DELETE', 'QUERY'].map((method) => [`${method} /read`]),
  ['GET /read', 'Upgrade: websocket'],
]
const WRITES: readonly (readonly string[])[] = [
  ...['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'QUERY'].map((method) => [`${method} /`]),
  ['GET /write'],
  ['HEAD /write'],
  ['GET /', 'Upgrade: websocket'],
  ['GET /', 'Upgrade: h2c', 'Connection: Upgrade'],
  ...['X-HTTP-Method-Override: DELETE', 'x-http-method: GET', 'X-METHOD-OVERRIDE:'].flatMap((header) => [
    ['GET /', header],
    ['POST /read', header],
  ]),
]
const titleOf = ([start = '', ...headers]: readonly string[]) => [start, ...headers].join(', ')

describe('resource server: read-only tokens', () => {
  describe('of a provider, over HTTP', () => {
    let deployment: Deployment
    let server: Listening
    /** The one of the API that the next request goes to. */
    let verify: Verifier
    interface Presented {
      readonly readOnly: string
      readonly writing: string
      readonly verifier: Verifier
    }
    const presented = new Map<string, Presented>()
    const key = dpopKey()

    before(async () => {
      const { resources = {}, ...overrides } = downstream()
      const obeying = Object.entries(resources).map(([name, one]) => [name, { ...one, ...READ_ONLY }])
      deployment = await startDeployment({ ...overrides, resources: Object.fromEntries(obeying) })
      server = await listen(createServer(respond))
      const verifierOf = (audience: string) =>
        createVerifier({
          ...{ issuer: deployment.issuer, audience },
          ...(audience === OPAQUE_API && { introspection: { clientId, clientSecret } }),
        })
      for (const resource of [API, OPAQUE_API]) {
        const request = { resource, scope: 'orders:read' }
        const { accessToken: readOnly } = await viewed(deployment, request, READ_ONLY)
        const { accessToken: writing } = await viewed(deployment, request)
        const kind = resource === API ? 'JWT' : 'opaque token'
        presented.set(kind, { readOnly, writing, verifier: verifierOf(resource) })
      }
      const received = presented.get('JWT') ?? expect.fail()
      const passed = async (token: string) =>
        (await passedOn(deployment, token, { scope: 'orders:read' })).accessToken
      presented.set('token that an API exchanged', {
        readOnly: await passed(received.readOnly),
        writing: await passed(received.writing),
        verifier: verifierOf(BILLING),
      })
    })
    after(async () => {
      await server.close()
      await deployment.close()
    })

    async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
      try {
        const effect = EFFECTS[request.url ?? '']
        const { readOnly, user } = await verify(request, effect && { effect })
        respondJson(response, { user, readOnly })
      } catch (error) {
        const { status, headers, body } = await refusalOf(() => {
          throw error
        })
        response.writeHead(status, headers).end(JSON.stringify(body))
      }
    }
    async function send([start = '', ...headers]: readonly string[], kind: string, isReadOnly = true) {
      const { readOnly, writing, verifier } = presented.get(kind) ?? expect.fail(kind)
      verify = verifier
      const authorization = `Authorization: Bearer ${isReadOnly ? readOnly : writing}`
      const text = await rawRequest(server.baseUrl, [
        `${start} HTTP/1.1`,
        'Host: api',
        authorization,
        ...headers,
      ])
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(text) ?? []
      return { status: Number(status), text }
    }

    for (const kind of ['JWT', 'opaque token', 'token that an API exchanged']) {
      for (const head of READS) {
        it(`takes a read-only ${kind} at ${titleOf(head)}`, async () => {
          const { status, text } = await send(head, kind)
          expect(status, text).to.equal(200)
          if (!head[0]?.startsWith('HEAD')) expect(text).to.include('{"user":"alice","readOnly":true}')
        })
      }
      for (const head of WRITES) {
        it(`refuses a read-only ${kind} at ${titleOf(head)}, and no other one`, async () => {
          const { status, text } = await send(head, kind)
          expect(status, text).to.equal(403)
          expect(text).to.include(
            `www-authenticate: Bearer error="insufficient_scope", error_description="${TEXT}"\r\n`,
          )
          if (!head[0]?.startsWith('HEAD'))
            expect(text).to.include(`{"error":"insufficient_scope","error_description":"${TEXT}"}`)
          const other = await send(head, kind, false)
          expect(other.status, other.text).to.equal(200)
        })
      }
    }

    it('refuses a bound one in its own scheme, by a web Request', async () => {
      const { proof } = await key
      const { subjectToken } = await issue(deployment, READ_ONLY)
      const headers = { dpop: await proof(deployment) }
      const request = { subject_token: subjectToken, scope: 'orders:read' }
      const token: string = (await exchange(deployment, request, { headers })).body.access_token
      const ath = createHash('sha256').update(token).digest('base64url')
      const { verifier } = presented.get('JWT') ?? expect.fail()
      const at = async (method: string) => {
        const dpop = await proof({ tokenEndpoint: `${API}/x` }, { htm: method, ath })
        return verifier(
          new Request(`${API}/x`, { method, headers: { authorization: `DPoP ${token}`, dpop } }),
        )
      }
      expect(await at('GET')).to.include({ user: 'alice', readOnly: true })
      const refusal = await refusalOf(at('POST'))
      expect(refusal.headers['www-authenticate']).to.equal(
        `DPoP error="insufficient_scope", error_description="${TEXT}"`,
      )
    })

    it("is no user's own", async () => {
      const { verifier } = presented.get('JWT') ?? expect.fail()
      const caller = await verifier(withBearer(await ownToken(deployment), { method: 'POST' }))
      expect(caller.readOnly).to.equal(false)
    })
  })

  describe('of any issuer', () => {
    const { issuer, verify } = useIssuer({ introspection: { clientId: 'api', clientSecret: 'secret' } })

    const values: [title: string, value: unknown, readOnly: boolean][] = [
      ['absent', undefined, false],
      ['false', false, false],
      ['true', true, true],
      ['null', null, true],
      ['zero', 0, true],
      ['an empty text', '', true],
      ['the text false', 'false', true],
      ['an empty array', [], true],
      ['an empty object', {}, true],
    ]
    for (const [title, value, readOnly] of values) {
      it(`are known by read_only, which is ${title}`, async () => {
        issuer.introspects({ read_only: value })
        for (const token of [await issuer.token({ read_only: value }), 'opaque']) {
          expect((await verify(withBearer(token))).readOnly).to.equal(readOnly)
          const written = verify(withBearer(token, { method: 'POST' }))
          if (readOnly) expect(await refusalOf(written)).to.be.instanceOf(Forbidden)
          else expect((await written).readOnly).to.equal(false)
        }
      })
    }

    const requestOf = async (changes: Partial<NodeRequest>): Promise<NodeRequest> => {
      const authorization = `bearer ${await issuer.token({ read_only: true })}`
      const headers = { host: 'api.example.com', authorization, ...changes.headers }
      return { method: 'GET', url: '/', ...changes, headers }
    }
    const methodless = async () => {
      const { method: _, ...request } = await requestOf({})
      return request
    }
    const shapes: [title: string, () => Promise<NodeRequest>][] = [
      ['without a method', methodless],
      ['whose method is written small', () => requestOf({ method: 'get' })],
      ['with an empty method', () => requestOf({ method: '' })],
      ['with several overrides', () => requestOf({ headers: { 'x-http-method': ['GET', 'GET'] } })],
    ]
    for (const [title, shape] of shapes) {
      it(`are refused by a request ${title}`, async () => {
        expect((await refusalOf(verify(await shape()))).body.error_description).to.equal(TEXT)
      })
    }

    it('are refused as invalid first, if they are', async () => {
      const expired = await issuer.token({ read_only: true, exp: 1 })
      await expectInvalidToken(verify(withBearer(expired, { method: 'POST' })))
    })

    it('are verified with no effect but the two', async () => {
      const request = await requestOf({})
      for (const effect of ['Read', 'none', '', null, true]) {
        const error = await verify(request, { effect } as never).catch((thrown: unknown) => thrown)
        expect(error).to.be.instanceOf(TypeError).with.property('message', 'effect must be read or write')
      }
    })
  })
})
