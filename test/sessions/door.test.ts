/** The door (protocol.md §10.3): three requests, before anything is spent. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Browser } from '../../fixtures/browser.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { API } from '../../fixtures/deployment.ts'
import { UNKNOWN_TOKEN } from '../../fixtures/subject-tokens.ts'
import { AccessDenied } from '../../src/index.ts'
import { sealOf } from '../../src/sessions/seal.ts'
import { hashToken, readToken } from '../../src/subject-tokens/secret.ts'
import { type Scene, shop, startScene } from '../spec/arriving.ts'

const REFUSED = 'This cannot be opened'

/** A scene for the tests of a suite. */
function sceneOf(given?: Parameters<typeof startScene>[0]): { readonly scene: Scene } {
  const held: { scene?: Scene } = {}
  before(async () => {
    held.scene = await startScene(given)
  })
  afterEach(() => {
    held.scene?.events.splice(0)
    held.scene?.errors.splice(0)
  })
  after(() => held.scene?.close())
  return {
    get scene() {
      if (!held.scene) throw new Error('not started')
      return held.scene
    },
  }
}

const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
}

function expectHeaders(headers: Headers): void {
  for (const [name, value] of Object.entries(HEADERS)) expect(headers.get(name), name).to.equal(value)
  const policy = headers.get('content-security-policy') ?? ''
  for (const rule of [
    "default-src 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ])
    expect(policy).to.include(rule)
  expect(policy).to.match(/style-src 'sha256-/)
  expect(policy).not.to.include('script-src')
}

describe('a token that is brought to the door', () => {
  const held = sceneOf()

  it('is taken from any site, and leaves the page at once', async () => {
    const { scene } = held
    const browser = scene.browser()
    const { token, id } = await scene.issue()
    const { length } = scene.database.statements
    const answer = await browser.post(
      scene.door,
      { subject_token: token },
      { origin: 'https://desk.example.com', 'sec-fetch-site': 'cross-site' },
    )
    expect(answer.status).to.equal(303)
    expect(answer.location?.href).to.equal(scene.door)
    expectHeaders(answer.headers)
    const cookie = browser.cookie('_imp_brought')
    expect(cookie?.attributes).to.include.members(['path=/impersonate', 'httponly', 'samesite=lax'])
    expect(cookie?.attributes.some((one) => /^expires=/.test(one))).to.equal(true)
    expect(cookie?.value).not.to.include(id)
    expect(() => decodeJwt(cookie?.value ?? '')).to.throw()
    expect(scene.database.statements).to.have.length(length)
    expect(scene.events).to.deep.equal([])
  })

  const malformed: Record<string, (token: string) => URLSearchParams> = {
    'no token': () => new URLSearchParams(),
    'a token of another door': () => new URLSearchParams({ subject_token: UNKNOWN_TOKEN }),
    'a token in another spelling': (token) => new URLSearchParams({ subject_token: `${token}=` }),
    'the token twice': (token) => new URLSearchParams(`subject_token=${token}&subject_token=${token}`),
    'another member twice': (token) => new URLSearchParams(`subject_token=${token}&other=1&other=2`),
    'a page that is too long': (token) =>
      new URLSearchParams({
        subject_token: token,
        target_link_uri: `https://shop.example.com/${'x'.repeat(2000)}`,
      }),
    'a page that is too long in bytes': (token) =>
      new URLSearchParams({
        subject_token: token,
        target_link_uri: `https://shop.example.com/${'ü'.repeat(1000)}`,
      }),
    'a form that is too large': (token) =>
      new URLSearchParams({ subject_token: token, other: 'x'.repeat(16 * 1024) }),
  }
  for (const [what, fields] of Object.entries(malformed)) {
    it(`is refused with ${what}, without an event`, async () => {
      const { scene } = held
      const browser = scene.browser()
      const { token } = await scene.issue()
      const answer = await browser.post(scene.door, fields(token))
      expect(answer.status).to.equal(400)
      expect(answer.text).to.include(REFUSED)
      expectHeaders(answer.headers)
      expect(browser.cookies).to.deep.equal([])
      expect(scene.events).to.deep.equal([])
    })
  }

  it('is refused in the query, also beside a form', async () => {
    const { scene } = held
    const { token } = await scene.issue()
    const browser = scene.browser()
    for (const answer of [
      await browser.get(`${scene.door}?subject_token=${token}`),
      await browser.post(`${scene.door}?subject_token=${token}`, { subject_token: token }),
    ]) {
      expect(answer.status).to.equal(400)
      expect(answer.text).not.to.include(token)
    }
  })

  it('is refused as JSON', async () => {
    const { scene } = held
    const { token } = await scene.issue()
    const response = await fetch(scene.door, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ subject_token: token }),
    })
    expect(response.status).to.equal(400)
  })

  it('is served at exactly its path, by these methods', async () => {
    const { scene } = held
    for (const path of ['/Impersonate', '/impersonate/', '/impersonate/Confirm', '/api/impersonate'])
      expect((await fetch(scene.baseUrl + path)).status, path).to.equal(404)
    const put = await fetch(scene.door, { method: 'PUT' })
    expect(put.status).to.equal(405)
    expect(put.headers.get('allow')).to.equal('GET, HEAD, POST')
    const get = await fetch(`${scene.door}/confirm`)
    expect(get.status).to.equal(405)
    expect(get.headers.get('allow')).to.equal('POST')
    expectHeaders(get.headers)
  })
})

