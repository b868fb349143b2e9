/** Sign-ins as the user: the door (docs/protocol.md §10.1–§10.3). */
import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import express from 'express'
import { decodeJwt } from 'jose'
import Koa from 'koa'
import mount from 'koa-mount'
import type { Answer, Browser } from '../../fixtures/browser.ts'
import { now, whileStopped } from '../../fixtures/clock.ts'
import { API } from '../../fixtures/deployment.ts'
import { send } from '../../fixtures/http.ts'
import { whileListening } from '../../fixtures/listening.ts'
import { exchange } from '../../fixtures/requests.ts'
import { UNKNOWN_TOKEN } from '../../fixtures/subject-tokens.ts'
import { AccessDenied } from '../../src/index.ts'
import { readToken } from '../../src/tokens/secret.ts'
import type { NewSubjectToken } from '../../src/tokens/subject-token.ts'
import {
  ARMED,
  armed,
  cell,
  type Given,
  isArmed,
  rule,
  type Scene,
  sealed,
  shop,
  shown,
  unspent,
} from './arriving.ts'
import { declareCells } from './matrix.ts'
import { type Named, rowsOf, type Steps, values } from './rule.ts'
import { OPENABLE } from './sign-in-values.ts'

const REFUSED = 'This cannot be opened'

/** What is brought to the door is refused, and no one hears of it. */
const MALFORMED: Named<(token: string) => Record<string, string> | URLSearchParams> = {
  'no token': () => ({}),
  'a token of the other use': () => ({ subject_token: UNKNOWN_TOKEN }),
  'a token in another spelling': (token) => ({ subject_token: `${token}=` }),
  'the token twice': (token) => new URLSearchParams(`subject_token=${token}&subject_token=${token}`),
  'another member twice': (token) => new URLSearchParams(`subject_token=${token}&a=1&a=2`),
  'a form of more than 16 KiB': (token) => ({ subject_token: token, a: 'x'.repeat(16 * 1024) }),
  'a long target_link_uri': (token) => target(token, 'x'.repeat(2000)),
  'a target_link_uri that is long in bytes': (token) => target(token, 'ü'.repeat(1000)),
}
const target = (token: string, path: string) => ({
  subject_token: token,
  target_link_uri: `https://shop.example.com/${path}`,
})

/** Other requests with a token that are refused. */
const MISPLACED: Named<
  (door: string, token: string, browser: Browser) => Promise<Pick<Answer, 'status' | 'text'>>
> = {
  'in the query': (door, token, browser) => browser.get(`${door}?subject_token=${token}`),
  'in the query, beside a form': (door, token, browser) =>
    browser.post(`${door}?subject_token=${token}`, { subject_token: token }),
  'as JSON': (door, token) =>
    send(door, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ subject_token: token }),
    }),
}

const CALLS: Named<readonly [status: number, (scene: Scene) => Promise<Answer>]> = {
  'POST {door}': [303, async ({ browser, door, issue }) => bring(door, browser(), (await issue()).token)],
  'POST {door}, refused': [400, ({ browser, door }) => browser().post(door, {})],
  'GET {door}': [200, async (scene) => shown(scene, await scene.signedIn(), (await scene.issue()).token)],
  'GET {door}, refused': [403, ({ browser, door }) => browser().get(door)],
  'POST {door}/confirm': [
    200,
    async (scene) => scene.arm(await scene.signedIn(), (await scene.issue()).token),
  ],
  'POST {door}/confirm, refused': [403, ({ browser, door }) => browser().post(`${door}/confirm`, {})],
  'another method': [405, ({ browser, door }) => browser().get(`${door}/confirm`)],
}
const bring = (door: string, browser: Browser, token: string) => browser.post(door, { subject_token: token })

