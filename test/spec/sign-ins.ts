/** Sign-ins as the user: the door, the arrival, and the tokens of a session (docs/protocol.md §10.1–§10.5). */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express from 'express'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import Koa from 'koa'
import mount from 'koa-mount'
import { type AccessToken, type ClientMetadata, errors } from 'oidc-provider'
import type { Answer, Browser } from '../../fixtures/browser.ts'
import { now, type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { send } from '../../fixtures/http.ts'
import { introspect } from '../../fixtures/requests.ts'
import { UNKNOWN_TOKEN } from '../../fixtures/subject-tokens.ts'
import { impersonationOf } from '../../src/index.ts'
import { armedCookie, sealOf } from '../../src/sessions/seal.ts'
import { mintId } from '../../src/subject-tokens/id.ts'
import { type Given, type Scene, shop, startScene } from './arriving.ts'
import { answer, each, type Rule, record, rowsOf, type Steps } from './rule.ts'

/** Bob, whose browser is armed for the shop, to sign in as alice. */
interface Armed extends Omit<Scene, 'browser'> {
  readonly browser: Browser
  readonly token: string
  readonly id: string
  /** What the record says of the use. */
  readonly use: () => Promise<NonNullable<Awaited<ReturnType<Scene['record']>>>['use']>
}

/** In a provider of its own. */
async function withScene(given: Given, use: (scene: Scene) => Promise<void>): Promise<void> {
  const scene = await startScene(given)
  try {
    await use(scene)
  } finally {
    await scene.close()
  }
}

const cell = (use: (scene: Scene) => Promise<void>, given: Given = {}): Steps => [
  answer(record(() => withScene(given, use))),
]
const armed = (use: (scene: Armed) => Promise<void>, given: Given = {}, issued: object = {}): Steps =>
  cell(async (scene) => {
    const browser = await scene.signedIn('bob', { acr: 'gold' })
    const { token, id } = await scene.issue(issued)
    const { status, text } = await scene.arm(browser, token)
    expect(status, text).to.equal(200)
    await use({ ...scene, browser, token, id, use: async () => (await scene.record(id))?.use })
  }, given)

const one = rowsOf(['a session'])
const rule = (title: string, steps: Steps): Rule => one(title, { 'a session': steps })

const errorOf = ({ location }: Answer) => location?.searchParams.get('error') ?? null
const ARMED = /^_imp_[0-9a-f]{16}_[0-9a-f]{32}$/
const armedCookies = (browser: Browser) => browser.cookies.filter(({ name }) => ARMED.test(name))
const isArmed = (browser: Browser) => armedCookies(browser).length > 0

/** An authorization request with these parameters is this error, and leaves the token as it was. */
const arrivesWith = (parameters: Record<string, string>, error: string, given: Given = {}): Steps =>
  armed(async ({ authorize, browser, use }) => {
    expect(errorOf(await authorize(browser, parameters))).to.equal(error)
    expect(await use()).to.equal(undefined)
    expect(isArmed(browser)).to.equal(false)
  }, given)

const shown = async ({ door }: Pick<Scene, 'door'>, browser: Browser, token: string) =>
  browser.follow(await browser.post(door, { subject_token: token }))

/** Shown by this person, the page is this status; nothing is spent. */
const shownBy = (accountId: string, status: number, given: Given = {}, issued: object = {}): Steps =>
  cell(async (scene) => {
    const { token, id } = await scene.issue(issued)
    const page = await shown(scene, await scene.signedIn(accountId), token)
    expect(page.status).to.equal(status)
    expect((await scene.record(id))?.use).to.equal(undefined)
  }, given)

const OPENABLE: Readonly<Record<string, Partial<ClientMetadata>>> = {
  'true, with initiate_login_uri': {
    impersonation_sessions: true,
    initiate_login_uri: 'https://shop.example.com/start',
  },
  'an address': {},
  unended: {
    backchannel_logout_uri: undefined,
    backchannel_logout_session_required: undefined,
    impersonation_sessions_unended: true,
  },
}
const NOT_OPENABLE: Readonly<Record<string, Partial<ClientMetadata>>> = {
  'no authorization_code': { grant_types: [], response_types: ['none'] },
  'a native application': { application_type: 'native' },
  token_exchange_audiences: { token_exchange_audiences: ['https://api.example.com'] },
  'a logout token without sid': { backchannel_logout_session_required: false },
  'no Back-Channel Logout': {
    backchannel_logout_uri: undefined,
    backchannel_logout_session_required: undefined,
  },
}
const openable = Object.keys(OPENABLE)
const notOpenable = Object.keys(NOT_OPENABLE)

const FORMS: Readonly<Record<string, (token: string) => [path: string, fields: URLSearchParams]>> = {
  'a token in the query': (token) => [
    `?subject_token=${token}`,
    new URLSearchParams({ subject_token: token }),
  ],
  'no token': () => ['', new URLSearchParams()],
  'a member twice': (token) => ['', new URLSearchParams(`subject_token=${token}&a=1&a=2`)],
  'a form of more than 16 KiB': (token) => [
    '',
    new URLSearchParams({ subject_token: token, a: 'x'.repeat(16 * 1024) }),
  ],
  'a long target_link_uri': (token) => [
    '',
    new URLSearchParams({
      subject_token: token,
      target_link_uri: `https://shop.example.com/${'x'.repeat(2000)}`,
    }),
  ],
}
const forms = Object.keys(FORMS)

const CALLS: Readonly<Record<string, (scene: Scene) => Promise<Answer>>> = {
  'POST {door}': async (scene) =>
    scene.browser().post(scene.door, { subject_token: (await scene.issue()).token }),
  'GET {door}': async (scene) => scene.browser().get(scene.door),
  'POST {door}/confirm': async (scene) => scene.browser().post(`${scene.door}/confirm`, {}),
  'another method': async (scene) => scene.browser().get(`${scene.door}/confirm`),
}
const calls = Object.keys(CALLS)

/** Where a host has mounted the routes, whose door is at `/impersonate`. */
const MOUNTS: Readonly<
  Record<string, readonly [status: number, path: string, (scene: Scene) => RequestListener]>
> = {
  'handler(), below another path': [
    404,
    '/api/impersonate',
    ({ impersonation }) => express().use('/api', impersonation.handler()),
  ],
  'handler() without a prefix, below another path': [
    404,
    '/api/impersonate',
    ({ impersonation }) => express().use('/api', impersonation.handler({ prefix: '' })),
  ],
  'router(), below another path': [
    404,
    '/api/impersonate',
    ({ impersonation }) => new Koa().use(mount('/api', impersonation.router().routes() as never)).callback(),
  ],
  'router(), mounted at its path': [
    303,
    '/impersonate',
    ({ impersonation }) =>
      new Koa().use(mount('/impersonate', impersonation.router().routes() as never)).callback(),
  ],
  'handler() for the door, mounted at its path': [
    303,
    '/impersonate',
    ({ impersonation }) => express().use('/impersonate', impersonation.handler({ only: 'door' })),
  ],
}
const mounts = Object.keys(MOUNTS)

const CLAIMS = { features: { claimsParameter: { enabled: true } }, acrValues: ['gold'] }
const PROMPTS: Readonly<Record<string, Record<string, string>>> = {
  'an essential acr': { claims: '{"id_token":{"acr":{"essential":true,"value":"gold"}}}' },
  'the sub of another': { claims: '{"id_token":{"sub":{"value":"bob"}}}' },
  max_age: { max_age: '1' },
}
const prompts = Object.keys(PROMPTS)

/** What an application asks for beyond its scopes, and what it gets, by the scope of the record. */
const ASKED = {
  scope: 'openid profile',
  claims: JSON.stringify({
    id_token: { email: null, auth_time: { essential: true } },
    userinfo: { email: null, phone: null, tenant: null, act: null },
  }),
}
const CEILINGS: Readonly<Record<string, { scope?: string; brings: readonly string[] }>> = {
  'a record without scope': { brings: ['email', 'phone', 'tenant'] },
  'a record with a scope that lists one': { scope: 'profile', brings: ['email'] },
  'a record with a scope that lists none': { scope: 'openid', brings: [] },
  'a record whose scope was not asked for': { scope: 'phone', brings: [] },
}
const ceilings = Object.keys(CEILINGS)
const CLAIMED: NonNullable<Given['configuration']> = {
  ...(CLAIMS as Given['configuration']),
  claims: { openid: ['sub'], profile: { email: null }, phone: ['phone'], tenant: null },
  async findAccount(_ctx, accountId) {
    const claims = { sub: accountId, email: 'alice@example.com', phone: '+49 30 1234', tenant: 'north' }
    return { accountId, claims: () => claims }
  },
}

const TWO_APPLICATIONS: Given = { clients: [shop(), shop({ client_id: 'portal' })] }

/** While the clock stands still. */
interface Again extends Armed {
  readonly clock: StoppedClock
}

const armedAt = (use: (scene: Again) => Promise<void>): Steps =>
  cell(async (scene) => {
    const clock = stopClock()
    try {
      const browser = await scene.signedIn()
      const { token, id } = await scene.issue()
      await scene.arm(browser, token)
      await use({ ...scene, browser, token, id, clock, use: async () => (await scene.record(id))?.use })
    } finally {
      clock.restore()
    }
  }, TWO_APPLICATIONS)

/** Two buttons within so many seconds, of which neither has seen the other. */
const armedTwice = (
  use: (scene: Again & { readonly states: () => Promise<unknown[]> }) => Promise<void>,
  between = 0,
): Steps =>
  armedAt(async (scene) => {
    const { browser, issue, arm, impersonation, id, clock } = scene
    clock.tick(between)
    browser.remove(browser.cookie(/_door$/)?.name ?? '')
    const other = await issue()
    expect((await arm(browser, other.token)).status).to.equal(200)
    const stateOf = async (one: string) => (await impersonation.records.get(one))?.state
    await use({ ...scene, states: () => Promise.all([id, other.id].map(stateOf)) })
  })

/** The tab of the button comes after so many seconds. */
const tooLate = (seconds: number): Steps =>
  armedAt(async ({ browser, authorize, refusals, clock, use }) => {
    clock.tick(seconds)
    expect(errorOf(await authorize(browser))).to.equal('access_denied')
    expect(refusals()).to.deep.equal(['armed too long ago'])
    expect(armedCookies(browser)).to.deep.equal([])
    expect(await use()).to.equal(undefined)
  })

/** Armed for alice, and for carol when that was over after so many seconds: which tab comes first cannot be known. */
const armedAgain = (seconds: number): Steps =>
  armedAt(async (scene) => {
    const { browser, issue, arm, authorize, redeem, refusals, clock, use } = scene
    clock.tick(seconds)
    const { token, id } = await issue({ userId: 'carol' })
    expect((await arm(browser, token)).status).to.equal(200)
    expect(errorOf(await authorize(browser, { state: 'of the first tab' }))).to.equal('access_denied')
    expect(refusals()).to.deep.equal(['armed too long ago'])
    expect(armedCookies(browser).map(({ name }) => name.endsWith(`_${id}`))).to.deep.equal([true])
    expect((await arm(browser, (await issue()).token)).status).to.equal(409)
    const { body } = await redeem(await authorize(browser))
    expect(decodeJwt(body.id_token).sub).to.equal('carol')
    expect(await use()).to.equal(undefined)
  })

/** The button for another subject token, in the browser that is armed for the shop. */
const pressedAgain = (
  status: number,
  between: (scene: Again) => unknown = () => {},
  clientId = 'shop',
): Steps =>
  armedAt(async (scene) => {
    const { browser, issue, arm, authorize, use } = scene
    await between(scene)
    const { token, id } = await issue({ clientId })
    const said = await arm(browser, token)
    expect(said.status, said.text).to.equal(status)
    expect(browser.cookies.some(({ name }) => name.endsWith(`_${id}`))).to.equal(status === 200)
    if (status === 200) return
    expect(said.text).to.include('Another view of this application is being opened in this browser')
    expect(errorOf(await authorize(browser))).to.equal(null)
    expect(await use()).to.include({ clientId: 'shop' })
    expect((await scene.record(id))?.use).to.equal(undefined)
  })

/** In the browser that is armed for the shop, by a cookie that comes after as many that no key opens. */
const behindJunk = (count: number, isAnswered: boolean): Steps =>
  armed(async ({ browser, authorize, refusals, use }) => {
    const { name = '', value = '', path } = browser.cookie(ARMED) ?? {}
    browser.remove(name)
    for (let one = 0; one < count; one += 1) browser.set(name.replace(/[^_]+$/, mintId()), 'forged', path)
    browser.set(name, value, path)
    for (const _ of ['once', 'and again']) {
      const said = await authorize(browser)
      expect([errorOf(said), said.location?.searchParams.has('code')]).to.deep.equal(
        isAnswered ? [null, true] : ['access_denied', false],
      )
      if (isAnswered) break
    }
    const many = 'more cookies than are tried'
    expect(refusals()).to.deep.equal(isAnswered ? [] : [many, many])
    expect((await use())?.clientId).to.equal(isAnswered ? 'shop' : undefined)
  })

/** What has the name of an armed cookie, or was one: the client that is asked for, the name, and the value. */
const NOT_ARMED: Readonly<
  Record<string, (scene: Armed, name: string, value: string) => Promise<readonly [string, string, string]>>
> = {
  'any text': async (_scene, name) => ['shop', name, 'forged'],
  'a cookie that was changed': async (_scene, name, value) => ['shop', name, `${value}A`],
  'a cookie by other keys': async ({ id }, name) => {
    const seal = sealOf('https://id.example.com', { cookies: { keys: ['another'] } })
    return ['shop', name, await seal.seal('armed', { id, hash: 'a hash' as never, client: 'shop' }, 60)]
  },
  'what was brought to the door': async ({ browser, door, token }, name) => {
    await browser.post(door, { subject_token: token })
    return ['shop', name, browser.cookie('_imp_brought')?.value ?? '']
  },
  'a cookie of another record': async ({ issue }, name, value) => [
    'shop',
    name.replace(/[^_]+$/, (await issue()).id),
    value,
  ],
  'a cookie of another client': async ({ id }, _name, value) => ['portal', armedCookie('portal', id), value],
}
const notArmed = Object.keys(NOT_ARMED)

/** What may happen between a button and the next one, and what the next one is. */
const AGAIN: Readonly<
  Record<string, readonly [status: number, between?: (again: Again) => unknown, client?: string]>
> = {
  'at once': [409],
  'after 59 seconds': [409, ({ clock }) => clock.tick(59)],
  'after a minute': [200, ({ clock }) => clock.tick(60)],
  'after the arrival': [200, ({ authorize, browser }) => authorize(browser)],
  'for another application': [200, undefined, 'portal'],
}
const again = Object.keys(AGAIN)

/** A while ago, and not too long. */
const SIGNED_IN = now() - 1000

const PAIRWISE: Given = {
  clients: [shop({ subject_type: 'pairwise' })],
  configuration: {
    subjectTypes: ['public', 'pairwise'],
    pairwiseIdentifier: (_ctx, accountId, { clientId }) => `${accountId} of ${clientId}`,
  },
}

/** Changes whatever it can reach. */
function meddle(payload: Record<string, unknown>): void {
  Object.assign(Object(payload.act), { sub: 'ghost' })
  Object.assign(Object(Object(payload.status).status_list), { idx: 131071 })
  Object.assign(payload, { sub: 'root', iss: 'https://evil.example.com', exp: 4102444800, jti: 'ghost' })
}
const WIDENED = {
  accountId: 'root',
  aud: 'https://evil.example.com',
  jti: 'ghost',
  grantId: 'ghost',
  exp: 4102444800,
}
function widen(token: object): boolean {
  const { kind, accountId } = token as { kind?: string; accountId?: string }
  if (kind === 'AccessToken' || kind === 'AuthorizationCode') if (accountId) Object.assign(token, WIDENED)
  return true
}
function lives(_ctx: unknown, token: object): number {
  widen(token)
  return 600
}
const accounts = (accountOf: (accountId: string, source?: object) => object): Given => ({
  configuration: {
    findAccount: async (_ctx: unknown, accountId: string, source?: object) => ({
      accountId,
      claims: async () => ({ sub: accountId }),
      ...accountOf(accountId, source),
    }),
  },
})
const customizer = (
  jwt: (ctx: unknown, token: object, jwt: { header: object; payload: object }) => void,
): Given => ({
  configuration: { formats: { customizers: { jwt } } as never },
})

/** Functions of the deployment that change what they are given, or answer twice. */
const MEDDLERS: Readonly<Record<string, Given>> = {
  'a customizer, in place': customizer((_ctx, _token, { payload }) => meddle(payload as never)),
  'a customizer, of the token and the header': customizer((_ctx, token, jwt) => {
    Object.assign(token, { ...WIDENED, extra: { act: { sub: 'ghost' } } })
    jwt.header = { typ: 'JWT', alg: 'none', kid: 'ghost' }
  }),
  'a customizer, of the token that it looks for': customizer((ctx) => {
    const { AccessToken } = Object(ctx).oidc.entities
    Object.assign(AccessToken.resourceServer.jwt.sign, { alg: 'HS256', key: 'k'.repeat(64), kid: 'ghost' })
    Object.assign(AccessToken, WIDENED)
  }),
  'ttl, of the token': { configuration: { ttl: { AccessToken: lives, AuthorizationCode: lives } as never } },
  'bitsOfOpaqueRandomness, of the token': {
    configuration: { formats: { bitsOfOpaqueRandomness: (_ctx, token) => (widen(token) ? 256 : 0) } },
  },
  'allowedPolicy, of the token': {
    configuration: {
      features: {
        introspection: {
          enabled: true,
          allowedPolicy: (_ctx: unknown, _client: unknown, token: object) => {
            const { extra } = token as AccessToken
            Object.assign(Object(extra), { act: { sub: 'ghost' }, status: undefined })
            return widen(token)
          },
        },
      } as never,
    },
  },
  'extraTokenClaims, of the token': {
    configuration: {
      extraTokenClaims(_ctx, token) {
        Object.assign(token, WIDENED)
        return {}
      },
    },
  },
  'extraTokenClaims, in JSON': {
    configuration: { extraTokenClaims: () => ({ toJSON: () => ({ act: { sub: 'ghost' } }) }) },
  },
  'an account that rejects': accounts(() => ({
    async claims(_use: string, _scope: string, requested: Record<string, unknown>, rejected: string[]) {
      rejected.push('act', 'sid')
      for (const name of Object.keys(requested)) delete requested[name]
      return { sub: 'root', act: { sub: 'ghost' }, sid: 'ghost' }
    },
  })),
}
const meddlers = Object.keys(MEDDLERS)

export const signInRules: readonly Rule[] = [
  rowsOf(['at the token endpoint', 'at the door'])('A1', {
    'at the token endpoint': cell(async (scene) => {
      const { token, id } = await scene.issue()
      const body = new URLSearchParams({
        ...{
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          client_id: 'spa',
          subject_token: token,
        },
        ...{ subject_token_type: 'urn:ietf:params:oauth:token-type:access_token', resource: API },
      })
      const said = await send(scene.tokenEndpoint, { method: 'POST', body })
      expect([said.status, said.body.error_description]).to.deep.equal([400, 'subject_token is invalid'])
      expect(scene.refusals()).to.deep.equal(['malformed'])
      expect(await scene.record(id)).not.to.have.any.keys('use', 'replay')
    }),
    'at the door': cell(async (scene) => {
      const { subjectToken, id } = await scene.impersonation.records.issue({
        userId: 'alice',
        createdBy: 'test',
      })
      for (const token of [subjectToken, UNKNOWN_TOKEN])
        expect((await shown(scene, await scene.signedIn(), token)).status).to.equal(400)
      expect(await scene.record(id)).not.to.have.any.keys('use', 'replay')
    }),
  }),
  rowsOf(openable)(
    'A2',
    each(openable, (name) =>
      armed(
        async ({ authorize, browser, use }) => {
          expect(errorOf(await authorize(browser))).to.equal(null)
          expect((await use())?.session?.logout).to.equal(name === 'unended' ? 'unsupported' : 'pending')
        },
        { clients: [shop(OPENABLE[name])] },
      ),
    ),
  ),
  rowsOf(notOpenable)(
    'A2, and no other',
    each(notOpenable, (name) =>
      cell(
        async (scene) => {
          const { token, id } = await scene.issue()
          const refused = await scene.provider.Client.validate(shop(NOT_OPENABLE[name])).catch(
            (error) => error,
          )
          expect(refused).to.be.instanceOf(errors.InvalidClientMetadata)
          // It is registered without the member.
          expect((await shown(scene, await scene.signedIn(), token)).status).to.equal(403)
          expect((await scene.record(id))?.use).to.equal(undefined)
        },
        { clients: [shop({ ...OPENABLE.unended, impersonation_sessions: undefined })] },
      ),
    ),
  ),
  rule(
    'A3',
    cell(
      async (scene) => {
        const { client_id: _, client_secret: __, ...metadata } = shop()
        const { status, body } = await send(`${scene.issuer}/reg`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(metadata),
        })
        expect([status, body.error]).to.deep.equal([400, 'invalid_client_metadata'])
        const { id } = await scene.issue()
        expect((await scene.record(id))?.use).to.equal(undefined)
      },
      { configuration: { features: { registration: { enabled: true } } } },
    ),
  ),
  rule(
    'A4',
    cell(async (scene) => {
      const { token, id } = await scene.issue()
      const browser = scene.browser()
      const { status, location } = await browser.post(
        scene.door,
        { subject_token: token },
        { origin: 'https://desk.example.com', 'sec-fetch-site': 'cross-site' },
      )
      expect([status, location?.href]).to.deep.equal([303, scene.door])
      expect(browser.cookie('_imp_brought')?.attributes).to.include.members(['httponly', 'path=/impersonate'])
      expect((await scene.record(id))?.use).to.equal(undefined)
    }),
  ),
  rule(
    'A5',
    cell(
      async (scene) => {
        const { token, id } = await scene.issue({ context: { reason: 'lost order', note: 'not shown' } })
        const page = await shown(scene, scene.browser(), token)
        expect(page.status).to.equal(200)
        for (const text of ['bob', 'alice', 'The shop', '15 minutes', 'lost order'])
          expect(page.text).to.include(text)
        expect(page.text).not.to.include('not shown')
        expect(page.text.match(/<button/g)).to.have.length(1)
        expect((await scene.record(id))?.use).to.equal(undefined)
      },
      { options: { requiredContext: ['reason'] } },
    ),
  ),
  rule(
    'A6',
    armed(async ({ browser, use }) => {
      expect(browser.cookie(ARMED)?.attributes).to.include.members(['httponly', 'path=/oidc/auth'])
      expect(await use()).to.equal(undefined)
    }),
  ),
  rowsOf(forms)(
    'A7',
    each(forms, (name) =>
      cell(async (scene) => {
        const { token, id } = await scene.issue()
        const [path = '', fields = new URLSearchParams()] = FORMS[name]?.(token) ?? []
        expect((await (await scene.signedIn()).post(scene.door + path, fields)).status).to.equal(400)
        expect(scene.events).to.deep.equal([])
        expect((await scene.record(id))?.use).to.equal(undefined)
      }),
    ),
  ),
  rowsOf(mounts)(
    'A36',
    each(mounts, (name) =>
      cell(async (scene) => {
        const [status, path = '', listener] = MOUNTS[name] ?? []
        const server = createServer(listener?.(scene)).listen(0, '127.0.0.1')
        await once(server, 'listening')
        const { port } = server.address() as AddressInfo
        try {
          const { token, id } = await scene.issue()
          const said = await scene.browser().post(`http://127.0.0.1:${port}${path}`, { subject_token: token })
          expect(said.status).to.equal(status)
          expect((await scene.record(id))?.use).to.equal(undefined)
        } finally {
          server.close()
        }
      }),
    ),
  ),
  rowsOf(calls)(
    'A8',
    each(calls, (name) =>
      cell(async (scene) => {
        const { id } = await scene.issue()
        const { headers = new Headers() } = (await CALLS[name]?.(scene)) ?? {}
        expect(headers.get('cache-control')).to.equal('no-store')
        expect(headers.get('referrer-policy')).to.equal('same-origin')
        expect(headers.get('x-frame-options')).to.equal('DENY')
        expect(headers.get('content-security-policy')).to.match(
          /default-src 'none'.*style-src 'sha256-.*form-action 'self'.*frame-ancestors 'none'/,
        )
        expect(headers.get('content-security-policy')).not.to.include('script-src')
        expect((await scene.record(id))?.use).to.equal(undefined)
      }),
    ),
  ),
  rowsOf(['another site', 'another session', 'without what was sealed'])('A9', {
    'another site': pressed({ 'sec-fetch-site': 'cross-site' }),
    'another session': pressed({}, 'another'),
    'without what was sealed': pressed({}, 'unsealed'),
  }),
  rowsOf(['the user', 'someone else', 'an account that is gone', 'a policy that says no'])('A10', {
    'the user': shownBy('alice', 403),
    'someone else': shownBy('carol', 403),
    'an account that is gone': shownBy('bob', 403, {}, { userId: 'nobody' }),
    'a policy that says no': shownBy('bob', 403, { options: { isAllowed: () => false } }),
  }),
  rowsOf(['fresh after the sign-in', 'not fresh after it'])('A11', {
    'fresh after the sign-in': freshness('platinum', 200),
    'not fresh after it': freshness('gold', 403),
  }),
  rowsOf(['its own engineer', 'another account'])('A12', {
    'its own engineer': shownAgain('bob'),
    'another account': shownAgain('carol'),
  }),
  rule(
    'A13',
    cell(
      async ({ signedIn, issuer, door, issue, record }) => {
        const browser = await signedIn()
        const { token, id } = await issue()
        const page = await browser.follow(
          await browser.post(door, {
            subject_token: token,
            target_link_uri: 'https://shop.example.com/orders',
          }),
        )
        const { action, fields } = browser.formOf(page)
        const { text } = await browser.post(action, fields)
        const start = new URL('https://shop.example.com/start')
        start.searchParams.set('iss', issuer)
        start.searchParams.set('target_link_uri', 'https://shop.example.com/orders')
        expect(text.replaceAll('&amp;', '&')).to.include(start.href)
        expect((await record(id))?.use).to.equal(undefined)
      },
      { clients: [shop(OPENABLE['true, with initiate_login_uri'])] },
    ),
  ),
  rule(
    'A14',
    armed(async ({ browser, token, authorize, redeem, events, id, use, door }) => {
      const { text } = await browser.get(door)
      const arrived = await authorize(browser)
      const { text: tokens } = await redeem(arrived)
      const all = [
        text,
        String(arrived.location),
        tokens,
        JSON.stringify(events),
        JSON.stringify(browser.cookies),
      ]
      expect(all.filter((one) => one.includes(token.slice(4)))).to.deep.equal([])
      expect(JSON.stringify(browser.cookies.map(({ value }) => value))).not.to.include(id)
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  ),
  rule(
    'A15',
    armed(async ({ browser, authorize, redeem, use }) => {
      const { body } = await redeem(await authorize(browser))
      expect(decodeJwt(body.id_token).sub).to.equal('alice')
      expect(isArmed(browser)).to.equal(false)
      expect((await use())?.actor).to.deep.equal({ sub: 'bob' })
    }),
  ),
  rowsOf(['prompt=none', 'HEAD'])('A16', {
    'prompt=none': armed(async ({ browser, authorize, use }) => {
      expect(errorOf(await authorize(browser, { prompt: 'none' }))).to.equal('consent_required')
      expect(isArmed(browser)).to.equal(true)
      expect(await use()).to.equal(undefined)
    }),
    HEAD: armed(async ({ browser, authorize, signedIn, use, events }) => {
      const { url } = await authorize(await signedIn())
      const { status, location } = await browser.head(url)
      expect([status, location?.pathname.startsWith('/interaction/')]).to.deep.equal([303, true])
      expect(isArmed(browser)).to.equal(true)
      expect([await use(), events]).to.deep.equal([undefined, []])
    }),
  }),
  rowsOf([
    'another response type',
    'without openid',
    'a sign-in since, in another tab',
    'a policy that says no',
    'another session',
    'a minute',
    'ten minutes',
    'a token that was stopped',
  ])('A17', {
    'a sign-in since, in another tab': armed(async (scene) => {
      const { browser, authorize, refusals, provider, door, use } = scene
      const again = new URLSearchParams({
        ...{ client_id: 'impersonation-door', response_type: 'none', scope: 'openid', redirect_uri: door },
        prompt: 'login',
      })
      const { url } = await browser.follow(await browser.get(`${provider.issuer}/auth?${again}`))
      expect(url.split('?')[0]).to.equal(door)
      expect(errorOf(await authorize(browser))).to.equal('access_denied')
      expect(refusals()).to.deep.equal(['signed in after it was armed'])
      expect(isArmed(browser)).to.equal(false)
      expect(await use()).to.equal(undefined)
    }),
    'without openid': armed(async ({ browser, authorize, impersonation, refusals, id }) => {
      const asked = { scope: 'orders:read', resource: API, nonce: null }
      expect(errorOf(await authorize(browser, asked))).to.equal('access_denied')
      expect(refusals()).to.deep.equal(['openid was not requested'])
      expect((await impersonation.records.get(id))?.state).to.equal('active')
      expect(isArmed(browser)).to.equal(false)
    }),
    'another response type': arrivesWith({ response_type: 'none' }, 'access_denied', {
      clients: [shop({ response_types: ['code', 'none'] })],
    }),
    'a policy that says no': arrivesWith({}, 'access_denied', {
      options: { isAllowed: (request) => !('resources' in request) },
    }),
    'another session': armed(async ({ browser, signedIn, authorize, use }) => {
      const other = await signedIn()
      const { name = '', value = '', path } = browser.cookie(ARMED) ?? {}
      other.set(name, value, path)
      expect(errorOf(await authorize(other))).to.equal('access_denied')
      expect(await use()).to.equal(undefined)
    }),
    'a minute': tooLate(60),
    'ten minutes': tooLate(599),
    'a token that was stopped': armed(async ({ browser, impersonation, id, authorize, use }) => {
      await impersonation.records.stop({ id })
      expect(errorOf(await authorize(browser))).to.equal('access_denied')
      expect(await use()).to.equal(undefined)
    }),
  }),
  rowsOf(['at once', 'when the first is too old', 'when they are too old'])('A33', {
    'when the first is too old': armedTwice(async ({ browser, authorize, refusals, states, clock }) => {
      clock.tick(30)
      for (const _ of ['the tab of the first', 'the tab of the second'])
        expect(errorOf(await authorize(browser))).to.equal('access_denied')
      expect(refusals()).to.deep.equal(['armed more than once', 'armed more than once'])
      expect(armedCookies(browser)).to.have.length(2)
      expect(await states()).to.deep.equal(['active', 'active'])
    }, 59),
    'at once': armedTwice(async ({ browser, authorize, refusals, states }) => {
      for (const _ of ['the tab of the first', 'the tab of the second'])
        expect(errorOf(await authorize(browser))).to.equal('access_denied')
      expect(refusals()).to.deep.equal(['armed more than once', 'armed more than once'])
      expect(armedCookies(browser)).to.have.length(2)
      expect(await states()).to.deep.equal(['active', 'active'])
    }),
    'when they are too old': armedTwice(async ({ browser, authorize, refusals, states, clock }) => {
      clock.tick(60)
      expect(errorOf(await authorize(browser))).to.equal('access_denied')
      expect(refusals()).to.deep.equal(['armed too long ago'])
      expect(armedCookies(browser)).to.deep.equal([])
      expect((await authorize(browser)).location?.pathname).to.match(/^\/interaction\//)
      expect(await states()).to.deep.equal(['active', 'active'])
    }),
  }),
  rowsOf(['in the next minute', 'in ten minutes'])('A37', {
    'in the next minute': armedAgain(60),
    'in ten minutes': armedAgain(598),
  }),
  rowsOf(notArmed)(
    'A34',
    each(notArmed, (name) =>
      armed(async (scene) => {
        const { browser, authorize, events, use } = scene
        const { name: own = '', value = '', path } = browser.cookie(ARMED) ?? {}
        const [client = '', forged, junk] = (await NOT_ARMED[name]?.(scene, own, value)) ?? []
        browser.remove(own)
        browser.set(forged ?? '', junk ?? '', path)
        const said = await authorize(browser, { client_id: client })
        expect(said.location?.pathname).to.match(/^\/interaction\//)
        expect(said.headers.getSetCookie().join()).not.to.include('_imp_')
        expect([await use(), events]).to.deep.equal([undefined, []])
      }, TWO_APPLICATIONS),
    ),
  ),
  rowsOf(['behind seven', 'behind eight', 'behind twenty'])('A38', {
    'behind seven': behindJunk(7, true),
    'behind eight': behindJunk(8, false),
    'behind twenty': behindJunk(20, false),
  }),
  rowsOf(again)(
    'A35',
    each(again, (name) => pressedAgain(...(AGAIN[name] ?? [200]))),
  ),
  rule(
    'A35, and not by the same token',
    armed(async ({ browser, arm, authorize, token, use }) => {
      expect((await arm(browser, token)).status).to.equal(200)
      expect(armedCookies(browser)).to.have.length(1)
      expect(errorOf(await authorize(browser))).to.equal(null)
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  ),
  rule('A18', arrivesWith({ prompt: 'login' }, 'login_required')),
  rowsOf(prompts)(
    'A19',
    each(prompts, (name) =>
      arrivesWith(PROMPTS[name] ?? {}, 'login_required', { configuration: CLAIMS as never }),
    ),
  ),
  rule(
    'A19, and consent is given',
    armed(async ({ browser, authorize, use }) => {
      expect(errorOf(await authorize(browser, { prompt: 'consent' }))).to.equal(null)
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  ),
  rule(
    'A20',
    armed(
      async ({ browser, authorize, redeem, use }) => {
        const arrived = await authorize(browser, {
          scope: 'openid profile offline_access',
          prompt: 'consent',
        })
        expect((await redeem(arrived)).body.scope).to.equal('openid')
        expect((await use())?.scope).to.equal('openid')
      },
      {},
      { scope: 'other offline_access' },
    ),
  ),
  rowsOf(ceilings)(
    'A20, and no claim beyond the scope of the record',
    each(ceilings, (name) => {
      const { scope, brings = [] } = CEILINGS[name] ?? {}
      return armed(
        async ({ browser, authorize, redeem, userinfo, use }) => {
          const { body, text } = await redeem(await authorize(browser, ASKED))
          expect(body?.access_token, text).to.be.a('string')
          const shown = (await userinfo(body.access_token)).body
          expect(shown.act).to.deep.equal({ sub: 'bob' })
          expect(Object.keys(shown).filter((name) => !['sub', 'act'].includes(name))).to.have.members(brings)
          const idToken = decodeJwt(body.id_token)
          expect('email' in idToken).to.equal(brings.includes('email'))
          expect(idToken).to.include.keys('auth_time', 'sid', 'act')
          expect((await use())?.scope).to.be.oneOf(['openid profile', 'openid'])
        },
        { configuration: CLAIMED },
        scope === undefined ? {} : { scope },
      )
    }),
  ),
  rowsOf(ceilings)(
    'A32',
    each(ceilings, (name) => {
      const { scope, brings } = CEILINGS[name] ?? {}
      return cell(async () => {
        const asked: unknown[] = []
        const isAllowed = (request: object) => asked.push(Reflect.get(request, 'claims')) > 0
        await withScene({ options: { isAllowed }, configuration: CLAIMED }, async (scene) => {
          const browser = await scene.signedIn()
          const { token, id } = await scene.issue(scope === undefined ? {} : { scope })
          await scene.arm(browser, token)
          expect(errorOf(await scene.authorize(browser, ASKED))).to.equal(null)
          expect(asked).to.deep.equal([undefined, undefined, brings])
          expect((await scene.record(id))?.use).to.include({ clientId: 'shop' })
        })
      })
    }),
  ),
  rule(
    'A21',
    armed(async ({ browser, authorize, use }) => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => authorize(browser.clone())))
      const errorsOf = answers.map(errorOf)
      expect(errorsOf.filter((error) => error === null)).to.have.length(1)
      expect(errorsOf.filter((error) => error === 'access_denied')).to.have.length(9)
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  ),
  rule(
    'A22',
    armed(async ({ browser, authorize, provider, id, use }) => {
      const { headers } = await authorize(browser)
      const session = await provider.Session.findByUid(`imp_${id}`)
      expect(headers.getSetCookie().join()).not.to.include(session?.jti)
      expect((await authorize(browser, { prompt: 'none' })).location?.searchParams.get('code')).to.equal(null)
      const thief = browser.clone()
      thief.setSigned(provider.cookieName('session'), session?.jti ?? '', 'a key of the tests')
      expect(errorOf(await authorize(thief, { prompt: 'none' }))).to.equal('login_required')
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  ),
  rule(
    'A23',
    armed(
      async ({ browser, authorize, redeem, id, use }) => {
        const { body } = await redeem(await authorize(browser))
        expect(decodeJwt(body.id_token).sid).to.equal(`imp_${id}`)
        expect((await use())?.session).to.deep.equal({ logout: 'unsupported' })
      },
      { clients: [shop(OPENABLE.unended)] },
    ),
  ),
  rowsOf(['the ID token', 'userinfo', 'a JWT'])('A24', {
    'the ID token': shows(async ({ body }) => decodeJwt(body.id_token)),
    userinfo: shows(async ({ body }, { userinfo }) => (await userinfo(body.access_token)).body),
    'a JWT': shows(async ({ body }) => decodeJwt(body.access_token), API),
  }),
  rowsOf(['a JWT', 'an opaque token'])('A25', {
    'a JWT': ends(API),
    'an opaque token': ends(OPAQUE_API),
  }),
  rule(
    'A26',
    armed(
      async ({ browser, authorize, redeem, use }) => {
        const arrived = await authorize(browser, { resource: API, scope: 'openid orders:read' })
        const { body } = await redeem(arrived, { resource: API })
        const claims = decodeJwt(body.access_token)
        expect(claims).to.deep.include({ tier: 'gold', act: { sub: 'bob' }, kept: true, sub: 'alice' })
        expect(await use()).to.deep.include({ resource: [API] })
      },
      {
        options: { getCustomJwtClaims: () => ({ tier: 'gold' }) },
        configuration: { extraTokenClaims: () => ({ tier: 'none', act: { sub: 'carol' }, kept: true }) },
      },
    ),
  ),
  rowsOf(meddlers)(
    'A26, whatever a function changes in what it is given',
    each(meddlers, (name) =>
      armed(async ({ browser, authorize, redeem, userinfo, id, use }) => {
        const people = { sub: 'alice', act: { sub: 'bob' } }
        const first = await redeem(await authorize(browser, { scope: 'openid profile' }))
        expect(first.status, first.text).to.equal(200)
        expect(decodeJwt(first.body.id_token)).to.deep.include({ ...people, sid: `imp_${id}` })
        expect((await userinfo(first.body.access_token)).body).to.deep.include(people)
        expect((await use())?.actor).to.deep.equal({ sub: 'bob' })
      }, MEDDLERS[name]),
    ),
  ),
  rowsOf(meddlers)(
    'A26, whatever a function changes in a JWT',
    each(meddlers, (name) =>
      armed(async ({ browser, authorize, redeem, id, use, provider }) => {
        const arrived = await authorize(browser, { resource: API, scope: 'openid orders:read' })
        const { body, text } = await redeem(arrived, { resource: API })
        expect(body.access_token, text).to.be.a('string')
        const claims = decodeJwt(body.access_token)
        expect(claims).to.deep.include({ sub: 'alice', act: { sub: 'bob' }, iss: provider.issuer, aud: API })
        expect(claims).to.have.nested.property('status.status_list.idx', 0)
        expect(claims.jti?.startsWith(`${id}.`)).to.equal(true)
        expect(claims.exp).to.be.at.most(now() + 900)
        expect(decodeProtectedHeader(body.access_token)).to.include({ typ: 'at+jwt', alg: 'ES256' })
        expect((await use())?.actor).to.deep.equal({ sub: 'bob' })
      }, MEDDLERS[name]),
    ),
  ),
  rowsOf(meddlers)(
    'A26, whatever a function changes in an opaque token',
    each(meddlers, (name) =>
      armed(async ({ browser, authorize, redeem, id, use, provider, ...addresses }) => {
        const arrived = await authorize(browser, { resource: OPAQUE_API, scope: 'openid orders:read' })
        const { body, text } = await redeem(arrived, { resource: OPAQUE_API })
        const stored = await provider.AccessToken.find(body.access_token)
        expect(stored, text).to.deep.include({ accountId: 'alice', grantId: `imp_${id}`, aud: OPAQUE_API })
        expect(JSON.parse(JSON.stringify(stored?.extra))).to.have.nested.property('act.sub', 'bob')
        expect(await introspect(addresses, body.access_token)).to.deep.include({
          ...{ active: true, sub: 'alice', act: { sub: 'bob' }, aud: OPAQUE_API },
          ...{ scope: 'openid orders:read', status: stored?.extra?.status },
        })
        expect(await use()).to.include({ clientId: 'shop' })
      }, MEDDLERS[name]),
    ),
  ),
  rowsOf(['the code', 'userinfo'])('A27', {
    'the code': armed(async ({ browser, authorize, redeem, impersonation, id, use }) => {
      const arrived = await authorize(browser)
      await impersonation.records.stop({ id })
      expect((await redeem(arrived)).body.error).to.equal('invalid_grant')
      expect(await use()).to.include({ clientId: 'shop' })
    }),
    userinfo: armed(async ({ browser, authorize, redeem, userinfo, impersonation, id, use }) => {
      const { body } = await redeem(await authorize(browser))
      await impersonation.records.stop({ id })
      expect((await userinfo(body.access_token)).status).to.equal(401)
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  }),
  rule(
    'A28',
    armed(
      async ({ browser, authorize, redeem, impersonation, tokenEndpoint, use }) => {
        const { body } = await redeem(await authorize(browser, { resource: OPAQUE_API, scope: 'openid' }), {
          resource: OPAQUE_API,
        })
        const { subjectToken } = await impersonation.records.issue({ userId: 'carol', createdBy: 'test' })
        const type = 'urn:ietf:params:oauth:token-type:access_token'
        const said = await send(tokenEndpoint, {
          method: 'POST',
          body: new URLSearchParams({
            ...{
              grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
              client_id: 'spa',
              resource: API,
            },
            ...{ subject_token: subjectToken, subject_token_type: type },
            ...{ actor_token: body.access_token, actor_token_type: type },
          }),
        })
        expect(said.status, said.text).to.equal(200)
        expect(decodeJwt(said.body.access_token).act).to.deep.equal({ sub: 'alice', act: { sub: 'bob' } })
        expect(await use()).to.include({ clientId: 'shop' })
      },
      { ...PAIRWISE, options: { maxDelegationDepth: 3 } },
    ),
  ),
  rule(
    'A29',
    armed(async ({ browser, authorize, events, use }) => {
      await Promise.all([authorize(browser.clone()), authorize(browser.clone())])
      expect(events.map(({ name }) => name)).to.have.members([
        'subject_token.exchanged',
        'subject_token.refused',
      ])
      const payloads = events.map(({ payload }) => payload)
      expect(payloads.find((payload) => 'kind' in payload)).to.deep.include({
        kind: 'session',
        resources: [],
        scope: 'openid profile',
      })
      expect(payloads.find((payload) => 'stage' in payload)).to.include({ stage: 'session' })
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  ),
  rule(
    'A30',
    armed(async ({ browser, authorize, redeem, provider, id, use }) => {
      const seen: unknown[] = []
      const note = (ctx: object) => void seen.push(impersonationOf(ctx))
      provider.on('authorization.success', note)
      provider.on('grant.success', note)
      await redeem(await authorize(browser))
      const expected = { id, userId: 'alice', actor: { sub: 'bob' }, clientId: 'shop' }
      expect(seen).to.deep.equal([expected, expected])
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  ),
  rule(
    'A31',
    cell(async () => {
      const asked: unknown[] = []
      const isAllowed = ({ account: _, ...question }: object & { account: unknown }) =>
        asked.push(question) > 0
      await withScene({ options: { isAllowed } }, async (scene) => {
        const browser = await scene.signedIn('bob', { acr: 'gold', loginTs: SIGNED_IN })
        const { token, id } = await scene.issue({ context: { ticketId: 'T-1' } })
        await scene.arm(browser, token)
        await scene.authorize(browser)
        const atDoor = {
          ...{ stage: 'session', use: 'session', userId: 'alice', context: { ticketId: 'T-1' } },
          ...{ client: { id: 'shop' }, createdBy: { id: 'backend' } },
          actor: { sub: 'bob', verified: true, authTime: SIGNED_IN, acr: 'gold' },
        }
        expect(asked).to.deep.equal([
          atDoor,
          atDoor,
          { ...atDoor, ...{ scope: 'openid profile', resources: [], claims: [] } },
        ])
        expect((await scene.record(id))?.use).to.include({ clientId: 'shop' })
      })
    }),
  ),
]

/** The button, pressed as it may not be. */
function pressed(headers: Record<string, string>, how?: 'another' | 'unsealed'): Steps {
  return cell(async (scene) => {
    const browser = await scene.signedIn()
    const { token, id } = await scene.issue()
    const { action, fields } = browser.formOf(await shown(scene, browser, token))
    const presser = how === 'another' ? await scene.signedIn() : browser
    const { status } = await presser.post(action, how === 'unsealed' ? { sealed: 'forged' } : fields, headers)
    expect(status).to.equal(403)
    expect(isArmed(presser)).to.equal(false)
    expect((await scene.record(id))?.use).to.equal(undefined)
  })
}

function freshness(acr: string, status: number): Steps {
  return cell(
    async (scene) => {
      scene.signingIn = { accountId: 'bob', acr }
      const browser = await scene.signedIn('bob', { acr: 'gold' })
      const { token, id } = await scene.issue()
      const page = await shown(scene, browser, token)
      expect(page.status).to.equal(status)
      expect((await scene.record(id))?.use).to.equal(undefined)
    },
    { sessions: { acrValues: ['platinum'] }, configuration: { acrValues: ['gold', 'platinum'] } },
  )
}

function shownAgain(accountId: string): Steps {
  return armed(async (scene) => {
    const { browser, authorize, signedIn, token, id, use } = scene
    await authorize(browser)
    expect((await shown(scene, await signedIn(accountId), token)).status).to.equal(403)
    const { replay } = (await scene.record(id)) ?? {}
    expect(replay?.by).to.equal(accountId === 'bob' ? undefined : accountId)
    expect(await use()).to.include({ clientId: 'shop' })
  })
}

type Claims = Record<string, unknown>

function shows(
  read: (tokens: Awaited<ReturnType<Scene['redeem']>>, scene: Armed) => Promise<Claims>,
  resource?: string,
): Steps {
  return armed(async (scene) => {
    const { browser, authorize, redeem, use } = scene
    const asked: Record<string, string> = {
      max_age: '3600',
      ...(resource && { resource, scope: 'openid orders:read' }),
    }
    const tokens = await redeem(await authorize(browser, asked), resource ? { resource } : {})
    const claims = await read(tokens, scene)
    expect(claims).to.deep.include({ sub: 'alice of shop', act: { sub: 'bob of shop' } })
    expect(claims).not.to.have.any.keys('acr', 'amr')
    if (claims.auth_time) expect(claims.auth_time).to.be.closeTo(now() - 10, 5)
    expect((await use())?.actor).to.deep.equal({ sub: 'bob' })
  }, PAIRWISE)
}

function ends(resource: string): Steps {
  return armed(
    async ({ browser, authorize, redeem, provider, id, use }) => {
      const arrived = await authorize(browser, { resource, scope: 'openid orders:read' })
      const { body } = await redeem(arrived, { resource })
      const endsAt = (await use())?.accessToken.expiresAt ?? 0
      expect(endsAt - now()).to.be.within(58, 60)
      expect(decodeJwt(body.id_token).exp).to.be.within(endsAt - 2, endsAt)
      expect(body).not.to.have.property('refresh_token')
      const stored = await provider.AccessToken.find(body.access_token)
      const jwt = resource === API ? decodeJwt(body.access_token) : undefined
      expect(jwt?.exp ?? stored?.exp).to.equal(endsAt)
      if (jwt) expect(jwt.jti).to.match(new RegExp(`^${id}\\.[\\w-]{22}$`))
    },
    {
      sessions: { ttl: 60 },
      configuration: { ttl: { AccessToken: 3600, IdToken: 3600 }, issueRefreshToken: () => true },
    },
  )
}
