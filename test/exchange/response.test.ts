/** The response of a successful exchange (protocol.md §3.5, §4), and the provider's client authentication. */
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader, importJWK, jwtVerify } from 'jose'
import type { ResourceServer } from 'oidc-provider'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { webClient } from '../../fixtures/clients.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import {
  API,
  type Deployment,
  OPAQUE_API,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import { credentials, type HttpResponse, send } from '../../fixtures/http.ts'
import { signJwt } from '../../fixtures/jwts.ts'
import { SIGNING_KEY, signingKey } from '../../fixtures/keys.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { ACCESS_TOKEN_TYPE } from '../../src/index.ts'
import { expectRefused } from './refusals.ts'

const { d: _private, ...PUBLIC_KEY } = SIGNING_KEY as typeof SIGNING_KEY & { d: string }
const CLIENT_KEY = signingKey('ES256', 'client-key')
const { d: _clientPrivate, ...CLIENT_PUBLIC_KEY } = CLIENT_KEY as typeof CLIENT_KEY & { d: string }
const assertingClient = webClient({
  client_id: 'asserting',
  client_secret: undefined,
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [CLIENT_PUBLIC_KEY] as never },
})
const postingClient = webClient({ client_id: 'posting', token_endpoint_auth_method: 'client_secret_post' })

