/** The shop of the example on its own, with a provider that the test plays: its sign-in, and the end of its sessions. */
import { createServer } from 'node:http'
import { expect } from 'chai'
import type { JWTPayload } from 'jose'
import type { JWK } from 'oidc-provider'
import { shop as registered } from '../../../example/clients.ts'
import { shopApplication } from '../../../example/shop/application.ts'
import { now, whileStopped } from '../../../fixtures/clock.ts'
import { signJwt } from '../../../fixtures/jwts.ts'
import { SIGNING_KEY, signingKey } from '../../../fixtures/keys.ts'
import { type Listening, listen } from '../../../fixtures/listening.ts'
import {
  formOf,
  JWKS,
  METADATA,
  respond,
  respondJson,
  startIssuer,
  type TestIssuer,
} from '../../../packages/resource-server/test/issuer.ts'

const { client_id: clientId, client_secret: secret = '' } = registered
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** The provider has it, too, and does not sign for the shop with it. */
const RSA = signingKey('RS256')

describe('example: the shop', () => {
  let provider: TestIssuer
  let issuer: string
  let server: Listening
  let baseUrl: string
  let log: Record<string, unknown>[]
  /** The claims of the next ID token, besides those of every one. */
  let claims: JWTPayload
  let signedOut: URLSearchParams[]

  beforeEach(async () => {
    log = []
    claims = { sub: 'alice', sid: 'a-session' }
    signedOut = []
    provider = await startIssuer()
    issuer = provider.issuer
    provider.publishKeys(SIGNING_KEY, RSA)
    const { routes } = provider
    routes.set(METADATA, (_, response) =>
      respondJson(response, {
        issuer,
        authorization_endpoint: `${issuer}/authorization`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`,
        end_session_endpoint: `${issuer}/end_session`,
        jwks_uri: `${issuer}/jwks`,
        id_token_signing_alg_values_supported: ['ES256'],
      }),
    )
    routes.set('/oidc/token', async (_, response) => {
      const own = { iss: issuer, aud: clientId, iat: now(), exp: now() + 300, ...claims }
      const id_token = await signJwt(own, { header: { typ: undefined } })
      respondJson(response, { access_token: 'an-access-token', token_type: 'Bearer', id_token })
    })
    routes.set('/oidc/userinfo', (_, response) =>
      respondJson(response, { sub: claims.sub, name: `${claims.sub} by name` }),
    )
    routes.set('/oidc/end_session', async (request, response) => {
      signedOut.push(await formOf(request))
      response.end()
    })
    const http = createServer()
    server = await listen(http)
    baseUrl = server.baseUrl
    const app = shopApplication({
      ...{ issuer, baseUrl, desk: 'https://desk.example.com/' },
      nameOf: (actor) => `${actor} of support`,
      endingOf: async (sid) => (sid === 'a-session' ? { by: 'dana', reason: 'Wrong <customer>' } : undefined),
      log: (entry) => log.push(entry as Record<string, unknown>),
    })
    app.silent = true
    http.on('request', app.callback())
  })
  afterEach(async () => {
    await provider.close()
    await server.close()
  })

  const get = (path: string, cookie = '') =>
    fetch(`${baseUrl}${path}`, { headers: { cookie }, redirect: 'manual' })

  const cookieOf = (response: Response, name: string): string =>
    response.headers
      .getSetCookie()
      .map((line) => line.split(';')[0] ?? '')
      .find((pair) => pair.startsWith(`${name}=`)) ?? ''

  async function begin(): Promise<{ readonly cookie: string; readonly asked: URLSearchParams }> {
    const response = await get('/login')
    expect(response.status).to.equal(303)
    const { searchParams: asked } = new URL(response.headers.get('location') ?? '')
    return { cookie: cookieOf(response, 'shop-sign-in'), asked }
  }

  /** The way back from the provider, which signs in as `claims` say. */
  const comeBack = (asked: URLSearchParams, cookie: string, state = asked.get('state') ?? '') => {
    claims = { nonce: asked.get('nonce'), ...claims }
    return get(`/callback?${new URLSearchParams({ code: 'a-code', state })}`, cookie)
  }

  /** With one thing of the way back changed. */
  async function signIn(change: { state?: string; cookie?: string } = {}): Promise<Response> {
    const { cookie, asked } = await begin()
    const response = await comeBack(asked, change.cookie ?? cookie, change.state)
    delete claims.nonce
    return response
  }

  const session = async (): Promise<string> => cookieOf(await signIn(), 'shop-session')
  const stateOf = async (cookie: string) => (await get('/session', cookie)).json()

  const post = (path: string, cookie: string, site = 'same-origin') =>
    fetch(`${baseUrl}${path}`, {
      method: 'POST',
      headers: { cookie, 'sec-fetch-site': site },
      redirect: 'manual',
    })
  const order = (cookie: string, site?: string) => post('/orders', cookie, site)
  const leave = (cookie: string, site?: string) => post('/logout', cookie, site)
  const pageFor = async (cookie: string) => (await get('/', cookie)).text()
  const ordered = async (cookie: string) => (await pageFor(cookie)).split('A new teapot').length - 1

  describe('ordering', () => {
    it('is for customers, and for an engineer who may change things', async () => {
      const customer = await session()
      expect((await order(customer)).status).to.equal(303)
      claims = { sub: 'alice', sid: 'another', act: { sub: 'sam' }, read_only: false }
      const engineer = await session()
      expect(await pageFor(engineer)).to.not.include(' read-only>')
      expect((await order(engineer)).status).to.equal(303)
      expect(await ordered(customer)).to.equal(2)
      expect(log.filter(({ event }) => event === 'shop.ordered')).to.deep.equal([
        { event: 'shop.ordered', customer: 'alice', actor: undefined, sid: 'a-session' },
        { event: 'shop.ordered', customer: 'alice', actor: 'sam', sid: 'another' },
      ])
    })

    it('is refused in a session that is read-only, which can be left', async () => {
      claims = { ...claims, act: { sub: 'sam' }, read_only: true }
      const cookie = await session()
      expect(await pageFor(cookie)).to.include(' read-only>')
      expect((await order(cookie)).status).to.equal(403)
      expect(await ordered(cookie)).to.equal(0)
      expect((await leave(cookie)).status).to.equal(204)
    })

    it('is refused from a page of another site, and for who is not signed in it does nothing', async () => {
      const cookie = await session()
      expect((await order(cookie, 'cross-site')).status).to.equal(403)
      expect((await order('')).status).to.equal(303)
      expect(await ordered(cookie)).to.equal(0)
    })
  })

  describe('signing in', () => {
    it('asks with PKCE, state and nonce, and gives nothing of it away', async () => {
      const { asked, cookie } = await begin()
      expect(asked.get('code_challenge_method')).to.equal('S256')
      for (const name of ['code_challenge', 'state', 'nonce']) {
        expect(asked.get(name)).to.match(/^[\w-]{43}$/)
        expect(cookie).to.not.include(asked.get(name))
      }
    })

    it('shows the customer, and no banner', async () => {
      expect(await pageFor(await session()))
        .to.include('Hello, alice by name')
        .and.include('<impersonation-banner state="over">')
    })

    it('shows who acts, and ends with the ID token at the latest', async () => {
      claims.act = { sub: 'sam' }
      const cookie = await session()
      expect(await stateOf(cookie)).to.deep.equal({
        state: 'open',
        ...{ customer: 'alice', actor: 'sam', sid: 'a-session' },
      })
      expect(await pageFor(cookie))
        .to.include('user="alice by name" actor="sam of support"')
        .and.match(/data-left="(299|300)"/)
        .and.not.include('Sign out')
    })

    it('is over when the ID token of an impersonation is, and for a customer it is not', async () => {
      Object.assign(claims, { exp: now() + 1, act: { sub: 'sam' } })
      const acting = await session()
      delete claims.act
      const customer = await session()
      await whileStopped(async (clock) => {
        clock.tick(2)
        expect(await stateOf(acting)).to.deep.equal({ state: 'ended' })
        expect(await stateOf(customer)).to.include({ state: 'open' })
      })
    })

    const REFUSED: Readonly<Record<string, () => Promise<Response>>> = {
      'another state': () => signIn({ state: 'another' }),
      'another nonce': () => signInWith({ nonce: 'another' }),
      'another browser': () => signIn({ cookie: 'shop-sign-in=another' }),
      'no cookie': () => signIn({ cookie: '' }),
      'an ID token of another issuer': () => signInWith({ iss: 'https://other.example.com' }),
      'an ID token for another client': () => signInWith({ aud: 'other' }),
      'an ID token that is over': () => signInWith({ exp: now() - 60 }),
      'an act that names no one': () => signInWith({ act: {} }),
      'an act that is a text': () => signInWith({ act: 'sam' }),
    }
    const signInWith = (changed: JWTPayload) => {
      Object.assign(claims, changed)
      return signIn()
    }
    for (const [what, send] of Object.entries(REFUSED)) {
      it(`refuses ${what}`, async () => {
        const response = await send()
        expect(response.status).to.equal(400)
        expect(cookieOf(response, 'shop-session')).to.equal('')
      })
    }

    it('finishes each sign-in once', async () => {
      const { cookie, asked } = await begin()
      for (const status of [303, 400]) expect((await comeBack(asked, cookie)).status).to.equal(status)
    })

    it('forgets the session that the browser had before', async () => {
      const first = await session()
      const { cookie, asked } = await begin()
      const second = cookieOf(await comeBack(asked, `${cookie}; ${first}`), 'shop-session')
      expect(second).to.not.equal(first)
      expect(await stateOf(first)).to.deep.equal({ state: 'none' })
    })
  })

  interface LogoutToken {
    readonly claims?: JWTPayload
    readonly header?: { readonly typ?: string }
    readonly key?: JWK
  }

  const VALID = () => ({
    ...{ iss: issuer, aud: clientId, sub: 'alice', sid: 'a-session', jti: crypto.randomUUID() },
    ...{ iat: now(), exp: now() + 120, events: { [EVENT]: {} } },
  })

  const logoutToken = ({ claims = {}, header = {}, key }: LogoutToken = {}): Promise<string> =>
    signJwt({ ...VALID(), ...claims }, { key, header: { typ: 'logout+jwt', ...header } })

  const tell = (token: string) =>
    fetch(`${baseUrl}/backchannel-logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token: token }),
    })

  describe('a logout token', () => {
    it('ends the session that it names, and no other one of the same customer', async () => {
      const ended = await session()
      claims.sid = 'another-session'
      const stays = await session()
      expect((await tell(await logoutToken())).status).to.equal(200)
      expect(await stateOf(ended)).to.deep.equal({ state: 'ended' })
      expect(await stateOf(stays)).to.include({ state: 'open' })
      const page = await pageFor(ended)
      expect(page).to.include('This session has ended').and.not.include('alice').and.not.include('teapot')
    })

    it('leads to a page that says who stopped it and why, if someone acted as the customer', async () => {
      const customer = await session()
      claims.act = { sub: 'sam' }
      const stopped = await session()
      await tell(await logoutToken())
      expect(await pageFor(stopped)).to.include('dana of support stopped it: Wrong &#60;customer&#62;.')
      expect(await pageFor(customer))
        .to.include('This session has ended')
        .and.not.include('stopped it')
      claims.sid = 'of-no-one'
      const expired = await session()
      await tell(await logoutToken({ claims: { sid: 'of-no-one' } }))
      expect(await pageFor(expired))
        .to.include('has the record')
        .and.not.include('stopped it')
    })

    const BAD: Readonly<Record<string, () => LogoutToken | string>> = {
      'of another issuer': () => ({ claims: { iss: 'https://other.example.com' } }),
      'without issuer': () => ({ claims: { iss: undefined } }),
      'for another application': () => ({ claims: { aud: 'other' } }),
      'without audience': () => ({ claims: { aud: undefined } }),
      'that is over': () => ({ claims: { exp: now() - 60 } }),
      'that never ends': () => ({ claims: { exp: undefined } }),
      'that is old': () => ({ claims: { iat: now() - 600 } }),
      'of no time': () => ({ claims: { iat: undefined } }),
      'without jti': () => ({ claims: { jti: undefined } }),
      'without sid': () => ({ claims: { sid: undefined } }),
      'with an empty sid': () => ({ claims: { sid: '' } }),
      'without events': () => ({ claims: { events: undefined } }),
      'with another event': () => ({ claims: { events: { 'urn:other': {} } } }),
      'whose event is a text': () => ({ claims: { events: { [EVENT]: 'yes' } } }),
      'with a nonce': () => ({ claims: { nonce: 'n' } }),
      'that is an ID token by type': () => ({ header: { typ: 'JWT' } }),
      'of another algorithm': () => ({ key: RSA }),
      'of another key': () => ({ key: signingKey() }),
      'signed with the secret of the shop': () => ({
        key: { kty: 'oct', alg: 'HS256', k: Buffer.from(secret.padEnd(32, '-')).toString('base64url') },
      }),
      'of no text': () => '',
      'of other text': () => 'no token',
      'without signature': () => `${btoa('{"alg":"none","typ":"logout+jwt"}')}.e30.`,
    }
    for (const [what, change] of Object.entries(BAD)) {
      it(`is refused if it is one ${what}`, async () => {
        const cookie = await session()
        const changed = change()
        const token = typeof changed === 'string' ? changed : await logoutToken(changed)
        const response = await tell(token)
        expect(response.status).to.equal(400)
        expect(await response.json()).to.deep.equal({ error: 'invalid_request' })
        expect(await stateOf(cookie)).to.include({ state: 'open' })
        expect(log.at(-1)).to.include({ event: 'shop.logout_refused' })
      })
    }

    it('is refused the second time, and confirmed for a session that is not here, or not any more', async () => {
      const token = await logoutToken()
      for (const status of [200, 400]) expect((await tell(token)).status).to.equal(status)
    })

    it('is not confirmed if the keys of the provider cannot be read, so that it comes again', async () => {
      const cookie = await session()
      provider.routes.set(JWKS, (_, response) => respond(response, '', { status: 503 }))
      expect((await tell(await logoutToken())).status).to.equal(500)
      expect(await stateOf(cookie)).to.include({ state: 'open' })
    })
  })

  describe('leaving', () => {
    it('ends an impersonation at the provider, by the ID token, and in no address', async () => {
      claims.act = { sub: 'sam' }
      const cookie = await session()
      expect((await leave(cookie)).status).to.equal(204)
      expect(signedOut.map((form) => [...form.keys()])).to.deep.equal([['id_token_hint', 'client_id']])
      expect(await stateOf(cookie)).to.deep.equal({ state: 'ended' })
    })

    it('leads a customer to the sign-out of the provider', async () => {
      const response = await leave(await session())
      expect(response.headers.get('location')).to.match(/\/end_session\?client_id=corner-shop&post_logout/)
      expect(response.headers.get('location')).to.not.include('hint')
      expect(signedOut).to.deep.equal([])
    })

    it('is for its own pages, and for no others', async () => {
      const cookie = await session()
      for (const site of ['cross-site', 'same-site', 'none', ''])
        expect((await leave(cookie, site)).status, site).to.equal(403)
      expect(await stateOf(cookie)).to.include({ state: 'open' })
    })
  })

  it('sends each page with its policy, and lets no one frame or keep it', async () => {
    for (const cookie of ['', await session()]) {
      const { headers } = await get('/', cookie)
      expect(headers.get('content-security-policy'))
        .to.include("default-src 'none'")
        .and.include("script-src 'self'")
        .and.include("frame-ancestors 'none'")
        .and.include("require-trusted-types-for 'script'")
      expect(headers.get('x-frame-options')).to.equal('DENY')
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(headers.get('referrer-policy')).to.equal('no-referrer')
    }
  })

  it('keeps tokens and secrets out of its log', async () => {
    await session()
    await tell(await logoutToken())
    await signIn({ state: 'another' })
    expect(JSON.stringify(log))
      .to.not.match(/eyJ|a-code|an-access-token/)
      .and.not.include(secret)
    expect(log.map(({ event }) => event)).to.deep.equal([
      'shop.signed_in',
      'shop.session_ended',
      'shop.sign_in_failed',
    ])
  })
})
