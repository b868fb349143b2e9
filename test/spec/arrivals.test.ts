/** Sign-ins as the user: the authorization request of an armed browser (docs/protocol.md §10.4, §10.5). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { type Answer, Browser } from '../../fixtures/browser.ts'
import { CHALLENGE, storedModels } from '../../fixtures/clients.ts'
import { now, type StoppedClock, whileStopped } from '../../fixtures/clock.ts'
import { API } from '../../fixtures/deployment.ts'
import { form, send } from '../../fixtures/http.ts'
import { AccessDenied, impersonationOf } from '../../src/index.ts'
import { armedCookie } from '../../src/sessions/cookies.ts'
import { sealOf } from '../../src/sessions/seal.ts'
import { mintId } from '../../src/tokens/id.ts'
import { hashToken } from '../../src/tokens/secret.ts'
import type { NewSubjectToken } from '../../src/tokens/subject-token.ts'
import {
  ARMED,
  type Armed,
  armed,
  armedCookies,
  CALLBACK,
  cell,
  errorOf,
  type Given,
  inScene,
  isArmed,
  replace,
  rule,
  type Scene,
  sealed,
  shop,
} from './arriving.ts'
import { declareCells } from './matrix.ts'
import { type Named, rowsOf, type Steps, values } from './rule.ts'

type Request = Record<string, string | null>

/** With all that an authorization request may ask for, and a second application. */
const OPEN: Given = {
  clients: [
    shop({
      response_types: ['code', 'code id_token', 'none'],
      grant_types: ['authorization_code', 'implicit'],
      authorization_details_types: ['payment'],
    }),
    shop({ client_id: 'portal', client_secret: 'portal-secret', client_name: 'Portal' }),
  ],
  configuration: {
    responseTypes: ['code', 'code id_token', 'none'],
    acrValues: ['gold'],
    features: {
      pushedAuthorizationRequests: { enabled: true },
      claimsParameter: { enabled: true },
      richAuthorizationRequests: { enabled: true, types: { payment: { validate: () => {} } } },
    } as never,
  },
}

/** The armed cookie of a browser, in another one. */
function moved(from: Browser, to: Browser): Browser {
  const { name = '', value = '', path } = from.cookie(ARMED) ?? {}
  to.set(name, value, path)
  return to
}

/** What the keys could have sealed about a token like this, and the door never does. */
const resealed =
  (issued: Partial<NewSubjectToken>, content: object = {}) =>
  async ({ browser, issue, ...scene }: Armed): Promise<void> => {
    const { token, id } = await issue(issued)
    browser.remove(browser.cookie(ARMED)?.name ?? '')
    browser.set(armedCookie('shop', id), await sealed(scene, browser, 'armed', token, content), '/oidc/auth')
  }

const CLOSING = storedModels([shop()])

