/** An authorization request of an armed browser (protocol.md §10.4): for the user, or an error; never for the engineer. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Browser } from '../../fixtures/browser.ts'
import { storedModels } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API } from '../../fixtures/deployment.ts'
import { send } from '../../fixtures/http.ts'
import { AccessDenied, impersonationOf } from '../../src/index.ts'
import { armedCookie, sealOf } from '../../src/sessions/seal.ts'
import { hashToken } from '../../src/subject-tokens/secret.ts'
import { StoreFailure } from '../../src/subject-tokens/store.ts'
import { createMemoryStore } from '../../src/testing/index.ts'
import { CALLBACK, type Scene, shop, startScene } from '../spec/arriving.ts'

const FEATURES = {
  pushedAuthorizationRequests: { enabled: true },
  claimsParameter: { enabled: true },
  richAuthorizationRequests: {
    enabled: true,
    types: { payment: { validate: () => {} } },
  },
} as never

const another = shop({ client_id: 'portal', client_secret: 'portal-secret', client_name: 'Portal' })
const open = {
  responseTypes: ['code', 'code id_token', 'none'] as never,
  acrValues: ['gold'],
  features: FEATURES,
}

const errorOf = ({ location }: { location: URL | undefined }) =>
  location?.searchParams.get('error') ?? new URLSearchParams(location?.hash.slice(1)).get('error')

describe('an arrival', () => {
  let scene: Scene
  before(async () => {
    scene = await startScene({
      clients: [
        shop({
          response_types: ['code', 'code id_token', 'none'],
          grant_types: ['authorization_code', 'implicit'],
          authorization_details_types: ['payment'],
        }),
        another,
      ],
      configuration: open,
    })
  })
  afterEach(() => {
    scene.events.splice(0)
    scene.errors.splice(0)
  })
  after(() => scene.close())

  const armed = async (changes = {}, session: Record<string, unknown> = {}) => {
    const browser = await scene.signedIn('bob', session)
    const issued = await scene.issue(changes)
    const answer = await scene.arm(browser, issued.token)
    expect(answer.status, answer.text).to.equal(200)
    return { browser, ...issued }
  }
  const unspent = async (id: string) => expect((await scene.record(id))?.use).to.equal(undefined)
  const armedOf = (browser: Browser) => browser.cookie(/^_imp_[0-9a-f]{16}_[0-9a-f]{32}$/)

  it('is answered for the user once: every other request is of the engineer', async () => {
    const { browser } = await armed()
    const answer = await scene.authorize(browser)
    const tokens = await scene.redeem(answer)
    expect(decodeJwt(tokens.body.id_token).sub).to.equal('alice')
    expect(armedOf(browser)).to.equal(undefined)
    // No consent of the engineer: asked for it, or for nothing at all, but not answered for the user.
    const changed: Record<string, string>[] = [{}, { prompt: 'none' }, { client_id: 'portal' }]
    for (const changes of changed) {
      const next = await scene.authorize(browser, changes)
      expect(next.location?.searchParams.get('code'), JSON.stringify(changes)).to.equal(null)
    }
  })

  it('leaves the session of the engineer alone: no cookie of it, no write', async () => {
    const { browser } = await armed()
    const name = scene.provider.cookieName('session')
    const before = browser.cookie(name)?.value
    const answer = await scene.authorize(browser)
    const set = answer.headers.getSetCookie()
    expect(set).to.have.length(2)
    expect(set[0]).to.match(/^_imp_[0-9a-f]{16}_[0-9a-f]{32}=;.*expires=Thu, 01 Jan 1970/)
    expect(set[1]).to.match(/^_imp_[0-9a-f]{16}_door=; path=\/impersonate; expires=Thu, 01 Jan 1970/)
    expect(browser.cookie(name)?.value).to.equal(before)
  })

  interface Refused {
    readonly arm?: { changes?: object; session?: Record<string, unknown> }
    readonly spoil?: (browser: Browser, id: string) => Promise<Browser | undefined> | Browser | undefined
    readonly request?: Record<string, string | null>
    readonly error?: string
    readonly reason?: string
  }
  const refused: Record<string, Refused> = {
    'a cookie in another browser of the same engineer': {
      async spoil(browser) {
        const other = await scene.signedIn()
        const cookie = armedOf(browser)
        other.set(cookie?.name ?? '', cookie?.value ?? '', cookie?.path)
        return other
      },
      reason: 'armed by another session',
    },
    'a cookie in the browser of another person': {
      async spoil(browser) {
        const other = await scene.signedIn('carol')
        const cookie = armedOf(browser)
        other.set(cookie?.name ?? '', cookie?.value ?? '', cookie?.path)
        return other
      },
      reason: 'armed by another session',
    },
    'a token that was stopped': {
      async spoil(_browser, id) {
        await scene.impersonation.records.stop({ id })
        return undefined
      },
      reason: 'revoked',
    },
    'a response type with more than the code': {
      request: { response_type: 'code id_token' },
      reason: 'the response type is not code',
    },
    'the response type none': { request: { response_type: 'none' }, reason: 'the response type is not code' },
    authorization_details: {
      request: { authorization_details: '[{"type":"payment"}]', resource: API },
      reason: 'authorization_details were requested',
    },
    'prompt=login': {
      request: { prompt: 'login' },
      error: 'login_required',
      reason: 'the user cannot be asked to sign in',
    },
    'prompt=login consent': {
      request: { prompt: 'login consent' },
      error: 'login_required',
      reason: 'the user cannot be asked to sign in',
    },
    'an essential acr, also if the engineer has it': {
      arm: { session: { acr: 'gold' } },
      request: { claims: '{"id_token":{"acr":{"essential":true,"values":["gold"]}}}' },
      error: 'login_required',
    },
    'the sub of another': {
      request: { claims: '{"id_token":{"sub":{"value":"bob"}}}' },
      error: 'login_required',
    },
    'a max_age that the engineer has passed': { request: { max_age: '5' }, error: 'login_required' },
  }
  for (const [what, { arm = {}, spoil, request = {}, error = 'access_denied', reason }] of Object.entries(
    refused,
  )) {
    it(`with ${what} is ${error}; nothing is spent, the cookie is taken away`, async () => {
      const { browser, id } = await armed(arm.changes, arm.session)
      const sender = (await spoil?.(browser, id)) ?? browser
      scene.events.splice(0)
      const answer = await scene.authorize(sender, request)
      expect(answer.status, answer.text).to.equal(303)
      expect(answer.location?.origin).to.equal('https://shop.example.com')
      expect(errorOf(answer)).to.equal(error)
      const description = answer.location?.searchParams.get('error_description') ?? ''
      if (error === 'access_denied' && answer.location?.hash === '')
        expect(description).to.equal('the impersonation was refused')
      expect(String(answer.location)).not.to.match(/code=|id_token=/)
      await unspent(id)
      expect(armedOf(sender)).to.equal(undefined)
      expect(scene.events.map(({ name }) => name)).to.deep.equal(['subject_token.refused'])
      expect(scene.events[0]?.payload).to.include({ stage: 'session', error })
      if (reason) expect(scene.refusals()).to.deep.equal([reason])
    })
  }

  it('with prompt=none is left alone, and does not disarm', async () => {
    const { browser, id } = await armed()
    const silent = await scene.authorize(browser, { prompt: 'none' })
    expect(errorOf(silent)).to.equal('consent_required')
    await unspent(id)
    expect(scene.events).to.deep.equal([])
    const answer = await scene.authorize(browser)
    expect(errorOf(answer)).to.equal(null)
  })

  it('with prompt=consent is answered: the administrator and the button have given it', async () => {
    const { browser } = await armed()
    const answer = await scene.authorize(browser, { prompt: 'consent', scope: 'openid offline_access' })
    expect(errorOf(answer)).to.equal(null)
    const { body } = await scene.redeem(answer)
    expect(body).not.to.have.property('refresh_token')
    expect(body.scope).to.equal('openid')
  })

  it('after a new sign-in is refused, and never answered for the engineer', async () => {
    const { browser, id } = await armed()
    const session = await scene.provider.Session.find(
      browser.cookie(scene.provider.cookieName('session'))?.value ?? '',
    )
    await session?.destroy()
    scene.signingIn = { accountId: 'bob' }
    const interaction = await scene.authorize(browser)
    const answer = await browser.follow(interaction)
    expect(errorOf(answer)).to.equal('access_denied')
    expect(answer.location?.searchParams.get('code')).to.equal(null)
    expect(armedOf(browser)).to.equal(undefined)
    await unspent(id)
  })

  it('without the session of the engineer leads to the sign-in, as ever', async () => {
    const { browser, id } = await armed()
    browser.remove(scene.provider.cookieName('session'))
    const answer = await scene.authorize(browser)
    expect(answer.location?.pathname).to.match(/^\/interaction\//)
    await unspent(id)
  })

  it('by a pushed request is answered once', async () => {
    const push = async () => {
      const body = new URLSearchParams({
        ...{ client_id: 'shop', client_secret: 'shop-secret' },
        ...{ response_type: 'code', scope: 'openid', redirect_uri: CALLBACK },
        ...{ code_challenge: createHash('sha256').update('v'.repeat(43)).digest('base64url') },
        code_challenge_method: 'S256',
      })
      body.delete('client_secret')
      const headers = { authorization: `Basic ${Buffer.from('shop:shop-secret').toString('base64')}` }
      const { body: pushed, text } = await send(`${scene.issuer}/request`, { method: 'POST', headers, body })
      expect(pushed, text).to.have.property('request_uri')
      return pushed.request_uri as string
    }
    const { browser, id } = await armed()
    const request_uri = await push()
    const answer = await browser.get(
      `${scene.issuer}/auth?${new URLSearchParams({ client_id: 'shop', request_uri })}`,
    )
    expect(errorOf(answer), answer.text).to.equal(null)
    expect((await scene.record(id))?.use).not.to.equal(undefined)
    const second = await armed()
    const again = await second.browser.get(
      `${scene.issuer}/auth?${new URLSearchParams({ client_id: 'shop', request_uri })}`,
    )
    expect(errorOf(again) ?? String(again.status)).to.match(/invalid_request_uri|400/)
    await unspent(second.id)
  })

  it('of two applications at the same time opens both', async () => {
    const browser = await scene.signedIn()
    const one = await scene.issue()
    const other = await scene.issue({ clientId: 'portal' })
    await scene.arm(browser, one.token)
    await scene.arm(browser, other.token)
    for (const [client, record] of [
      ['portal', other],
      ['shop', one],
    ] as const) {
      const answer = await scene.authorize(browser, { client_id: client })
      expect(errorOf(answer)).to.equal(null)
      expect((await scene.record(record.id))?.use?.clientId).to.equal(client)
    }
  })

  it('is known to listeners from its acceptance on', async () => {
    const { browser, id } = await armed()
    const seen: unknown[] = []
    const note = (ctx: object) => void seen.push(impersonationOf(ctx))
    scene.provider.on('authorization.success', note)
    scene.provider.on('grant.success', note)
    try {
      const answer = await scene.authorize(browser)
      await scene.redeem(answer)
      const expected = { id, userId: 'alice', actor: { sub: 'bob' }, clientId: 'shop' }
      expect(seen).to.deep.equal([expected, expected])
      expect(Object.isFrozen(seen[0])).to.equal(true)
    } finally {
      scene.provider.off('authorization.success', note)
      scene.provider.off('grant.success', note)
    }
    expect(impersonationOf({})).to.equal(undefined)
  })
})

describe('arrivals of one token', () => {
  it('are one of any number, if all were found before one was spent: the others are refused', async () => {
    const store = createMemoryStore()
    const gate = Promise.withResolvers<void>()
    let found = 0
    let isRacing = false
    const scene = await startScene({
      options: {
        store: {
          ...store,
          find: async (...given) => {
            const record = await store.find(...given)
            if (!isRacing) return record
            found += 1
            if (found === 50) gate.resolve()
            await gate.promise
            return record
          },
        },
      },
    })
    try {
      const browser = await scene.signedIn()
      const { token, id } = await scene.issue()
      await scene.arm(browser, token)
      isRacing = true
      const answers = await Promise.all(Array.from({ length: 50 }, () => scene.authorize(browser.clone())))
      isRacing = false
      const codes = answers.filter(({ location }) => location?.searchParams.has('code'))
      const denied = answers.filter((answer) => errorOf(answer) === 'access_denied')
      expect([codes.length, denied.length]).to.deep.equal([1, 49])
      expect((await scene.redeem(codes[0] as never)).status).to.equal(200)
      const names = scene.events.map(({ name }) => name)
      expect(names.filter((name) => name === 'subject_token.exchanged')).to.have.length(1)
      expect(names.filter((name) => name === 'subject_token.refused')).to.have.length(49)
      expect(await scene.record(id)).not.to.have.property('replay')
    } finally {
      await scene.close()
    }
  })
})

describe('what has changed since the browser was armed', () => {
  const arriving = async (
    given: Parameters<typeof startScene>[0],
    change: (scene: Scene, browser: Browser) => Promise<void> | void,
    reason: string,
  ) => {
    const scene = await startScene(given)
    try {
      const browser = await scene.signedIn()
      const { token, id } = await scene.issue()
      await scene.arm(browser, token)
      await change(scene, browser)
      expect(errorOf(await scene.authorize(browser))).to.equal('access_denied')
      expect(scene.refusals()).to.deep.equal([reason])
      expect((await scene.record(id))?.use).to.equal(undefined)
    } finally {
      await scene.close()
    }
  }

  it('refuses where the account of the engineer or of the user is gone', async () => {
    await arriving(
      {},
      ({ accounts }) => accounts.disable('bob'),
      'the account of the actor is gone or disabled',
    )
    await arriving({}, ({ accounts }) => accounts.disable('alice'), 'the user is gone or disabled')
  })

  it('refuses where the client is no longer open to sessions', async () => {
    const models = storedModels([shop({ client_id: 'shop' })])
    await arriving(
      { clients: [], configuration: { adapter: models.adapter as never } },
      () => models.register(shop({ impersonation_sessions: undefined })),
      'the client is not open to sessions',
    )
  })

  it('refuses where the engineer has signed in again meanwhile, in the same session', async () => {
    const scene = await startScene()
    try {
      const loginTs = now() - 10
      const browser = await scene.signedIn('bob', { loginTs })
      // In the second of the first sign-in, so that the way here alone tells.
      scene.signingIn = { accountId: 'bob', ts: loginTs }
      const { token, id } = await scene.issue()
      const interaction = await scene.authorize(browser, { prompt: 'login' })
      await scene.arm(browser, token)
      const answer = await browser.follow(interaction)
      expect(errorOf(answer)).to.equal('access_denied')
      expect(scene.refusals()).to.deep.equal(['signed in after it was armed'])
      expect((await scene.record(id))?.use).to.equal(undefined)
    } finally {
      await scene.close()
    }
  })

  /** What the keys could have sealed, and the door never does. */
  const sealed: Record<string, [reason: string, issued: object, content: object]> = {
    'with the hash of another token': ['unknown', {}, { hash: hashToken('another' as never) }],
    'for a token of another purpose': ['unknown', { purpose: 'exchange' }, {}],
    'for a token of another client': ['bound to another client', { clientId: 'portal' }, {}],
    'for a token of another actor': ['bound to another actor', { actorId: 'carol' }, {}],
    'for an alias': ['the user is gone or disabled', { userId: 'alias:alice' }, {}],
  }
  for (const [what, [reason, issued, content]] of Object.entries(sealed)) {
    it(`refuses what was sealed ${what}`, async () => {
      const scene = await startScene()
      try {
        const browser = await scene.signedIn()
        const { token, id } = await scene.issue(issued)
        const cookie = browser.cookie(scene.provider.cookieName('session'))?.value ?? ''
        const { uid, loginTs } = (await scene.provider.Session.find(cookie)) as unknown as {
          uid: string
          loginTs: number
        }
        const seal = sealOf(scene.issuer, { cookies: { keys: ['a key of the tests'] } })
        const hash = hashToken(token as never)
        const armed = { id, hash, client: 'shop', session: uid, loginTs, ...content }
        browser.set(armedCookie('shop', id), await seal.seal('armed', armed, 60), '/oidc/auth')
        expect(errorOf(await scene.authorize(browser))).to.equal('access_denied')
        expect(scene.refusals()).to.deep.equal([reason])
        expect((await scene.record(id))?.use).to.equal(undefined)
      } finally {
        await scene.close()
      }
    })
  }

  it('is a 500 that spends nothing if ttl fails', async () => {
    const scene = await startScene({
      configuration: {
        ttl: {
          AuthorizationCode: () => {
            throw new Error('no ttl')
          },
        },
      },
    })
    try {
      const browser = await scene.signedIn()
      const { token, id } = await scene.issue()
      await scene.arm(browser, token)
      expect((await scene.authorize(browser)).status).to.equal(500)
      expect((await scene.record(id))?.use).to.equal(undefined)
    } finally {
      await scene.close()
    }
  })
})