describe('the page of the door', () => {
  const held = sceneOf({
    options: { requiredContext: ['ticketId', 'count'] },
    sessions: {
      nameOf: (ids) => new Map(ids.map((id) => [id, { name: `${id} <b>Smith</b>` }])),
      ttl: 90,
    },
  })

  it('says who acts, as whom, where, for how long and why, and has one button', async () => {
    const { scene } = held
    const browser = await scene.signedIn()
    const { token } = await scene.issue({
      context: { ticketId: 'T-7 & more', count: 3, hidden: 'not required' },
    })
    const answer = await browser.follow(await browser.post(scene.door, { subject_token: token }))
    expect(answer.status).to.equal(200)
    expectHeaders(answer.headers)
    for (const text of [
      'bob &lt;b&gt;Smith&lt;/b&gt;',
      'alice &lt;b&gt;Smith',
      'The shop',
      'after 2 minutes',
      '<bdi>Ticket id</bdi></dt><dd><bdi>T-7 &amp; more',
      'To say no, close this page.',
    ])
      expect(answer.text).to.include(text)
    expect(answer.text).not.to.include('not required')
    expect(answer.text.match(/<button/g)).to.have.length(1)
    expect(answer.text).not.to.include('<script')
    expect(answer.text).not.to.include(token)
    expect(answer.text).not.to.include('cannot be told')
    expect(scene.events).to.deep.equal([])
  })

  it('says when the application cannot be told of the end', async () => {
    const unended = await startScene({
      clients: [
        shop({
          backchannel_logout_uri: undefined,
          backchannel_logout_session_required: undefined,
          impersonation_sessions_unended: true,
        }),
      ],
    })
    try {
      const browser = await unended.signedIn()
      const { token, id } = await unended.issue()
      const page = await browser.follow(await browser.post(unended.door, { subject_token: token }))
      expect(page.text).to.include('cannot be told')
      await unended.arm(browser, token)
      await unended.authorize(browser)
      expect((await unended.record(id))?.use?.session).to.deep.equal({ logout: 'unsupported' })
    } finally {
      await unended.close()
    }
  })

  for (const [what, nameOf] of Object.entries({
    throws: () => {
      throw new Error('no names')
    },
    'returns no Map': () => ({ alice: 'Alice' }) as never,
  })) {
    it(`shows ids if nameOf ${what}`, async () => {
      const scene = await startScene({ sessions: { nameOf } })
      try {
        const browser = await scene.signedIn()
        const { token } = await scene.issue()
        const page = await browser.follow(await browser.post(scene.door, { subject_token: token }))
        expect(page.status).to.equal(200)
        expect(page.text).to.include('<bdi>alice</bdi>')
      } finally {
        await scene.close()
      }
    })
  }
})