/** Where a host has mounted the routes, whose door is at `/impersonate`. */
const MOUNTS: Named<(impersonation: Scene['impersonation']) => RequestListener> = {
  'handler(), below another path': (impersonation) => express().use('/api', impersonation.handler()),
  'handler() without a prefix, below another path': (impersonation) =>
    express().use('/api', impersonation.handler({ prefix: '' })),
  'router(), below another path': (impersonation) =>
    new Koa().use(mount('/api', impersonation.router().routes() as never)).callback(),
  'router(), mounted at its path': (impersonation) =>
    new Koa().use(mount('/impersonate', impersonation.router().routes() as never)).callback(),
  'handler() for the door, mounted at its path': (impersonation) =>
    express().use('/impersonate', impersonation.handler({ only: 'door' })),
}
const OTHER_PATHS = ['/Impersonate', '/impersonate/', '/impersonate/Confirm', '/api/impersonate']

/** What the page says to bob, and what it does not. */
interface Page {
  readonly given: Given
  readonly says: readonly string[]
  readonly not?: readonly string[]
}
const unnamed = (nameOf: () => never): Page => ({
  given: { sessions: { nameOf } },
  says: ['<bdi>alice</bdi>'],
})
const PAGES: Named<Page> = {
  'in full': {
    given: {
      options: { requiredContext: ['ticketId', 'count'] },
      sessions: {
        nameOf: (ids) => new Map(ids.map((id) => [id, { name: `${id} <b>Smith</b>` }])),
        ttl: 90,
      },
    },
    says: [
      ...['bob &lt;b&gt;Smith&lt;/b&gt;', 'alice &lt;b&gt;Smith', 'The shop', 'after 2 minutes'],
      '<bdi>Ticket id</bdi></dt><dd><bdi>T-7 &amp; more',
      'To say no, close this page.',
    ],
    not: ['not required', '<script', 'cannot be told'],
  },
  'of an application that cannot be told': {
    given: { clients: [shop(OPENABLE.unended)] },
    says: ['cannot be told', 'after 15 minutes'],
  },
  'nameOf throws': unnamed(() => {
    throw new Error('no names')
  }),
  'nameOf returns no Map': unnamed(() => ({ alice: 'Alice' }) as never),
}

/** What is wrong with the token or who shows it, and what operators read. Without a reason, it fails. */
interface Lapse {
  readonly reason?: string
  readonly check?: string
  readonly issued?: Partial<NewSubjectToken>
  /** Who shows it, in place of bob. */
  readonly who?: string
  readonly given?: Given
  /** May return what is shown in place of the token. */
  readonly change?: (scene: Scene, id: string, token: string) => unknown
}
const notOpen = 'the client is not open to sessions'
const gone = 'the user is gone or disabled'
const policy = (isAllowed: () => boolean, reason?: string): Lapse => ({
  given: { options: { isAllowed } },
  check: 'isAllowed',
  ...(reason !== undefined && { reason }),
})
const LAPSES: Named<Lapse> = {
  'the user': { who: 'alice', reason: 'bound to another actor' },
  'someone else': { who: 'carol', reason: 'bound to another actor' },
  expired: { issued: { expiresAt: 1 }, reason: 'expired' },
  stopped: { change: ({ impersonation }, id) => void impersonation.records.stop({ id }), reason: 'revoked' },
  'another secret': {
    change: async ({ issue }, _, token) => token.slice(0, 26) + (await issue()).token.slice(26),
    reason: 'unknown',
  },
  'the other use': { issued: { purpose: 'exchange' }, reason: 'unknown' },
  'a client that is gone': { issued: { clientId: 'gone' }, reason: notOpen },
  'a client that is not open': { issued: { clientId: 'web' }, reason: notOpen },
  'a user who is gone': { issued: { userId: 'nobody' }, reason: gone },
  'an alias of the user': { issued: { userId: 'alias:alice' }, reason: gone },
  'an engineer who is gone': {
    change: ({ accounts }) => accounts.disable('bob'),
    reason: 'the account of the actor is gone or disabled',
  },
  'without what is required': {
    given: { options: { requiredContext: ['ticketId'] } },
    check: 'requiredContext',
    reason: 'context.ticketId is missing or blank',
  },
  'a policy that says no': policy(() => false, 'isAllowed returned false'),
  'a policy that says why': policy(() => {
    throw new AccessDenied('secret: the ticket is closed')
  }, 'secret: the ticket is closed'),
  'a policy that fails': policy(() => {
    throw new Error('secret')
  }),
  'a policy that says nothing': policy(() => undefined as never),
}