describe('a headless session', () => {
  it('is not found by its cookie: not by the application, the door, or a page of the host', async () => {
    const found: unknown[] = []
    const scene = await startScene({
      before: [
        async (ctx, next) => {
          if (ctx.path !== '/page') return next()
          const session = await scene.provider.Session.get(ctx as never)
          found.push(session.accountId)
          ctx.status = 204
        },
      ],
    })
    try {
      const engineer = await scene.signedIn()
      const { token, id } = await scene.issue()
      await scene.arm(engineer, token)
      await scene.authorize(engineer)
      const headless = await scene.provider.Session.findByUid(`imp_${id}`)
      expect(headless?.accountId).to.equal('alice')
      const browser = scene.browser()
      browser.setSigned(scene.provider.cookieName('session'), headless?.jti ?? '', 'a key of the tests')
      const silent = await scene.authorize(browser, { prompt: 'none' })
      expect(errorOf(silent)).to.equal('login_required')
      await browser.get(`${scene.baseUrl}/page`)
      expect(found).to.deep.equal([undefined])
      scene.signingIn = undefined
      const next = await scene.issue({ actorId: 'alice', userId: 'carol' })
      const page = await browser.follow(await browser.post(scene.door, { subject_token: next.token }))
      expect(page.status).to.equal(403)
    } finally {
      await scene.close()
    }
  })
})