describe('who is at the door', () => {
  const held = sceneOf()
  const bring = async (browser: Browser, token: string) =>
    browser.post(held.scene.door, { subject_token: token })

  it('signs in at the provider first, which issues nothing, and comes back', async () => {
    const { scene } = held
    scene.signingIn = { accountId: 'bob' }
    const browser = scene.browser()
    const { token } = await scene.issue()
    const ask = await browser.get((await bring(browser, token)).location ?? '')
    expect(ask.status).to.equal(303)
    expect(Object.fromEntries(ask.location?.searchParams ?? [])).to.deep.equal({
      client_id: 'impersonation-door',
      response_type: 'none',
      scope: 'openid',
      redirect_uri: scene.door,
      state: 'signed-in',
      max_age: '43200',
    })
    const page = await browser.follow(ask)
    expect(page.status, page.text).to.equal(200)
    expect(new URL(page.url).pathname).to.equal('/impersonate')
    expect(page.text).to.include('Open as')
    expect(new URL(page.url).searchParams.get('code')).to.equal(null)
  })

  it('signs in also where every request has a default resource, and clients must push their requests', async () => {
    const scene = await startScene({
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
    })
    try {
      const browser = scene.browser()
      const { token } = await scene.issue()
      const page = await browser.follow(await browser.post(scene.door, { subject_token: token }))
      expect(page.status, page.text).to.equal(200)
    } finally {
      await scene.close()
    }
  })

  it('is refused after a sign-in that did not take place', async () => {
    const { scene } = held
    scene.signingIn = undefined
    const browser = scene.browser()
    const { token } = await scene.issue()
    const page = await browser.follow(await bring(browser, token))
    expect(page.status).to.equal(403)
    expect(page.text).to.include(REFUSED)
    scene.signingIn = { accountId: 'bob' }
  })

  it('is refused as the user of the token, and as anyone but its actor; nothing is spent', async () => {
    const { scene } = held
    for (const accountId of ['alice', 'carol']) {
      const browser = await scene.signedIn(accountId)
      const { token, id } = await scene.issue()
      const page = await browser.follow(await bring(browser, token))
      expect(page.status, accountId).to.equal(403)
      expect((await scene.record(id))?.use).to.equal(undefined)
    }
    expect(scene.refusals()).to.deep.equal(['bound to another actor', 'bound to another actor'])
  })

  const wrong: Record<string, [reason: string, prepare: (scene: Scene) => Promise<string>]> = {
    'has expired': ['expired', async (scene) => (await scene.issue({ expiresAt: 1 })).token],
    'was stopped': [
      'revoked',
      async (scene) => {
        const { token, id } = await scene.issue()
        await scene.impersonation.records.stop({ id })
        return token
      },
    ],
    'has another secret': [
      'unknown',
      async (scene) => {
        const [{ token }, { token: other }] = [await scene.issue(), await scene.issue()]
        return token.slice(0, 26) + other.slice(26)
      },
    ],
    'is of a client that is gone': [
      'the client is not open to sessions',
      async (scene) => (await scene.issue({ clientId: 'gone' })).token,
    ],
    'is of a client that is not open': [
      'the client is not open to sessions',
      async (scene) => (await scene.issue({ clientId: 'web' })).token,
    ],
    'is of a user who is gone': [
      'the user is gone or disabled',
      async (scene) => (await scene.issue({ userId: 'nobody' })).token,
    ],
    'is of an alias': [
      'the user is gone or disabled',
      async (scene) => (await scene.issue({ userId: 'alias:alice' })).token,
    ],
    'is of a purpose that is not this one': [
      'unknown',
      async (scene) => (await scene.issue({ purpose: 'exchange' })).token,
    ],
  }
  for (const [what, [reason, prepare]] of Object.entries(wrong)) {
    it(`is refused with a token that ${what}`, async () => {
      const { scene } = held
      const browser = await scene.signedIn()
      const token = await prepare(scene)
      scene.events.splice(0)
      const page = await browser.follow(await bring(browser, token))
      expect(page.status).to.equal(403)
      expect(page.text)
        .to.include(REFUSED)
        .and.to.include(`quote <bdi>${readToken(token)?.id}</bdi>`)
      expectHeaders(page.headers)
      expect(scene.refusals()).to.deep.equal([reason])
      expect(scene.eventsOf('subject_token.refused').at(-1)).to.include({ stage: 'session' })
    })
  }

  it('is refused without what was brought, and with what was brought too long ago', async () => {
    const { scene } = held
    const browser = await scene.signedIn()
    expect((await browser.get(scene.door)).status).to.equal(403)
    const clock = stopClock()
    try {
      const { token } = await scene.issue()
      await bring(browser, token)
      clock.tick(601)
      expect((await browser.get(scene.door)).status).to.equal(403)
    } finally {
      clock.restore()
    }
    expect(scene.events).to.deep.equal([])
  })
})

