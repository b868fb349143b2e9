/** What a request presents, in every shape that a server hands it over, and what the API sends when it is nothing. */
import { expect } from 'chai'
import { Refused } from '../src/errors.ts'
import { type ApiRequest, ProviderUnavailable } from '../src/index.ts'
import { readPresented } from '../src/request.ts'
import { AUDIENCE, withBearer } from './issuer.ts'
import { expectInvalidToken, refusalOf, sentFor } from './refusals.ts'
import { useIssuer } from './stopped-issuer.ts'

const ALGS = 'ES256 ES384 ES512 EdDSA Ed25519 RS256 RS384 RS512 PS256 PS384 PS512'

describe('resource server: the request', () => {
  const { issuer, verify } = useIssuer()
  let token: string
  before(async () => {
    token = await issuer.token()
  })

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
      it('takes the token of the scheme, in any case and after any spaces (RFC 9110 §11.4)', async () => {
        for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer  '])
          expect(await verify(requestWith(`${scheme} ${token}`)), scheme).to.include({ user: 'alice' })
      })

      it('is challenged without a token', async () => {
        for (const authorization of [
          undefined,
          '',
          'Basic YTpi',
          'Bearertoken',
          'Bearer,x',
          'Digest Bearer x',
        ]) {
          expect(await sentFor(verify(requestWith(authorization))), authorization).to.deep.equal({
            name: 'Unauthorized',
            status: 401,
            headers: {
              'www-authenticate': `Bearer realm="${issuer.issuer}", DPoP realm="${issuer.issuer}", algs="${ALGS}"`,
            },
            body: { error: 'invalid_token', error_description: 'an access token is required' },
          })
        }
      })

      it('is refused with anything but one token', async () => {
        for (const rest of ['', ' ', ' a b', ' "x"', ' a,Bearer b', ' é', ' =', ' a=b', ' ?'])
          await expectInvalidToken(verify(requestWith(`Bearer${rest}`)), 'malformed')
      })
    })
  }

  it('reads a header of at most 64 KiB', () => {
    const read = (authorization: string) => () => readPresented(nodeRequest(authorization))
    const longest = `Bearer ${'a'.repeat(64 * 1024 - 7)}`
    expect(read(longest)().token).to.have.lengthOf(64 * 1024 - 7)
    expect(read(`${longest}a`)).to.throw(Refused, 'the token is too long')
  })

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

  it('names the scheme of the request in the challenge', async () => {
    const challengeOf = async (authorization: string) =>
      (await refusalOf(verify(webRequest(authorization)))).headers['www-authenticate']
    const text = 'error="invalid_token", error_description="the access token is invalid"'
    expect(await challengeOf('Bearer a.b.c')).to.equal(`Bearer realm="${issuer.issuer}", ${text}`)
    expect(await challengeOf('DPoP a.b.c')).to.equal(`DPoP realm="${issuer.issuer}", algs="${ALGS}", ${text}`)
  })

  it('is nothing else', async () => {
    for (const wrong of [
      undefined,
      null,
      'Bearer x',
      {},
      { headers: null },
      { headers: 'Authorization: x' },
    ]) {
      const error = await verify(wrong as never).catch((thrown) => thrown)
      expect(error).to.be.instanceOf(TypeError)
      expect(error.message).to.equal('verify takes a Request or an IncomingMessage')
    }
  })

  it('keeps the token out of everything it throws', async () => {
    const secret = 'a-very-secret-jti'
    const leaky = issuer.verifier({
      fetch: async (_url, init) => {
        throw Object.assign(new Error(JSON.stringify(init)), {
          code: 'TOKEN_eyJ',
          config: init,
          cause: { code: 'x' },
        })
      },
      introspection: { clientId: 'api', clientSecret: 'api-secret' },
    })
    const jwt = await issuer.token({ jti: secret, exp: 1 })
    const thrown = [
      await refusalOf(issuer.verifier()(withBearer(jwt))),
      await refusalOf(issuer.verifier()(withBearer(await issuer.token({ act: { sub: '' }, jti: secret })))),
      await refusalOf(leaky(withBearer(jwt))),
      await refusalOf(leaky(withBearer('an-opaque-secret'))),
    ]
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