describe('what an arrival is granted', () => {
  const opened = async (
    given: Parameters<typeof startScene>[0],
    request: Record<string, string | null>,
    changes: object = {},
    use: (
      scene: Scene,
      granted: Awaited<ReturnType<Scene['redeem']>>,
      id: string,
    ) => Promise<void> | void = () => {},
    redeeming: Record<string, string | null> = {},
  ) => {
    const scene = await startScene(given)
    try {
      const browser = await scene.signedIn()
      const { token, id } = await scene.issue(changes)
      await scene.arm(browser, token)
      const answer = await scene.authorize(browser, request)
      expect(errorOf(answer), String(answer.location)).to.equal(null)
      await use(scene, await scene.redeem(answer, redeeming), id)
    } finally {
      await scene.close()
    }
  }

  it('is what was asked for within the ceiling, and openid', () =>
    opened({}, { scope: 'openid profile' }, { scope: 'other' }, async (scene, { body }, id) => {
      expect(body.scope).to.equal('openid')
      expect((await scene.record(id))?.use?.scope).to.equal('openid')
      expect((await scene.userinfo(body.access_token)).body).not.to.have.property('email')
    }))

  it('is for the resource that was asked for, within the ceiling and the scope of the client', () =>
    opened(
      {
        clients: [shop({ scope: 'openid orders:read' })],
        configuration: { scopes: ['openid', 'orders:read'] },
      },
      { scope: 'openid orders:read orders:write', resource: API },
      { scope: 'orders:read orders:write' },
      async (scene, { body, text }, id) => {
        expect(body?.scope, text).to.equal('openid orders:read')
        const record = await scene.record(id)
        expect(record?.use).to.deep.include({ resource: [API], scope: 'openid orders:read' })
        expect(scene.events[0]?.payload).to.deep.include({
          kind: 'session',
          resources: [API],
          scope: 'openid orders:read',
        })
      },
      { resource: API },
    ))

  it('is denied by the policy at the arrival, which knows scopes and resources', async () => {
    const policies: Record<string, [error: string | null, () => boolean]> = {
      false: ['access_denied', () => false],
      AccessDenied: [
        'access_denied',
        () => {
          throw new AccessDenied('secret reason')
        },
      ],
      'an error': [
        null,
        () => {
          throw new Error('secret reason')
        },
      ],
    }
    for (const [what, [error, deny]] of Object.entries(policies)) {
      const scene = await startScene({
        options: { isAllowed: (request) => !('resources' in request) || deny() },
      })
      try {
        const browser = await scene.signedIn()
        const { token, id } = await scene.issue()
        await scene.arm(browser, token)
        const answer = await scene.authorize(browser)
        if (error) {
          expect(errorOf(answer), what).to.equal(error)
          expect(answer.location?.searchParams.get('error_description')).to.equal(
            'the impersonation was refused',
          )
        } else expect(answer.status, what).to.equal(500)
        expect(String(answer.location) + answer.text).not.to.include('secret')
        expect((await scene.record(id))?.use).to.equal(undefined)
        expect(scene.refusals()).to.have.length(1)
      } finally {
        await scene.close()
      }
    }
  })
})