describe('how the engineer has signed in', () => {
  const held = sceneOf({
    sessions: { maxAge: 3600, acrValues: ['gold', 'platinum'] },
    configuration: { acrValues: ['gold', 'platinum'] },
  })
  const now = () => Math.floor(Date.now() / 1000)

  const stale: Record<string, Record<string, unknown>> = {
    'too long ago': { loginTs: 1, acr: 'gold' },
    'not strongly enough': { acr: 'bronze' },
  }
  for (const [how, session] of Object.entries(stale)) {
    it(`${how} leads to the sign-in once, with prompt=login, and back`, async () => {
      const { scene } = held
      scene.signingIn = { accountId: 'bob', acr: 'platinum' }
      const browser = await scene.signedIn('bob', session)
      const { token } = await scene.issue()
      const ask = await browser.get((await browser.post(scene.door, { subject_token: token })).location ?? '')
      expect(Object.fromEntries(ask.location?.searchParams ?? [])).to.include({
        prompt: 'login',
        max_age: '3600',
        acr_values: 'gold platinum',
      })
      const page = await browser.follow(ask)
      expect(page.status, page.text).to.equal(200)
    })

    it(`${how}, and again so, is refused: there is no second sign-in`, async () => {
      const { scene } = held
      scene.signingIn = { accountId: 'bob', acr: 'bronze' }
      const browser = await scene.signedIn('bob', session)
      const { token } = await scene.issue()
      const page = await browser.follow(await browser.post(scene.door, { subject_token: token }))
      expect(page.status).to.equal(403)
    })
  }

  it('is looked at again at the button', async () => {
    const { scene } = held
    const browser = await scene.signedIn('bob', { acr: 'gold', loginTs: now() - 3500 })
    const { token } = await scene.issue()
    const page = await browser.follow(await browser.post(scene.door, { subject_token: token }))
    const { action, fields } = browser.formOf(page)
    const clock = stopClock(Date.now() + 200_000)
    try {
      expect((await browser.post(action, fields)).status).to.equal(403)
    } finally {
      clock.restore()
    }
  })

  it('passes the sign-in to the policy', async () => {
    const asked: unknown[] = []
    const scene = await startScene({
      options: {
        isAllowed: ({ stage, actor, ...rest }) => {
          asked.push({ stage, actor, scope: rest.scope, resources: Reflect.get(rest, 'resources') })
          return true
        },
      },
    })
    try {
      const loginTs = now() - 5
      const browser = await scene.signedIn('bob', { acr: 'gold', loginTs })
      const { token } = await scene.issue()
      await scene.arm(browser, token)
      await scene.authorize(browser)
      const actor = { sub: 'bob', verified: true, authTime: loginTs, acr: 'gold' }
      const atDoor = { stage: 'session', actor, scope: undefined, resources: undefined }
      expect(asked).to.deep.equal([atDoor, atDoor, { ...atDoor, scope: 'openid profile', resources: [] }])
    } finally {
      await scene.close()
    }
  })
})