/** Where it is checked, each by the request alone. */
const PLACES: Named<(scene: Scene, browser: Browser, token: string) => Promise<Answer>> = {
  'at the page': (scene, browser) => browser.get(scene.door),
  'at the button': async (scene, browser, token) =>
    browser.post(`${scene.door}/confirm`, { sealed: await sealed(scene, browser, 'asked', token) }),
}

const refusedAt = (place: string, lapse: Lapse): Steps =>
  cell(async (scene) => {
    const { given: _, issued, who, change, reason, check } = lapse
    const { token, id } = await scene.issue(issued)
    const browser = await scene.signedIn(who)
    const instead = await change?.(scene, id, token)
    const brought = typeof instead === 'string' ? instead : token
    await bring(scene.door, browser, brought)
    const before = await scene.record(id)
    scene.events.splice(0)
    const page = (await PLACES[place]?.(scene, browser, brought)) ?? expect.fail()
    expect(page.status, page.text).to.equal(reason === undefined ? 500 : 403)
    expect(page.text).not.to.include('secret')
    if (reason !== undefined)
      expect(page.text)
        .to.include(REFUSED)
        .and.to.include(`quote <bdi>${readToken(brought)?.id}</bdi>`)
    expect(scene.events.map(({ name }) => name)).to.deep.equal(['subject_token.refused'])
    expect(scene.events[0]?.payload).to.include({
      stage: 'session',
      ...(reason !== undefined && { reason }),
      ...(check && { check }),
    })
    expect(isArmed(browser)).to.equal(false)
    expect(await scene.record(id)).to.deep.equal(before)
  }, lapse.given)

/** The button as it may not be pressed: by whom, with what in place of what the page sealed, and from where. */
interface Press {
  readonly by?: (scene: Scene) => Browser | Promise<Browser>
  readonly sealed?: (scene: Scene, browser: Browser, token: string, own: string) => string | Promise<string>
  readonly headers?: Record<string, string>
  readonly after?: number
}
/** Outlives all that happens at the door. */
const LASTING = { expiresAt: now() + 7200 }
const PRESSES: Named<Press> = {
  'from another site': { headers: { origin: 'https://desk.example.com' } },
  'from no site': { headers: { origin: 'null' } },
  'across sites, by what the browser says': { headers: { 'sec-fetch-site': 'cross-site' } },
  'from a site beside it': { headers: { 'sec-fetch-site': 'same-site' } },
  'in another browser of the engineer': { by: ({ signedIn }) => signedIn() },
  'by another person': { by: ({ signedIn }) => signedIn('carol') },
  'by no one': { by: ({ browser }) => browser() },
  'without what was sealed': { sealed: () => '' },
  'with what was not sealed': { sealed: () => 'forged' },
  'with what was brought': { sealed: (_, browser) => browser.cookie('_imp_brought')?.value ?? '' },
  'with what would arm the browser': {
    sealed: (scene, browser, token) => sealed(scene, browser, 'armed', token),
  },
  'with more than was sealed': { sealed: (_scene, _browser, _token, own) => `${own}x` },
  'with less than was sealed': { sealed: (_scene, _browser, _token, own) => own.slice(0, -1) },
  'for another application': {
    sealed: (scene, browser, token) => sealed(scene, browser, 'asked', token, { client: 'web' }),
  },
  'too late': { after: 601 },
}
const pressed = ({ by, sealed: other, headers = {}, after = 0 }: Press): Steps =>
  unspent(
    (scene) =>
      whileStopped(async (clock) => {
        const { token } = scene
        const browser = await scene.signedIn()
        const { action, fields } = browser.formOf(await shown(scene, browser, token))
        const presser = (await by?.(scene)) ?? browser
        const instead = await other?.(scene, browser, token, fields.sealed ?? '')
        clock.tick(after)
        const said = await presser.post(action, instead === undefined ? fields : { sealed: instead }, headers)
        expect(said.status).to.equal(403)
        expect(said.text).to.include(REFUSED)
        expect([presser, browser].some(isArmed)).to.equal(false)
        // All else was as it should be.
        clock.setBack(after)
        expect((await browser.post(action, fields)).status).to.equal(200)
      }),
    {},
    LASTING,
  )

