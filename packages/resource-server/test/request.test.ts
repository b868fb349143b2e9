/** What a request presents, in every shape that a server hands it over, and what the API sends when it is nothing. */
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import { expect } from 'chai'
import { type ApiRequest, ProviderUnavailable, type Verifier } from '../src/index.ts'
import { AUDIENCE, startIssuer, type TestIssuer, withBearer } from './issuer.ts'
import { expectInvalidToken, refusalOf } from './refusals.ts'

const ALGS = 'ES256 ES384 ES512 EdDSA Ed25519 RS256 RS384 RS512 PS256 PS384 PS512'

describe('resource server: the request', () => {
  let issuer: TestIssuer
  let verify: Verifier
  let token: string
  before(async () => {
    issuer = await startIssuer()
    verify = issuer.verifier()
    token = await issuer.token()
  })
  after(() => issuer.close())

  const webRequest = (authorization?: string): Request =>
    new Request(`${AUDIENCE}/orders`, authorization === undefined ? {} : { headers: { authorization } })
  const nodeRequest = (authorization?: string): ApiRequest => ({
    method: 'GET',
    url: '/orders',
    headers: { host: 'api.example.com', ...(authorization !== undefined && { authorization }) },
  })

  for (const [kind, requestWith] of Object.entries({
    'web Request': webRequest,
    IncomingMessage: nodeRequest,
  })) {
    describe(`as ${kind}`, () => {
      for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
        it(`takes the token of the scheme ${scheme}`, async () => {
          expect(await verify(requestWith(`${scheme} ${token}`))).to.include({ user: 'alice' })
        })
      }

      it('takes a token after several spaces (RFC 9110 §11.4)', async () => {
        expect(await verify(requestWith(`Bearer   ${token}`))).to.include({ user: 'alice' })
      })

      for (const authorization of [
        undefined,
        '',
        'Basic YTpi',
        'Bearertoken',
        'Bearer,x',
        'Digest Bearer x',
      ]) {
        it(`challenges ${authorization === undefined ? 'a request without' : `"${authorization}" as without`} token`, async () => {
          const refusal = await refusalOf(verify(requestWith(authorization)))
          expect(refusal.status).to.equal(401)
          expect(refusal.headers).to.deep.equal({
            'www-authenticate': `Bearer realm="${issuer.issuer}", DPoP realm="${issuer.issuer}", algs="${ALGS}"`,
          })
          expect(refusal.body).to.deep.equal({
            error: 'invalid_token',
            error_description: 'an access token is required',
          })
        })
      }

      for (const rest of ['', ' ', ' a b', ' "x"', ' a,Bearer b', ' é', ' =', ' a=b', ' ?']) {
        it(`refuses "Bearer${rest}"`, async () => {
          await expectInvalidToken(verify(requestWith(`Bearer${rest}`)), 'malformed')
        })
      }
    })
  }

  it('refuses two tokens in one request', async () => {
    const headers = new Headers([
      ['authorization', `Bearer ${token}`],
      ['authorization', `Bearer ${token}`],
    ])
    await expectInvalidToken(verify(new Request(AUDIENCE, { headers })), 'malformed')
  })

  it('reads no token from the URL or the body', async () => {
    const url = `${AUDIENCE}/orders?access_token=${token}`
    const body = new URLSearchParams({ access_token: token })
    const refusal = await refusalOf(verify(new Request(url, { method: 'POST', body })))
    expect(refusal.body.error_description).to.equal('an access token is required')
  })

  it('reads the request of a real server', async () => {
    const seen: unknown[] = []
    const server = createServer(async (request, response) => {
      seen.push(await verify(request).catch(({ status }) => status))
      response.end()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = Object(server.address())
    const send = async (headers: Record<string, string>) => {
      const sent = httpRequest({ port, host: '127.0.0.1', headers }).end()
      const [response] = await once(sent, 'response')
      response.resume()
      await once(response, 'end')
    }
    await send({ Authorization: `Bearer ${token}` })
    await send({})
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
    expect(seen[0]).to.include({ user: 'alice' })
    expect(seen[1]).to.equal(401)
  })

  it('names the scheme of the request in the challenge', async () => {
    const challengeOf = async (authorization: string) =>
      (await refusalOf(verify(webRequest(authorization)))).headers['www-authenticate']
    const text = 'error="invalid_token", error_description="the access token is invalid"'
    expect(await challengeOf('Bearer a.b.c')).to.equal(`Bearer realm="${issuer.issuer}", ${text}`)
    expect(await challengeOf('DPoP a.b.c')).to.equal(`DPoP realm="${issuer.issuer}", algs="${ALGS}", ${text}`)
  })

  for (const wrong of [
    undefined,
    null,
    'Bearer x',
    {},
    { headers: null },
    { headers: 'Authorization: Bearer x' },
  ]) {
    it(`says that ${JSON.stringify(wrong)} is no request`, async () => {
      const error = await verify(wrong as never).catch((thrown) => thrown)
      expect(error).to.be.instanceOf(TypeError)
      expect(error.message).to.equal('verify takes a Request or an IncomingMessage')
    })
  }

  it('keeps the token out of everything it throws', async () => {
    const own = await startIssuer()
    const secret = 'a-very-secret-jti'
    const leaky = own.verifier({
      fetch: async (_url, init) => {
        throw Object.assign(new Error(JSON.stringify(init)), {
          code: 'TOKEN_eyJ',
          config: init,
          cause: { code: 'x' },
        })
      },
      introspection: { clientId: 'api', clientSecret: 'api-secret' },
    })
    const jwt = await own.token({ jti: secret, exp: 1 })
    const thrown = [
      await refusalOf(own.verifier()(withBearer(jwt))),
      await refusalOf(own.verifier()(withBearer(await own.token({ act: { sub: '' }, jti: secret })))),
      await refusalOf(leaky(withBearer(jwt))),
      await refusalOf(leaky(withBearer('an-opaque-secret'))),
    ]
    await own.close()
    expect(thrown[3]).to.be.instanceOf(ProviderUnavailable)
    for (const error of thrown) {
      const everything = Reflect.ownKeys(error).map((key) => JSON.stringify(Reflect.get(error, key)))
      for (const text of [
        jwt,
        jwt.split('.')[1] ?? '',
        secret,
        'an-opaque-secret',
        'api-secret',
        'eyJ',
        'alice',
      ])
        expect(everything.join('\n')).not.to.include(text)
      expect(error.cause).to.equal(undefined)
    }
  })
})