describe('the button of the door', () => {
  const held = sceneOf()

  it('arms the browser for one client, for a minute', async () => {
    const { scene } = held
    const browser = await scene.signedIn()
    const { token, id } = await scene.issue()
    const answer = await scene.arm(browser, token)
    expect(answer.status).to.equal(200)
    expect(answer.location).to.equal(undefined)
    expectHeaders(answer.headers)
    expect(answer.text).to.include(
      '<meta http-equiv="refresh" content="0;url=https://shop.example.com/sign-in">',
    )
    const cookie = browser.cookie(/^_imp_[0-9a-f]{16}_[0-9a-f]{32}$/)
    expect(cookie?.attributes).to.include.members(['path=/oidc/auth', 'httponly', 'samesite=lax'])
    expect(browser.cookie('_imp_brought')).to.equal(undefined)
    expect(cookie?.value).not.to.include(id)
    expect((await scene.record(id))?.use).to.equal(undefined)
    expect(scene.events).to.deep.equal([])
  })

  const asked = async (browser: Browser, token: string) => {
    const page = await browser.follow(await browser.post(held.scene.door, { subject_token: token }))
    return browser.formOf(page)
  }

  it('is refused from another site, and from none', async () => {
    const { scene } = held
    const browser = await scene.signedIn()
    const { action, fields } = await asked(browser, (await scene.issue()).token)
    const sites: Record<string, string>[] = [
      { origin: 'https://desk.example.com' },
      { origin: 'null' },
      { origin: scene.baseUrl, 'sec-fetch-site': 'cross-site' },
      { origin: scene.baseUrl, 'sec-fetch-site': 'same-site' },
    ]
    for (const headers of sites)
      expect((await browser.post(action, fields, headers)).status, JSON.stringify(headers)).to.equal(403)
    expect(browser.cookie(/^_imp_[0-9a-f]{16}_[0-9a-f]{32}$/)).to.equal(undefined)
    expect((await browser.post(action, fields)).status).to.equal(200)
  })

  it('is refused without what the page sealed, and with what was sealed for something else', async () => {
    const { scene } = held
    const browser = await scene.signedIn()
    const { token } = await scene.issue()
    const { action, fields } = await asked(browser, token)
    const brought = browser.cookie('_imp_brought')?.value ?? ''
    for (const sealed of [
      '',
      'forged',
      brought,
      `${fields.sealed}x`,
      (fields.sealed ?? '').replace(/.$/, ''),
    ])
      expect((await browser.post(action, { sealed })).status).to.equal(403)
    expect((await browser.post(action, {})).status).to.equal(403)
  })

  it('is refused in another browser of the same engineer, and for another account', async () => {
    const { scene } = held
    const browser = await scene.signedIn()
    const { action, fields } = await asked(browser, (await scene.issue()).token)
    expect((await (await scene.signedIn()).post(action, fields)).status).to.equal(403)
    expect((await (await scene.signedIn('carol')).post(action, fields)).status).to.equal(403)
    expect((await scene.browser().post(action, fields)).status).to.equal(403)
  })

  it('opens what its own page has asked, whatever was brought since', async () => {
    const { scene } = held
    const browser = await scene.signedIn()
    const first = await scene.issue()
    const second = await scene.issue()
    const { action, fields } = await asked(browser, first.token)
    await asked(browser, second.token)
    await browser.post(action, fields)
    await scene.authorize(browser)
    expect((await scene.record(first.id))?.use).not.to.equal(undefined)
    expect((await scene.record(second.id))?.use).to.equal(undefined)
  })

  it('is refused for a token of another application than the page has named', async () => {
    const { scene } = held
    const browser = await scene.signedIn()
    const { token, id } = await scene.issue()
    const cookie = browser.cookie(scene.provider.cookieName('session'))?.value ?? ''
    const { uid } = (await scene.provider.Session.find(cookie)) as unknown as { uid: string }
    const seal = sealOf(scene.issuer, { cookies: { keys: ['a key of the tests'] } })
    const content = { id, hash: hashToken(token as never), client: 'web', session: uid }
    const answer = await browser.post(`${scene.door}/confirm`, {
      sealed: await seal.seal('asked', content, 60),
    })
    expect(answer.status).to.equal(403)
  })

  it('is refused too late', async () => {
    const { scene } = held
    const clock = stopClock()
    try {
      const browser = await scene.signedIn()
      const { action, fields } = await asked(browser, (await scene.issue()).token)
      clock.tick(601)
      expect((await browser.post(action, fields)).status).to.equal(403)
    } finally {
      clock.restore()
    }
  })
})