/** Why an arrival is refused, which operators read. */
interface Lapse {
  readonly reason: string
  /** By default `access_denied`. */
  readonly error?: string
  readonly request?: Request
  readonly given?: Given
  /** Since the browser was armed. May return another one. */
  readonly change?: (scene: Armed) => unknown
}
const atArrival = (answer: () => boolean): Given => ({
  options: { isAllowed: (request) => !('resources' in request) || answer() },
})
const cannotAsk = 'the user cannot be asked to sign in'
const LAPSES: Named<Named<Lapse>> = {
  A17: {
    'another session of the engineer': {
      change: async ({ browser, signedIn }) => moved(browser, await signedIn()),
      reason: 'armed by another session',
    },
    'the session of another person': {
      change: async ({ browser, signedIn }) => moved(browser, await signedIn('carol')),
      reason: 'armed by another session',
    },
    'a sign-in since, in another tab': {
      async change({ browser, provider, door }) {
        const again = {
          ...{ client_id: 'impersonation-door', response_type: 'none', scope: 'openid', redirect_uri: door },
          prompt: 'login',
        }
        const { url } = await browser.follow(
          await browser.get(`${provider.issuer}/auth?${new URLSearchParams(again)}`),
        )
        expect(url.split('?')[0]).to.equal(door)
      },
      reason: 'signed in after it was armed',
    },
    'a token that was stopped': {
      change: ({ impersonation, id }) => impersonation.records.stop({ id }),
      reason: 'revoked',
    },
    'an engineer who is gone': {
      change: ({ accounts }) => accounts.disable('bob'),
      reason: 'the account of the actor is gone or disabled',
    },
    'a user who is gone': {
      change: ({ accounts }) => accounts.disable('alice'),
      reason: 'the user is gone or disabled',
    },
    'a client that has closed': {
      given: { clients: [], configuration: { adapter: CLOSING.adapter as never } },
      change: () => CLOSING.register(shop({ impersonation_sessions: undefined })),
      reason: 'the client is not open to sessions',
    },
    'more than the code': {
      request: { response_type: 'code id_token' },
      reason: 'the response type is not code',
    },
    'no response': { request: { response_type: 'none' }, reason: 'the response type is not code' },
    authorization_details: {
      request: { authorization_details: '[{"type":"payment"}]', resource: API },
      reason: 'authorization_details were requested',
    },
    'without openid': {
      request: { scope: 'orders:read', resource: API, nonce: null },
      reason: 'openid was not requested',
    },
    'a policy that says no': { given: atArrival(() => false), reason: 'isAllowed returned false' },
    'a policy that says why': {
      given: atArrival(() => {
        throw new AccessDenied('secret reason')
      }),
      reason: 'secret reason',
    },
    'the hash of another token': {
      change: resealed({}, { hash: hashToken('another' as never) }),
      reason: 'unknown',
    },
    'a token of the other use': { change: resealed({ purpose: 'exchange' }), reason: 'unknown' },
    'a token of another client': {
      change: resealed({ clientId: 'portal' }),
      reason: 'bound to another client',
    },
    'a token of another actor': { change: resealed({ actorId: 'carol' }), reason: 'bound to another actor' },
    'an alias of the user': {
      change: resealed({ userId: 'alias:alice' }),
      reason: 'the user is gone or disabled',
    },
  },
  A18: {
    'prompt=login': { request: { prompt: 'login' }, error: 'login_required', reason: cannotAsk },
    'and consent': { request: { prompt: 'login consent' }, error: 'login_required', reason: cannotAsk },
  },
  A19: {
    'an essential acr, also where the engineer has it': {
      request: { claims: '{"id_token":{"acr":{"essential":true,"values":["gold"]}}}' },
      error: 'login_required',
      reason: 'LoginRequired',
    },
    'the sub of another': {
      request: { claims: '{"id_token":{"sub":{"value":"bob"}}}' },
      error: 'login_required',
      reason: 'LoginRequired',
    },
    max_age: { request: { max_age: '5' }, error: 'login_required', reason: 'LoginRequired' },
  },
}

/** One event says why. Nothing is spent, and the browser is no longer armed. */
async function expectRefused(scene: Scene, browser: Browser, said: Answer, lapse: Lapse): Promise<void> {
  const { error = 'access_denied', reason } = lapse
  expect([said.status, said.location?.origin], said.text).to.deep.equal([303, 'https://shop.example.com'])
  expect(errorOf(said)).to.equal(error)
  expect(String(said.location)).not.to.match(/code=|id_token=|secret/)
  if (error === 'access_denied')
    expect(String(said.location)).to.match(
      /error_description=the(\+|%20)impersonation(\+|%20)was(\+|%20)refused/,
    )
  expect(scene.events.map(({ name }) => name)).to.deep.equal(['subject_token.refused'])
  expect(scene.events[0]?.payload).to.include({ stage: 'session', error, reason })
  expect(isArmed(browser)).to.equal(false)
  const { items } = await scene.impersonation.records.list()
  expect(items.filter(({ consumedAt }) => consumedAt !== undefined)).to.deep.equal([])
}
const refusedFor = (lapse: Lapse): Steps =>
  armed(async (scene) => {
    const { browser, authorize, events } = scene
    const other = await lapse.change?.(scene)
    const sender = other instanceof Browser ? other : browser
    events.splice(0)
    await expectRefused(scene as never, sender, await authorize(sender, lapse.request), lapse)
  }, lapse.given ?? OPEN)

