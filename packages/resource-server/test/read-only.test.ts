/** Read-only tokens (docs/protocol.md §11): an API takes them where it only reads. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { expect } from 'chai'
import { introspectingClient } from '../../../fixtures/clients.ts'
import { API, OPAQUE_API, useDeployment } from '../../../fixtures/deployment.ts'
import { dpopKey } from '../../../fixtures/dpop.ts'
import { type Listening, listen } from '../../../fixtures/listening.ts'
import { BILLING, downstream, ownToken, passedOn, viewed } from '../../../fixtures/on-behalf-of.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'
import { createVerifier, type Effect, Forbidden, type NodeRequest, type Verifier } from '../src/index.ts'
import { respondJson, withBearer } from './issuer.ts'
import { expectInvalidToken, refusalOf } from './refusals.ts'
import { type Head, ODD, OVERRIDES, READS, send, WRITES } from './requests.ts'
import { useIssuer } from './stopped-issuer.ts'

const { client_id: clientId, client_secret: clientSecret = '' } = introspectingClient()
const READ_ONLY = { readOnly: true }
const TEXT = 'the token is read-only'

/** Routes that say what they do. */
const EFFECTS: Readonly<Record<string, Effect>> = { '/read': 'read', '/write': 'write' }
const READS_OF_API: readonly Head[] = [
  ...READS,
  ['TRACE /'],
  ...['POST', 'DELETE', 'QUERY'].map((method) => [`${method} /read`]),
  ['GET /read', 'Upgrade: websocket'],
]
const WRITES_OF_API: readonly Head[] = [
  ...WRITES,
  ['GET /write'],
  ['HEAD /write'],
  ...OVERRIDES.map((header) => ['POST /read', header]),
]

describe('resource server: read-only tokens', () => {
  describe('of a provider, over HTTP', () => {
    const { resources = {}, ...overrides } = downstream()
    const obeying = Object.entries(resources).map(([name, one]) => [name, { ...one, ...READ_ONLY }])
    const deployment = useDeployment({ ...overrides, resources: Object.fromEntries(obeying) })
    let server: Listening
    /** The one of the API that the next request goes to. */
    let verify: Verifier
    before(async () => {
      server = await listen(createServer(respond))
    })
    after(() => server.close())

    async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
      try {
        const effect = EFFECTS[request.url ?? '']
        const { readOnly, user } = await verify(request, effect && { effect })
        respondJson(response, { user, readOnly })
      } catch (error) {
        const { status, headers, body } = await refusalOf(Promise.reject(error))
        response.writeHead(status, headers).end(JSON.stringify(body))
      }
    }

    const verifierOf = (audience: string) =>
      createVerifier({
        ...{ issuer: deployment.issuer, audience },
        ...(audience === OPAQUE_API && { introspection: { clientId, clientSecret } }),
      })
    /** A token of alice, in which bob acts, for this API. */
    async function tokenFor(audience: string, issued = {}): Promise<string> {
      const resource = audience === BILLING ? API : audience
      const { accessToken } = await viewed(deployment, { resource, scope: 'orders:read' }, issued)
      if (audience !== BILLING) return accessToken
      return (await passedOn(deployment, accessToken, { scope: 'orders:read' })).accessToken
    }

    for (const [kind, audience] of Object.entries({
      JWT: API,
      'opaque token': OPAQUE_API,
      'token that an API exchanged': BILLING,
    })) {
      describe(`a ${kind}`, () => {
        let readOnly: string
        let writing: string
        before(async () => {
          verify = verifierOf(audience)
          readOnly = `Authorization: Bearer ${await tokenFor(audience, READ_ONLY)}`
          writing = `Authorization: Bearer ${await tokenFor(audience)}`
        })

        for (const head of READS_OF_API) {
          it(`is taken read-only at ${head.join(', ')}`, async () => {
            const { status, text, hasBody } = await send(server.baseUrl, head, readOnly)
            expect(status, text).to.equal(200)
            if (hasBody) expect(text).to.include('{"user":"alice","readOnly":true}')
          })
        }
        for (const head of WRITES_OF_API) {
          it(`is refused read-only at ${head.join(', ')}, and not otherwise`, async () => {
            const { status, text, hasBody } = await send(server.baseUrl, head, readOnly)
            expect(status, text).to.equal(403)
            expect(text).to.include(
              `www-authenticate: Bearer error="insufficient_scope", error_description="${TEXT}"\r\n`,
            )
            if (hasBody)
              expect(text).to.include(`{"error":"insufficient_scope","error_description":"${TEXT}"}`)
            const other = await send(server.baseUrl, head, writing)
            expect(other.status, other.text).to.equal(200)
          })
        }
      })
    }

    it('is refused in its own scheme if it is bound, by a web Request', async () => {
      const key = await dpopKey()
      const { subjectToken } = await issue(deployment, READ_ONLY)
      const headers = { dpop: await key.proof(deployment) }
      const request = { subject_token: subjectToken, scope: 'orders:read' }
      const token: string = (await exchange(deployment, request, { headers })).body.access_token
      const at = async (method: string) => {
        const dpop = await key.proofAt(`${API}/x`, token, { htm: method })
        const headers = { authorization: `DPoP ${token}`, dpop }
        return verifierOf(API)(new Request(`${API}/x`, { method, headers }))
      }
      expect(await at('GET')).to.include({ user: 'alice', readOnly: true })
      const refusal = await refusalOf(at('POST'))
      expect(refusal.headers['www-authenticate']).to.equal(
        `DPoP error="insufficient_scope", error_description="${TEXT}"`,
      )
    })

    it("is no user's own", async () => {
      const own = withBearer(await ownToken(deployment), { method: 'POST' })
      expect((await verifierOf(API)(own)).readOnly).to.equal(false)
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
      return { url: '/', ...changes, headers: { host: 'api.example.com', authorization, ...changes.headers } }
    }
    for (const [title, changes] of Object.entries(ODD)) {
      it(`are refused by a request ${title}`, async () => {
        const refusal = await refusalOf(verify(await requestOf(changes)))
        expect(refusal.body.error_description).to.equal(TEXT)
      })
    }

    it('are refused as invalid first, if they are', async () => {
      const expired = await issuer.token({ read_only: true, exp: 1 })
      await expectInvalidToken(verify(withBearer(expired, { method: 'POST' })))
    })

    it('are verified with no effect but the two', async () => {
      const request = await requestOf({ method: 'GET' })
      for (const effect of ['Read', 'none', '', null, true]) {
        const error = await verify(request, { effect } as never).catch((thrown: unknown) => thrown)
        expect(error).to.be.instanceOf(TypeError).with.property('message', 'effect must be read or write')
      }
    })
  })
})