describe('where the browser goes', () => {
  const start = async (target: string | undefined, client = {}) => {
    const scene = await startScene({ clients: [shop(client)] })
    try {
      const browser = await scene.signedIn()
      const { token } = await scene.issue()
      const page = await browser.follow(
        await browser.post(scene.door, { subject_token: token, ...(target && { target_link_uri: target }) }),
      )
      const { action, fields } = browser.formOf(page)
      const { text } = await browser.post(action, fields)
      const [, to = ''] = /content="0;url=([^"]+)"/.exec(text) ?? []
      return new URL(to.replaceAll('&amp;', '&'))
    } finally {
      await scene.close()
    }
  }
  const byItself = { impersonation_sessions: true, initiate_login_uri: 'https://shop.example.com/start?a=1' }

  it('is initiate_login_uri with the issuer, and with a page of the same origin', async () => {
    const to = await start('https://shop.example.com/orders', byItself)
    expect(to.origin + to.pathname).to.equal('https://shop.example.com/start')
    expect(to.searchParams.get('a')).to.equal('1')
    expect(to.searchParams.get('iss')).to.match(/^http:.*\/oidc$/)
    expect(to.searchParams.get('target_link_uri')).to.equal('https://shop.example.com/orders')
  })

  for (const target of [
    'https://evil.example.com/',
    'https://shop.example.com.evil.com/',
    '//evil.example.com',
    'javascript:alert(1)',
    'blob:https://shop.example.com/1',
    'https://someone:secret@shop.example.com/',
  ]) {
    it(`is not ${target}`, async () => {
      const to = await start(target, byItself)
      expect(to.searchParams.get('target_link_uri')).to.equal(null)
    })
  }

  it('is passed on as this server understood it, where others may read another host', async () => {
    const to = await start('https://shop.example.com\\@evil.example.com', byItself)
    expect(to.searchParams.get('target_link_uri')).to.equal('https://shop.example.com/@evil.example.com')
  })

  it('is the address that the administrator registered, as it is', async () => {
    expect((await start('https://shop.example.com/orders')).href).to.equal('https://shop.example.com/sign-in')
  })
})