describe('storage at an arrival', () => {
  const failing = async (method: 'find' | 'consume', failure: Error) => {
    const store = createMemoryStore()
    let fails = false
    const scene = await startScene({
      options: {
        store: {
          ...store,
          find: async (...given) => {
            if (fails && method === 'find') throw failure
            return store.find(...given)
          },
          consume: async (...given) => {
            if (fails && method === 'consume') throw failure
            return store.consume(...given)
          },
        },
      },
    })
    try {
      const browser = await scene.signedIn()
      const { token, id } = await scene.issue()
      await scene.arm(browser, token)
      fails = true
      const answer = await scene.authorize(browser)
      fails = false
      const headless = await scene.provider.Session.findByUid(`imp_${id}`)
      return { answer, headless, refusals: scene.refusals() }
    } finally {
      await scene.close()
    }
  }

  it('that is down is temporarily_unavailable', async () => {
    const { answer, headless } = await failing('find', new Error('down'))
    expect(errorOf(answer)).to.equal('temporarily_unavailable')
    expect(headless).to.equal(undefined)
  })

  it('that does not say whether it has spent the token lets no one in', async () => {
    const { answer, headless, refusals } = await failing('consume', new StoreFailure('lost'))
    expect(errorOf(answer)).to.equal('temporarily_unavailable')
    expect(answer.location?.searchParams.get('error_description')).to.equal('request a new subject token')
    expect(headless).to.equal(undefined)
    expect(refusals[0]).to.include('unknown')
  })
})