describe('token exchange: the response', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment({ clients: [assertingClient, postingClient] })
  })
  after(() => deployment.close())

  const expectSuccess = (response: HttpResponse) => {
    expect(response.status, response.text).to.equal(200)
    expect(response.headers.get('cache-control')).to.equal('no-store')
    expect(response.headers.get('content-type')).to.match(/^application\/json/)
    expect(response.body.issued_token_type).to.equal(ACCESS_TOKEN_TYPE)
    expect(response.body.token_type).to.equal('Bearer')
  }

  it('has exactly the members of RFC 8693 §2.2.1, with scope', async () => {
    const { subjectToken } = await issue(deployment)
    const response = await exchange(deployment, { subject_token: subjectToken, scope: 'orders:read' })
    expectSuccess(response)
    const { access_token: token, ...rest } = response.body
    expect(token).to.be.a('string')
    expect(rest).to.deep.equal({
      issued_token_type: ACCESS_TOKEN_TYPE,
      token_type: 'Bearer',
      expires_in: 600,
      scope: 'orders:read',
    })
  })

  it('has no scope when none was granted', async () => {
    const { subjectToken } = await issue(deployment)
    const response = await exchange(deployment, { subject_token: subjectToken })
    expectSuccess(response)
    expect(response.body).to.have.all.keys('access_token', 'issued_token_type', 'token_type', 'expires_in')
  })

  it('contains a JWT access token that anyone can verify with our keys (RFC 9068)', async () => {
    const { subjectToken } = await issue(deployment)
    const { body } = await exchange(deployment, { subject_token: subjectToken, scope: 'orders:read' })
    const key = await importJWK(PUBLIC_KEY as never, 'ES256')
    const { payload, protectedHeader } = await jwtVerify(body.access_token, key, {
      issuer: deployment.issuer,
      audience: API,
      typ: 'at+jwt',
    })
    expect(protectedHeader.typ).to.equal('at+jwt')
    const { iat = 0, exp = 0, jti, status, ...claims } = payload
    expect(status).to.be.an('object')
    expect(claims).to.deep.equal({
      iss: deployment.issuer,
      aud: API,
      sub: 'alice',
      client_id: 'spa',
      scope: 'orders:read',
    })
    expect(iat).to.be.closeTo(now(), 2)
    expect(exp - iat).to.equal(600)
    expect(jti).to.be.a('string').and.not.to.equal('')
    expect(decodeProtectedHeader(body.access_token).kid).to.equal(SIGNING_KEY.kid)
  })

  it('contains an opaque token that introspection describes (RFC 7662)', async () => {
    const { subjectToken } = await issue(deployment)
    const parameters = { subject_token: subjectToken, resource: OPAQUE_API, scope: 'orders:read' }
    const response = await exchange(deployment, { ...parameters, ...withActor(await actorToken(deployment)) })
    expectSuccess(response)
    expect(response.body.access_token).not.to.include('.')
    const { iat, exp, status, ...token } = await introspect(deployment, response.body.access_token)
    expect(status).to.be.an('object')
    expect(token).to.deep.equal({
      active: true,
      iss: deployment.issuer,
      aud: OPAQUE_API,
      sub: 'alice',
      client_id: 'spa',
      scope: 'orders:read',
      token_type: 'Bearer',
      act: { sub: 'bob' },
    })
    expect(exp - iat).to.equal(600)
  })

  it('has act only with an actor token', async () => {
    for (const resource of [API, OPAQUE_API]) {
      const { subjectToken } = await issue(deployment)
      const { body } = await exchange(deployment, { subject_token: subjectToken, resource })
      const token = body.access_token
      const claims = resource === API ? decodeJwt(token) : await introspect(deployment, token)
      expect(claims).not.to.have.any.keys('act', 'may_act', 'cnf')
    }
  })

  it('never contains the subject token, the actor token or the context', async () => {
    const { subjectToken } = await issue(deployment, { context: { secret: 'of the context' } })
    const actor = await actorToken(deployment)
    const response = await exchange(deployment, { subject_token: subjectToken, ...withActor(actor) })
    const text = response.text + JSON.stringify(decodeJwt(response.body.access_token))
    for (const secret of [subjectToken, actor, 'of the context']) expect(text).not.to.include(secret)
  })

  describe('lives', () => {
    const livesFor =
      (ttl: number | undefined, maxAccessTokenTTL: number | undefined, expected: number) => async () => {
        const server = (format: 'jwt' | 'opaque'): ResourceServer => ({
          scope: '',
          audience: API,
          accessTokenFormat: format,
          ...(ttl !== undefined && { accessTokenTTL: ttl }),
          jwt: { sign: { alg: 'ES256' } },
        })
        await withDeployment(
          {
            resources: { [API]: server('jwt'), [OPAQUE_API]: server('opaque') },
            options: { ...(maxAccessTokenTTL !== undefined && { maxAccessTokenTTL }) },
            configuration: { ttl: { AccessToken: () => ttl ?? 7200, Grant: 5 } },
          },
          async (other) => {
            // A token that lives for a second could be over before it is introspected.
            const clock = stopClock()
            try {
              for (const resource of [API, OPAQUE_API]) {
                const { subjectToken } = await issue(other)
                const { body } = await exchange(other, { subject_token: subjectToken, resource })
                expect(body.expires_in).to.equal(expected)
                const token = body.access_token
                const { iat = 0, exp = 0 } =
                  resource === API ? decodeJwt(token) : await introspect(other, token)
                expect(exp - iat).to.equal(expected)
              }
            } finally {
              clock.restore()
            }
          },
        )
      }
    it("the resource's own life", livesFor(90, undefined, 90))
    it('no longer than maxAccessTokenTTL', livesFor(600, 60, 60))
    it('exactly maxAccessTokenTTL', livesFor(60, 60, 60))
    it('at most 900 s by default', livesFor(undefined, undefined, 900))
    it('one second', livesFor(600, 1, 1))
  })

  describe('goes to', () => {
    it('a public client that sends its client_id', async () => {
      const { subjectToken } = await issue(deployment)
      expectSuccess(await exchange(deployment, { subject_token: subjectToken }))
    })

    for (const [title, body] of [
      ['without client_id in the body', {}],
      ['with a matching client_id in the body', { client_id: 'web' }],
    ] as const) {
      it(`a web application that authenticates by Basic, ${title}`, async () => {
        const { subjectToken } = await issue(deployment, { clientId: 'web' })
        const response = await exchange(
          deployment,
          { subject_token: subjectToken, ...body },
          { client: webClient() },
        )
        expectSuccess(response)
        expect(decodeJwt(response.body.access_token).client_id).to.equal('web')
      })
    }

    it('a client that posts its secret', async () => {
      const { subjectToken } = await issue(deployment)
      const parameters = { subject_token: subjectToken, client_id: 'posting', client_secret: 'web-secret' }
      expectSuccess(await exchange(deployment, parameters))
    })

    it('a client that authenticates by private_key_jwt', async () => {
      const { subjectToken } = await issue(deployment)
      expectSuccess(
        await exchange(deployment, { subject_token: subjectToken, ...(await assertion(deployment)) }),
      )
    })
  })

  describe('does not go to', () => {
    const basic = (id: string, secret: string) =>
      credentials({ client_id: id, client_secret: secret }).headers
    const refusals: [
      title: string,
      changes: () => Promise<Record<string, string>> | Record<string, string>,
      headers: Record<string, string>,
      expected: [status: number, error: string],
    ][] = [
      [
        'a confidential client without credentials',
        () => ({ client_id: 'web' }),
        {},
        [401, 'invalid_client'],
      ],
      [
        'a confidential client with a wrong secret',
        () => ({ client_id: 'web' }),
        basic('web', 'x'),
        [401, 'invalid_client'],
      ],
      [
        'a Basic client that names another client in the body',
        () => ({ client_id: 'spa' }),
        basic('web', 'web-secret'),
        [400, 'invalid_request'],
      ],
      ['an unknown client', () => ({ client_id: 'gone' }), {}, [401, 'invalid_client']],
      ['a request without a client', () => ({ client_id: '' }), {}, [400, 'invalid_request']],
      [
        'private_key_jwt with another key',
        () => assertion(deployment, signingKey('ES256', 'client-key')),
        {},
        [401, 'invalid_client'],
      ],
    ]
    for (const [title, changes, headers, [status, error]] of refusals) {
      it(`${title}: ${status} ${error}, and nothing is spent`, async () => {
        const parameters = await changes()
        await expectRefused(deployment, {
          attempt: (subjectToken) =>
            exchange(deployment, { subject_token: subjectToken, ...parameters }, { headers }),
          status,
          error,
          check: null,
        })
      })
    }
  })

  it('cannot be requested with GET', async () => {
    const { subjectToken } = await issue(deployment)
    const response = await send(`${deployment.tokenEndpoint}?subject_token=${subjectToken}&client_id=spa`)
    expect(response.status).to.be.oneOf([404, 405])
    expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
  })

  it('is of no use at the userinfo endpoint', async () => {
    for (const resource of [API, OPAQUE_API]) {
      const { subjectToken } = await issue(deployment)
      const { body } = await exchange(deployment, { subject_token: subjectToken, resource })
      const headers = { authorization: `Bearer ${body.access_token}` }
      const response = await send(`${deployment.issuer}/me`, { headers })
      expect(response.status, response.text).to.be.oneOf([401, 403])
    }
  })

  async function assertion(to: Deployment, key = CLIENT_KEY): Promise<Record<string, string>> {
    const claims = { iss: 'asserting', sub: 'asserting', aud: to.issuer, jti: unique('assertion') }
    return {
      client_id: 'asserting',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await signJwt(
        { ...claims, iat: now(), exp: now() + 60 },
        { key, header: { typ: 'JWT' } },
      ),
    }
  }
})