/** A sign-in that was asked for before the browser was armed comes back after it. */
const signedInOnTheWay = (
  begin: (scene: Scene, browser: Browser) => Promise<Answer>,
  reason: string,
): Steps =>
  cell(async (scene) => {
    const loginTs = now() - 10
    const browser = await scene.signedIn('bob', { loginTs })
    // In the second of the first sign-in, so that the way here alone tells.
    scene.signingIn = { accountId: 'bob', ts: loginTs }
    const interaction = await begin(scene, browser)
    expect(interaction.location?.pathname).to.match(/^\/interaction\//)
    scene.events.splice(0)
    await expectRefused(scene, browser, await browser.follow(interaction), { reason })
  })

/** Its failure is a 500 that spends nothing. */
const throws = (): never => {
  throw new Error('secret reason')
}
const FAILURES: Named<Given> = {
  isAllowed: atArrival(throws),
  'ttl of the code': { configuration: { ttl: { AuthorizationCode: throws } } },
  getCustomJwtClaims: { options: { getCustomJwtClaims: throws } },
  'getCustomJwtClaims, with a reserved claim': {
    options: { getCustomJwtClaims: () => ({ act: { sub: 'carol' } }) },
  },
  'getCustomJwtClaims, with no object': { options: { getCustomJwtClaims: () => 'claims' as never } },
}

/** What is asked for, by the limits of record and client, and what is granted. */
interface Granting {
  readonly asks: Record<string, string>
  readonly issued: Partial<NewSubjectToken>
  readonly scope: string
  readonly given?: Given
}
const GRANTS: Named<Granting> = {
  'nothing offline': {
    asks: { scope: 'openid profile offline_access', prompt: 'consent' },
    issued: {},
    scope: 'openid profile',
  },
  'what the record allows': {
    asks: { scope: 'openid profile offline_access', prompt: 'consent' },
    issued: { scope: 'other offline_access' },
    scope: 'openid',
  },
  'what record and client allow, of a resource': {
    asks: { scope: 'openid orders:read orders:write', resource: API },
    issued: { scope: 'orders:read orders:write' },
    scope: 'openid orders:read',
    given: {
      clients: [shop({ scope: 'openid orders:read' })],
      configuration: { scopes: ['openid', 'orders:read'] },
    },
  },
}

/** What an application asks for beyond its scopes, and what it gets, by the scope of the record. */
const ASKED = {
  scope: 'openid profile',
  claims: JSON.stringify({
    id_token: { email: null, auth_time: { essential: true } },
    userinfo: { email: null, phone: null, tenant: null, act: null },
  }),
}
const CEILINGS: Named<{ readonly scope?: string; readonly brings: readonly string[] }> = {
  'a record without scope': { brings: ['email', 'phone', 'tenant'] },
  'a record with a scope that lists one': { scope: 'profile', brings: ['email'] },
  'a record with a scope that lists none': { scope: 'openid', brings: [] },
  'a record whose scope was not asked for': { scope: 'phone', brings: [] },
}
const CLAIMED: Given['configuration'] = {
  acrValues: ['gold'],
  features: { claimsParameter: { enabled: true } },
  claims: { openid: ['sub'], profile: { email: null }, phone: ['phone'], tenant: null },
  async findAccount(_ctx, accountId) {
    const claims = { sub: accountId, email: 'alice@example.com', phone: '+49 30 1234', tenant: 'north' }
    return { accountId, claims: () => claims }
  },
}

/** While the clock stands still. */
interface Again extends Armed {
  readonly clock: StoppedClock
}
const armedAt = (use: (scene: Again) => Promise<void>): Steps =>
  cell(
    (scene) =>
      whileStopped(async (clock) => {
        const browser = await scene.signedIn()
        const { token, id } = await scene.issue()
        await scene.arm(browser, token)
        await use({ ...scene, browser, token, id, clock, use: async () => (await scene.record(id))?.use })
      }),
    OPEN,
  )

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
const neitherOpens = (later: number, between: number): Steps =>
  armedTwice(async ({ browser, authorize, refusals, states, clock }) => {
    clock.tick(later)
    for (const _ of ['the tab of the first', 'the tab of the second'])
      expect(errorOf(await authorize(browser))).to.equal('access_denied')
    expect(refusals()).to.deep.equal(['armed more than once', 'armed more than once'])
    expect(armedCookies(browser)).to.have.length(2)
    expect(await states()).to.deep.equal(['active', 'active'])
  }, between)

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

/** What may happen between a button and the next one, and what the next one is. */
const AGAIN: Named<readonly [status: number, between?: (again: Again) => unknown, client?: string]> = {
  'at once': [409],
  'after 59 seconds': [409, ({ clock }) => clock.tick(59)],
  'after a minute': [200, ({ clock }) => clock.tick(60)],
  'after the arrival': [200, ({ authorize, browser }) => authorize(browser)],
  'for another application': [200, undefined, 'portal'],
}
/** The button for another subject token, in the browser that is armed for the shop. */
const pressedAgain = ([status, between = () => {}, clientId = 'shop']: (typeof AGAIN)[string]): Steps =>
  armedAt(async (scene) => {
    const { browser, issue, arm, authorize, use, record } = scene
    await between(scene)
    const { token, id } = await issue({ clientId })
    const said = await arm(browser, token)
    expect(said.status, said.text).to.equal(status)
    expect(browser.cookies.some(({ name }) => name.endsWith(`_${id}`))).to.equal(status === 200)
    if (clientId === 'portal') {
      expect(errorOf(await authorize(browser, { client_id: clientId }))).to.equal(null)
      expect((await record(id))?.use).to.include({ clientId })
    }
    if (status === 200 && clientId === 'shop') return
    if (status === 409)
      expect(said.text).to.include('Another view of this application is being opened in this browser')
    expect(errorOf(await authorize(browser))).to.equal(null)
    expect(await use()).to.include({ clientId: 'shop' })
    if (status === 409) expect((await record(id))?.use).to.equal(undefined)
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

type Forged = readonly [client: string, name: string, value: string]
/** What has the name of an armed cookie, or was one. */
const NOT_ARMED: Named<(scene: Armed, name: string, value: string) => Promise<Forged>> = {
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
  'what the page has sealed': async ({ browser, token, ...scene }, name) => [
    'shop',
    name,
    await sealed(scene, browser, 'asked', token),
  ],
  'a cookie of another record': async ({ issue }, name, value) => [
    'shop',
    name.replace(/[^_]+$/, (await issue()).id),
    value,
  ],
  'a cookie of another client': async ({ id }, _name, value) => ['portal', armedCookie('portal', id), value],
}

/** A while ago, and not too long. */
const SIGNED_IN = now() - 1000

declareCells('A, arrivals', [
  rule(
    'A15',
    armed(async ({ browser, authorize, redeem, provider, use }) => {
      const name = provider.cookieName('session')
      const before = browser.cookie(name)?.value
      const arrived = await authorize(browser)
      const gone = 'expires=Thu, 01 Jan 1970 00:00:00 GMT'
      const cookies = arrived.headers.getSetCookie()
      expect(cookies).to.have.length(2)
      expect(cookies[0]).to.match(new RegExp(`^_imp_[0-9a-f]{16}_[0-9a-f]{32}=; path=/oidc/auth; ${gone}`))
      expect(cookies[1]).to.match(new RegExp(`^_imp_[0-9a-f]{16}_door=; path=/impersonate; ${gone}`))
      const { body } = await redeem(arrived)
      expect(decodeJwt(body.id_token).sub).to.equal('alice')
      expect([isArmed(browser), browser.cookie(name)?.value]).to.deep.equal([false, before])
      expect((await use())?.actor).to.deep.equal({ sub: 'bob' })
    }),
  ),
  rule(
    'A15, by a pushed request, which is used up',
    armed(async (scene) => {
      const { browser, issuer, use, signedIn, issue, arm, record } = scene
      const headers = { authorization: `Basic ${btoa('shop:shop-secret')}` }
      const pushed = form({
        ...{ client_id: 'shop', response_type: 'code', scope: 'openid', redirect_uri: CALLBACK },
        ...{ code_challenge: CHALLENGE, code_challenge_method: 'S256' },
      })
      const { body } = await send(`${issuer}/request`, { method: 'POST', headers, body: pushed })
      const request = new URLSearchParams({ client_id: 'shop', request_uri: body.request_uri })
      const said = await browser.get(`${issuer}/auth?${request}`)
      expect(errorOf(said), said.text).to.equal(null)
      expect(await use()).to.include({ clientId: 'shop' })
      const other = await signedIn()
      const { token, id } = await issue()
      await arm(other, token)
      expect(errorOf(await other.get(`${issuer}/auth?${request}`))).to.equal('invalid_request_uri')
      expect((await record(id))?.use).to.equal(undefined)
    }, OPEN),
  ),
  rowsOf(['prompt=none', 'HEAD', 'no one who is signed in'])('A16', {
    'prompt=none': leftAlone(async ({ browser, authorize }) => {
      expect(errorOf(await authorize(browser, { prompt: 'none' }))).to.equal('consent_required')
      return browser
    }),
    HEAD: leftAlone(async ({ browser, authorize, signedIn }) => {
      const { url } = await authorize(await signedIn())
      const { status, location } = await browser.head(url)
      expect([status, location?.pathname.startsWith('/interaction/')]).to.deep.equal([303, true])
      return browser
    }),
    'no one who is signed in': leftAlone(async ({ browser, authorize, provider }) => {
      const other = browser.clone()
      other.remove(provider.cookieName('session'))
      expect((await authorize(other)).location?.pathname).to.match(/^\/interaction\//)
      expect(isArmed(other)).to.equal(true)
      return browser
    }),
  }),
  ...Object.entries(LAPSES).map(([id, lapses]) => values(id, lapses, refusedFor)),
  rowsOf(['a minute', 'ten minutes'])('A17, after', { 'a minute': tooLate(60), 'ten minutes': tooLate(599) }),
  rowsOf(['in the same session', 'in a new one'])('A17, and a sign-in on the way', {
    'in the same session': signedInOnTheWay(async ({ authorize, issue, arm }, browser) => {
      const interaction = await authorize(browser, { prompt: 'login' })
      await arm(browser, (await issue()).token)
      return interaction
    }, 'signed in after it was armed'),
    'in a new one': signedInOnTheWay(async ({ authorize, issue, arm, sessionOf }, browser) => {
      await arm(browser, (await issue()).token)
      await (await sessionOf(browser)).destroy()
      return authorize(browser)
    }, 'armed by another session'),
  }),
  rowsOf(['at once', 'when the first is too old', 'when they are too old'])('A33', {
    'at once': neitherOpens(0, 0),
    'when the first is too old': neitherOpens(30, 59),
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
  values('A34', NOT_ARMED, (forge) =>
    armed(async (scene) => {
      const { browser, authorize, events, use } = scene
      const { name: own = '', value = '', path } = browser.cookie(ARMED) ?? {}
      const [client, forged, junk] = await forge(scene, own, value)
      browser.remove(own)
      browser.set(forged, junk, path)
      const said = await authorize(browser, { client_id: client })
      expect(said.location?.pathname).to.match(/^\/interaction\//)
      expect(said.headers.getSetCookie().join()).not.to.include('_imp_')
      expect([await use(), events]).to.deep.equal([undefined, []])
    }, OPEN),
  ),
  rowsOf(['behind seven', 'behind eight', 'behind twenty'])('A38', {
    'behind seven': behindJunk(7, true),
    'behind eight': behindJunk(8, false),
    'behind twenty': behindJunk(20, false),
  }),
  values('A35', AGAIN, pressedAgain),
  rule(
    'A35, and not by the same token',
    armed(async ({ browser, arm, authorize, token, use }) => {
      expect((await arm(browser, token)).status).to.equal(200)
      expect(armedCookies(browser)).to.have.length(1)
      expect(errorOf(await authorize(browser))).to.equal(null)
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  ),
  rule(
    'A19, and consent is given',
    armed(async ({ browser, authorize, use }) => {
      expect(errorOf(await authorize(browser, { prompt: 'consent' }))).to.equal(null)
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  ),
  values('A20', GRANTS, ({ asks, issued, scope, given = {} }) =>
    armed(
      async ({ browser, authorize, redeem, userinfo, events, use }) => {
        const { resource } = asks
        const { body, text } = await redeem(await authorize(browser, asks), resource ? { resource } : {})
        expect(body?.scope, text).to.equal(scope)
        expect(body).not.to.have.property('refresh_token')
        const granted = { scope, ...(resource && { resource: [resource] }) }
        expect(await use()).to.deep.include(granted)
        expect(events.at(-1)?.payload).to.deep.include({ scope, resources: resource ? [resource] : [] })
        const shown = resource ? {} : (await userinfo(body.access_token)).body
        expect('email' in shown).to.equal(scope.includes('profile'))
      },
      given,
      issued,
    ),
  ),
  values('A20, and no claim beyond the scope of the record', CEILINGS, ({ scope, brings }) =>
    armed(
      async ({ browser, authorize, redeem, userinfo, use }) => {
        const { body, text } = await redeem(await authorize(browser, ASKED))
        expect(body?.access_token, text).to.be.a('string')
        const shown = (await userinfo(body.access_token)).body
        expect(shown.act).to.deep.equal({ sub: 'bob' })
        const ours = ['sub', 'act', 'read_only']
        expect(Object.keys(shown).filter((name) => !ours.includes(name))).to.have.members(brings)
        const idToken = decodeJwt(body.id_token)
        expect('email' in idToken).to.equal(brings.includes('email'))
        expect(idToken).to.include.keys('auth_time', 'sid', 'act')
        expect((await use())?.scope).to.be.oneOf(['openid profile', 'openid'])
      },
      { configuration: CLAIMED },
      scope === undefined ? {} : { scope },
    ),
  ),
  values('A32', CEILINGS, ({ scope, brings }) =>
    asked({ configuration: CLAIMED }, scope === undefined ? {} : { scope }, ASKED, (questions) =>
      expect(questions.map(({ claims }) => claims)).to.deep.equal([undefined, undefined, brings]),
    ),
  ),
  rule('A21', raced(50)),
  rule('A29', raced(2)),
  values('A21, and a function that fails spends nothing', FAILURES, (given) =>
    armed(async ({ browser, authorize, refusals, use }) => {
      const said = await authorize(browser)
      expect(said.status).to.equal(500)
      expect(String(said.location) + said.text).not.to.include('secret')
      expect(refusals()).to.have.length(1)
      expect(await use()).to.equal(undefined)
    }, given),
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
      expect([Object.isFrozen(seen[0]), impersonationOf({})]).to.deep.equal([true, undefined])
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  ),
  rule(
    'A31',
    asked({}, { context: { ticketId: 'T-1' } }, {}, (questions) => {
      const atDoor = {
        ...{ stage: 'session', use: 'session', userId: 'alice', context: { ticketId: 'T-1' } },
        ...{ client: { id: 'shop' }, createdBy: { id: 'backend' } },
        actor: { sub: 'bob', verified: true, authTime: SIGNED_IN, acr: 'gold' },
      }
      const arriving = { ...atDoor, scope: 'openid profile', resources: [], claims: [] }
      expect(questions.map(({ account: _, ...others }) => others)).to.deep.equal([atDoor, atDoor, arriving])
    }),
  ),
])

/** The request is not taken for an arrival: no one hears of it, and the browser it returns arrives afterwards. */
function leftAlone(sends: (scene: Armed) => Promise<Browser>): Steps {
  return armed(async (scene) => {
    const browser = await sends(scene)
    expect([await scene.use(), scene.events]).to.deep.equal([undefined, []])
    expect(isArmed(browser)).to.equal(true)
    expect(errorOf(await scene.authorize(browser))).to.equal(null)
    expect(await scene.use()).to.include({ clientId: 'shop' })
  })
}

/** What the policy was asked, at the page, at the button and at the arrival. */
function asked(
  given: Given,
  issued: Partial<NewSubjectToken>,
  request: Request,
  expects: (questions: readonly Record<string, unknown>[]) => void,
): Steps {
  return cell(async () => {
    const questions: Record<string, unknown>[] = []
    const isAllowed = (question: object) => questions.push({ ...question }) > 0
    await inScene({ ...given, options: { isAllowed } }, async (scene) => {
      const browser = await scene.signedIn('bob', { acr: 'gold', loginTs: SIGNED_IN })
      const { token, id } = await scene.issue(issued)
      await scene.arm(browser, token)
      expect(errorOf(await scene.authorize(browser, request))).to.equal(null)
      expects(questions)
      expect((await scene.record(id))?.use).to.include({ clientId: 'shop' })
    })
  })
}

/** Arrivals of one token, which all have found it before one of them spends it. */
function raced(count: number): Steps {
  return armed(async ({ browser, authorize, redeem, events, id, record, store }) => {
    const gate = Promise.withResolvers<void>()
    const { find } = store
    let found = 0
    const putBack = replace(store, 'find', async (...given) => {
      const record = await find(...given)
      found += 1
      if (found === count) gate.resolve()
      await gate.promise
      return record
    })
    const answers = await Promise.all(Array.from({ length: count }, () => authorize(browser.clone())))
    putBack()
    const [first, ...others] = answers.filter(({ location }) => location?.searchParams.has('code'))
    expect(others).to.deep.equal([])
    expect(answers.map(errorOf).filter((error) => error === 'access_denied')).to.have.length(count - 1)
    expect((await redeem(first ?? expect.fail())).status).to.equal(200)
    const told = Object.groupBy(events, ({ name }) => name)
    expect(Object.keys(told)).to.have.members(['subject_token.exchanged', 'subject_token.refused'])
    expect(told['subject_token.exchanged']?.map(({ payload }) => payload)).to.have.length(1)
    expect(told['subject_token.exchanged']?.[0]?.payload).to.deep.include({
      ...{ kind: 'session', resources: [], scope: 'openid profile' },
    })
    expect(told['subject_token.refused']).to.have.length(count - 1)
    for (const { payload } of told['subject_token.refused'] ?? [])
      expect(payload).to.include({ stage: 'session' })
    expect(await record(id)).not.to.have.property('replay')
  })
}