const STALE: Named<Record<string, unknown>> = {
  'signed in too long ago': { loginTs: 1, acr: 'gold' },
  'not signed in strongly enough': { acr: 'bronze' },
}
const DEMANDING: Given = {
  sessions: { maxAge: 3600, acrValues: ['gold', 'platinum'] },
  configuration: { acrValues: ['gold', 'platinum'] },
}

/** A page of the application, and whether its sign-in begins with it. */
const TARGETS: Named<readonly [target: string, begins: string | null]> = {
  'of the same origin': ['https://shop.example.com/orders', 'https://shop.example.com/orders'],
  // As this server understood it, where others may read another host.
  'that others may read otherwise': [
    'https://shop.example.com\\@evil.example.com',
    'https://shop.example.com/@evil.example.com',
  ],
  'of another site': ['https://evil.example.com/', null],
  'on another port': ['https://shop.example.com:8443/orders', null],
  'of a name that begins so': ['https://shop.example.com.evil.com/', null],
  'without a scheme': ['//evil.example.com', null],
  'a script': ['javascript:alert(1)', null],
  'a blob': ['blob:https://shop.example.com/1', null],
  'with a name': ['https://someone:secret@shop.example.com/', null],
}
const goesTo = (client: object, target_link_uri: string, expected: (issuer: string) => URL): Steps =>
  unspent(
    async ({ signedIn, issuer, door, token }) => {
      const browser = await signedIn()
      const brought = await browser.post(door, { subject_token: token, target_link_uri })
      const { action, fields } = browser.formOf(await browser.follow(brought))
      const { status, location, text } = await browser.post(action, fields)
      expect([status, location]).to.deep.equal([200, undefined])
      const [, to = ''] = /<meta http-equiv="refresh" content="0;url=([^"]+)"/.exec(text) ?? []
      expect(to.replaceAll('&amp;', '&')).to.equal(expected(issuer).href)
    },
    { clients: [shop(client)] },
  )
const START = 'https://shop.example.com/start?a=1'

/** A used token is shown again. */
const shownAgain = (who: string, place: string, use: (scene: Scene, id: string, token: string) => unknown) =>
  armed(
    async (scene) => {
      const { browser, authorize, redeem, signedIn, token, id, events } = scene
      const { body } = await redeem(await authorize(browser))
      events.splice(0)
      const other = await signedIn(who)
      await bring(scene.door, other, token)
      const { status } = (await PLACES[place]?.(scene as never, other, token)) ?? expect.fail()
      expect(status).to.equal(403)
      await use(scene as never, id, token)
      expect((await scene.userinfo(body.access_token)).status).to.equal(who === 'bob' ? 200 : 401)
    },
    { options: { replayLeeway: 60 } },
  )