describe('a token that was used', () => {
  const held = sceneOf()
  const used = async () => {
    const { scene } = held
    const browser = await scene.signedIn()
    const issued = await scene.issue()
    await scene.arm(browser, issued.token)
    const answer = await scene.authorize(browser)
    scene.events.splice(0)
    return { ...issued, browser, answer }
  }
  const show = async (browser: Browser, token: string) =>
    browser.follow(await browser.post(held.scene.door, { subject_token: token }))

  it('is refused to its own engineer, and ends nothing', async () => {
    const { scene } = held
    const { browser, token, id, answer } = await used()
    expect((await show(browser, token)).status).to.equal(403)
    expect(await scene.record(id)).not.to.have.any.keys('replay', 'revokedAt')
    expect(scene.refusals()).to.deep.equal(['consumed'])
    expect((await scene.redeem(answer)).status).to.equal(200)
  })

  it('is a replay when another account shows it, and ends the session', async () => {
    const { scene } = held
    const { token, id, answer } = await used()
    const tokens = await scene.redeem(answer)
    const { status } = await show(await scene.signedIn('carol'), token)
    expect(status).to.equal(403)
    const record = await scene.record(id)
    expect(record?.replay).to.include({ by: 'carol' })
    expect(record?.replay).not.to.have.property('clientId')
    expect(record?.revocation).to.deep.equal({ cause: 'replay' })
    const [replayed, ...others] = scene.eventsOf('subject_token.replayed')
    expect(others).to.deep.equal([])
    expect(replayed).to.include({ id, by: 'carol', usedBy: 'shop', ended: 'now' })
    expect(replayed).not.to.have.any.keys('sameClient', 'clientId')
    // Beside it, and whenever it comes, what became of telling the application.
    const told = ['subject_token.replayed', 'session.ended', 'session.logout_failed']
    expect(told).to.include.members(scene.events.map(({ name }) => name))
    expect((await scene.userinfo(tokens.body.access_token)).status).to.equal(401)
    await show(await scene.signedIn('dave'), token)
    expect((await scene.record(id))?.replay).to.include({ by: 'carol' })
    expect(scene.eventsOf('subject_token.replayed').at(-1)).to.include({ by: 'dave', ended: 'before' })
  })

  it('is a replay at the button, too', async () => {
    const { scene } = held
    const { token, id } = await used()
    const carol = await scene.signedIn('carol')
    const session = await carolsSession(carol)
    const seal = sealOf(scene.issuer, { cookies: { keys: ['a key of the tests'] } })
    const content = { id, hash: hashToken(token as never), client: 'shop', session: session.uid }
    const { status } = await carol.post(`${scene.door}/confirm`, {
      sealed: await seal.seal('asked', content, 60),
    })
    expect(status).to.equal(403)
    expect((await scene.record(id))?.replay).to.include({ by: 'carol' })
  })

  async function carolsSession(browser: Browser) {
    const { provider } = held.scene
    const session = await provider.Session.find(browser.cookie(provider.cookieName('session'))?.value ?? '')
    if (!session) throw new Error('no session')
    return session as unknown as { uid: string }
  }
})

describe('the policy at the door', () => {
  const answers: Record<string, [status: number, () => boolean]> = {
    false: [403, () => false],
    AccessDenied: [
      403,
      () => {
        throw new AccessDenied('the ticket is closed')
      },
    ],
    'an error': [
      500,
      () => {
        throw new Error('secret text')
      },
    ],
    nothing: [500, () => undefined as never],
  }
  for (const [what, [status, isAllowed]] of Object.entries(answers)) {
    it(`responds ${status} to ${what}`, async () => {
      const scene = await startScene({ options: { isAllowed } })
      try {
        const browser = await scene.signedIn()
        const { token, id } = await scene.issue()
        const page = await browser.follow(await browser.post(scene.door, { subject_token: token }))
        expect(page.status).to.equal(status)
        expect(page.text).not.to.match(/secret|ticket/)
        expect((await scene.record(id))?.use).to.equal(undefined)
        expect(scene.events).to.have.length(1)
      } finally {
        await scene.close()
      }
    })
  }

  it('comes after requiredContext, which may have changed since', async () => {
    const scene = await startScene({ options: { requiredContext: ['ticketId'] } })
    try {
      const browser = await scene.signedIn()
      const { token } = await scene.issue()
      const page = await browser.follow(await browser.post(scene.door, { subject_token: token }))
      expect(page.status).to.equal(403)
      expect(scene.events[0]?.payload).to.include({ check: 'requiredContext' })
    } finally {
      await scene.close()
    }
  })
})