declareCells('A, the door', [
  rowsOf(['at the token endpoint', 'at the door'])('A1', {
    'at the token endpoint': cell(async (scene) => {
      const { token, id } = await scene.issue()
      const { status, body } = await exchange(scene, { subject_token: token })
      expect([status, body.error_description]).to.deep.equal([400, 'subject_token is invalid'])
      expect(scene.refusals()).to.deep.equal(['malformed'])
      expect(await scene.record(id)).not.to.have.any.keys('use', 'replay')
    }),
    'at the door': cell(async (scene) => {
      const issued = { userId: 'alice', createdBy: 'test' }
      const { subjectToken, id } = await scene.impersonation.records.issue(issued)
      expect((await shown(scene, await scene.signedIn(), subjectToken)).status).to.equal(400)
      expect(await scene.record(id)).not.to.have.any.keys('use', 'replay')
    }),
  }),
  rule(
    'A4',
    unspent(async ({ token, id, browser: open, door, database, events }) => {
      const browser = open()
      const { length } = database.statements
      const from = { origin: 'https://desk.example.com', 'sec-fetch-site': 'cross-site' }
      const { status, location } = await browser.post(door, { subject_token: token }, from)
      expect([status, location?.href]).to.deep.equal([303, door])
      const { value = '', attributes = [] } = browser.cookie('_imp_brought') ?? {}
      expect(attributes).to.include.members(['path=/impersonate', 'httponly', 'samesite=lax'])
      expect(value).not.to.include(id)
      expect(() => decodeJwt(value)).to.throw()
      expect(database.statements).to.have.length(length)
      expect(events).to.deep.equal([])
    }),
  ),
  values('A4, and opens the page', { 'for 600 seconds': [599, 200], 'and no longer': [600, 403] }, (given) =>
    unspent(
      (scene) =>
        whileStopped(async (clock) => {
          const [seconds = 0, status] = given
          const browser = await scene.signedIn()
          await bring(scene.door, browser, scene.token)
          const { name = '', value = '', path } = browser.cookie('_imp_brought') ?? {}
          clock.tick(seconds)
          // Whatever the browser drops.
          browser.set(name, value, path)
          expect((await browser.get(scene.door)).status).to.equal(status)
          expect(scene.events).to.deep.equal([])
        }),
      {},
      LASTING,
    ),
  ),
  values('A5, the page', PAGES, ({ given, says, not = [] }) =>
    unspent(
      async (scene) => {
        const { token } = scene
        const { status, text } = await shown(scene, await scene.signedIn(), token)
        expect(status).to.equal(200)
        for (const one of says) expect(text).to.include(one)
        for (const one of [...not, token]) expect(text).not.to.include(one)
        expect(text.match(/<button/g)).to.have.length(1)
        expect(scene.events).to.deep.equal([])
      },
      given,
      { context: { ticketId: 'T-7 & more', count: 3, hidden: 'not required' } },
    ),
  ),
  values(
    'A5, the sign-in before it',
    {
      usual: {},
      // The door's own client is none of these.
      'where requests have a default resource and must be pushed': {
        configuration: {
          clientDefaults: {
            id_token_signed_response_alg: 'ES256',
            require_pushed_authorization_requests: true,
          },
          features: {
            pushedAuthorizationRequests: { enabled: true },
            resourceIndicators: { enabled: true, defaultResource: () => API },
          },
        },
      } satisfies Given,
    },
    (given) =>
      unspent(async (scene) => {
        const browser = scene.browser()
        const { token } = scene
        const ask = await browser.get((await bring(scene.door, browser, token)).location ?? '')
        expect(ask.status).to.equal(303)
        expect(Object.fromEntries(ask.location?.searchParams ?? [])).to.deep.equal({
          ...{ client_id: 'impersonation-door', response_type: 'none', scope: 'openid' },
          ...{ redirect_uri: scene.door, state: 'signed-in', max_age: '43200' },
        })
        const page = await browser.follow(ask)
        expect(page.status, page.text).to.equal(200)
        expect(page.text).to.include('Open as')
        const { pathname, searchParams } = new URL(page.url)
        expect([pathname, searchParams.get('code')]).to.deep.equal(['/impersonate', null])
      }, given),
  ),
  rule(
    'A5, and a sign-in that is given up',
    unspent(async (scene) => {
      scene.signingIn = undefined
      const page = await shown(scene, scene.browser(), scene.token)
      expect(page.status).to.equal(403)
      expect(page.text).to.include(REFUSED)
    }),
  ),
  rule(
    'A6',
    armed(async ({ browser, id, events, use }) => {
      const { attributes, value, expires = 0 } = browser.cookie(ARMED) ?? expect.fail()
      expect(attributes).to.include.members(['path=/oidc/auth', 'httponly', 'samesite=lax'])
      expect(expires - Date.now()).to.be.within(590_000, 600_000)
      expect(value).not.to.include(id)
      expect(browser.cookie('_imp_brought')).to.equal(undefined)
      expect([await use(), events]).to.deep.equal([undefined, []])
    }),
  ),
  values('A7', MALFORMED, (fields) =>
    unspent(async ({ browser: open, door, token, events }) => {
      const browser = open()
      const { status, text } = await browser.post(door, fields(token))
      expect(status).to.equal(400)
      expect(text).to.include(REFUSED)
      expect([browser.cookies, events]).to.deep.equal([[], []])
    }),
  ),
  values('A7, a token', MISPLACED, (sends) =>
    unspent(async ({ door, browser: open, events, token }) => {
      const browser = open()
      const { status, text } = await sends(door, token, browser)
      expect(status).to.equal(400)
      expect(text).not.to.include(token)
      expect([browser.cookies, events]).to.deep.equal([[], []])
    }),
  ),
  values('A36', MOUNTS, (listener, name) =>
    unspent(async ({ impersonation, browser, token }) => {
      const [path, expected] = name.includes('below') ? ['/api/impersonate', 404] : ['/impersonate', 303]
      const { status } = await whileListening(listener(impersonation), (baseUrl) =>
        bring(baseUrl + path, browser(), token),
      )
      expect(status).to.equal(expected)
    }),
  ),
  rule(
    'A36, and at no other path',
    unspent(async ({ browser, baseUrl, token }) => {
      for (const path of OTHER_PATHS)
        expect((await bring(baseUrl + path, browser(), token)).status, path).to.equal(404)
    }),
  ),
  values(
    'A36, and by no other method',
    { '{door}': ['PUT', '', 'GET, HEAD, POST'], '{door}/confirm': ['GET', '/confirm', 'POST'] },
    ([method = '', path = '', allowed]) =>
      unspent(async ({ door }) => {
        const { status, headers } = await fetch(door + path, { method })
        expect([status, headers.get('allow')]).to.deep.equal([405, allowed])
      }),
  ),
  values('A8', CALLS, ([status, call]) =>
    unspent(async (scene) => {
      const said = await call(scene)
      expect(said.status).to.equal(status)
      expect(Object.fromEntries(said.headers)).to.include({
        ...{ 'cache-control': 'no-store', 'referrer-policy': 'same-origin', 'x-frame-options': 'DENY' },
        'cross-origin-opener-policy': 'same-origin',
      })
      const rules = (said.headers.get('content-security-policy') ?? '').split(/; ?/)
      expect(rules).to.include.members([
        ...["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"],
      ])
      expect(rules.join()).to.match(/style-src 'sha256-/)
      expect(rules.join()).not.to.include('script-src')
    }),
  ),
  values('A9', PRESSES, pressed),
  rule(
    'A9, of the page that was shown, whatever was brought since',
    cell(async (scene) => {
      const browser = await scene.signedIn()
      const [first, second] = [await scene.issue(), await scene.issue()]
      const { action, fields } = browser.formOf(await shown(scene, browser, first.token))
      await shown(scene, browser, second.token)
      await browser.post(action, fields)
      await scene.authorize(browser)
      expect((await scene.record(first.id))?.use).to.include({ clientId: 'shop' })
      expect((await scene.record(second.id))?.use).to.equal(undefined)
    }),
  ),
  ...Object.keys(PLACES).map((place) => values(`A10, ${place}`, LAPSES, (lapse) => refusedAt(place, lapse))),
  values('A11, and now as it must be', STALE, (session) =>
    unspent(async (scene) => {
      scene.signingIn = { accountId: 'bob', acr: 'platinum' }
      const browser = await scene.signedIn('bob', session)
      const ask = await browser.get((await bring(scene.door, browser, scene.token)).location ?? '')
      const asked = { prompt: 'login', max_age: '3600', acr_values: 'gold platinum' }
      expect(Object.fromEntries(ask.location?.searchParams ?? [])).to.include(asked)
      const page = await browser.follow(ask)
      expect(page.status, page.text).to.equal(200)
    }, DEMANDING),
  ),
  values('A11, and still so', STALE, (session) =>
    unspent(async (scene) => {
      scene.signingIn = { accountId: 'bob', acr: 'bronze' }
      expect((await shown(scene, await scene.signedIn('bob', session), scene.token)).status).to.equal(403)
    }, DEMANDING),
  ),
  rule(
    'A11, at the button',
    unspent(
      (scene) =>
        whileStopped(async (clock) => {
          const browser = await scene.signedIn('bob', { acr: 'gold', loginTs: now() - 3500 })
          const { action, fields } = browser.formOf(await shown(scene, browser, scene.token))
          clock.tick(200)
          expect((await browser.post(action, fields)).status).to.equal(403)
        }),
      DEMANDING,
    ),
  ),
  ...Object.keys(PLACES).flatMap((place) => [
    rule(
      `A12, ${place}, its own engineer`,
      shownAgain('bob', place, async (scene, id) => {
        expect(await scene.record(id)).not.to.have.any.keys('replay', 'revokedAt')
        expect(scene.refusals()).to.deep.equal(['consumed'])
      }),
    ),
    rule(
      `A12, ${place}, another account`,
      shownAgain('carol', place, async (scene, id, token) => {
        const { replay, revocation, use } = (await scene.record(id)) ?? {}
        expect(replay).to.have.all.keys('at', 'by')
        expect([replay?.by, revocation, use?.clientId]).to.deep.equal(['carol', { cause: 'replay' }, 'shop'])
        const [replayed, ...others] = scene.eventsOf('subject_token.replayed')
        expect(others).to.deep.equal([])
        expect(replayed).to.include({ id, by: 'carol', usedBy: 'shop', ended: 'now' })
        expect(replayed).not.to.have.any.keys('sameClient', 'clientId')
        // Beside it, and whenever it comes, what became of telling the application.
        const told = ['subject_token.replayed', 'session.ended', 'session.logout_failed']
        expect(told).to.include.members(scene.events.map(({ name }) => name))
        await shown(scene, await scene.signedIn('dave'), token)
        expect((await scene.record(id))?.replay).to.include({ by: 'carol' })
        expect(scene.eventsOf('subject_token.replayed').at(-1)).to.include({ by: 'dave', ended: 'before' })
        await whileStopped(async (clock) => {
          clock.tick(86_400)
          await shown(scene, await scene.signedIn('dave'), token)
        })
        expect(scene.eventsOf('subject_token.replayed').at(-1)).to.include({ by: 'dave', ended: 'expired' })
      }),
    ),
  ]),
  rule(
    'A13, to the registered address',
    goesTo({}, 'https://shop.example.com/orders', () => new URL('https://shop.example.com/sign-in')),
  ),
  values('A13, with a page', TARGETS, ([page, begins]) =>
    goesTo({ impersonation_sessions: true, initiate_login_uri: START }, page, (iss) => {
      const start = new URL(START)
      start.searchParams.set('iss', iss)
      if (begins !== null) start.searchParams.set('target_link_uri', begins)
      return start
    }),
  ),
  rule(
    'A14',
    armed(async ({ browser, token, authorize, redeem, events, id, use, door }) => {
      const { text } = await browser.get(door)
      const arrived = await authorize(browser)
      const { text: tokens } = await redeem(arrived)
      const told = [JSON.stringify(events), JSON.stringify(browser.cookies)]
      const all = [text, String(arrived.location), tokens, ...told]
      expect(all.filter((one) => one.includes(token.slice(4)))).to.deep.equal([])
      expect(JSON.stringify(browser.cookies.map(({ value }) => value))).not.to.include(id)
      expect(await use()).to.include({ clientId: 'shop' })
    }),
  ),
])
