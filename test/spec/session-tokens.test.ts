/** Sign-ins as the user: the session and its tokens (docs/protocol.md §10.5). */
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import type { ClientMetadata } from 'oidc-provider'
import { type Answer, Browser } from '../../fixtures/browser.ts'
import { now, whileStopped } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { exchange, introspect } from '../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/base/constants.ts'
import {
  type Armed,
  armed,
  errorOf,
  type Given,
  KEY,
  PAIRWISE,
  rule,
  type Scene,
  shop,
  shown,
} from './arriving.ts'
import { declareCells } from './matrix.ts'
import { type Named, type Rule, rowsOf, type Steps, values } from './rule.ts'
import { OPENABLE } from './sign-in-values.ts'

/** What the application asks for, and so which access token it gets. */
const FORMS: Named<Record<string, string>> = {
  'for no API': {},
  'a JWT': { resource: API, scope: 'openid orders:read' },
  'an opaque token': { resource: OPAQUE_API, scope: 'openid orders:read' },
}

/** The application has redeemed the code. */
interface Redeemed extends Armed {
  readonly arrival: Answer
  readonly body: HttpResponse['body']
}
const redeemed = (
  use: (scene: Redeemed) => Promise<void> | void,
  given: Given = {},
  request: Record<string, string> = {},
): Steps =>
  armed(
    async (scene) => {
      const arrival = await scene.authorize(scene.browser, request)
      const { resource } = request
      const { status, body, text } = await scene.redeem(arrival, resource ? { resource } : {})
      expect(status, text).to.equal(200)
      await use(Object.assign(scene, { arrival, body }))
      expect(await scene.use()).to.deep.include({
        ...{ clientId: 'shop', actor: { sub: 'bob' } },
        ...(resource && { resource: [resource] }),
      })
      expect(scene.errors).to.deep.equal([])
    },
    given,
    { context: { ticketId: 'T-7' } },
  )
/** The same for each kind of access token. */
const inEachForm = (title: string, steps: (request: Record<string, string>) => Steps): Rule =>
  values(title, FORMS, steps)

/** Everything that tells the application and APIs who the user is. */
async function told(scene: Redeemed): Promise<Named<JWTPayload>> {
  const { access_token: accessToken, id_token: idToken } = scene.body
  const { status, body, text } = await scene.userinfo(accessToken)
  return {
    'ID token': decodeJwt(idToken),
    ...(accessToken.includes('.')
      ? { JWT: decodeJwt(accessToken) }
      : { introspection: await introspect(scene, accessToken) }),
    ...(status === 200 && { userinfo: body ?? decodeJwt(text) }),
  }
}
async function tellsOf(scene: Redeemed, people: object): Promise<void> {
  const all = await told(scene)
  expect(Object.keys(all)).to.have.length(scene.body.scope.includes('orders') ? 2 : 3)
  for (const [where, claims] of Object.entries(all)) {
    expect(claims, where).to.deep.include(people)
    expect(claims, where).not.to.have.any.keys('acr', 'amr', 'cnf')
  }
}

const PEOPLE = { sub: 'alice', act: { sub: 'bob' } }
const CLIENTS: Named<readonly [given: Given, people: object]> = {
  public: [{}, PEOPLE],
  pairwise: [
    {
      clients: [shop({ subject_type: 'pairwise', userinfo_signed_response_alg: 'ES256' })],
      configuration: {
        ...PAIRWISE,
        features: { jwtUserinfo: { enabled: true } },
      },
    },
    { sub: 'alice@shop', act: { sub: 'bob@shop' } },
  ],
}

/** Lives that a deployment wants, and refresh tokens. */
const LASTING: Given = {
  sessions: { ttl: 60 },
  clients: [shop({ grant_types: ['authorization_code', 'refresh_token'] })],
  configuration: {
    ttl: { AccessToken: 3600, IdToken: () => 3600, AuthorizationCode: 3600 },
    issueRefreshToken: () => true,
    expiresWithSession: () => false,
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
/** At the door, the provider looks at an account more than once: it is another one afterwards. */
const accounts = (accountOf: (accountId: string) => object): Given => ({
  configuration: {
    acrValues: ['gold'],
    findAccount: async (_ctx: unknown, accountId: string, source?: object) => {
      const account = { accountId, claims: async () => ({ sub: accountId }) }
      return source ? (accountOf(accountId) as typeof account) : account
    },
  },
})
const customizer = (
  jwt: (ctx: unknown, token: object, jwt: { header: object; payload: object }) => void,
): Given => ({
  configuration: { formats: { customizers: { jwt } } as never },
})

class Claims {
  readonly act = { sub: 'carol' }
  readonly acr = 'gold'
  readonly tenant = 'north'
}
/** Functions of the deployment that change what they are given, or answer twice. */
const MEDDLERS: Named<Given> = {
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
          allowedPolicy: (_ctx: unknown, _client: unknown, token: { extra?: object }) => {
            Object.assign(Object(token.extra), { act: { sub: 'ghost' }, status: undefined })
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
  'extraTokenClaims, of a class': { configuration: { extraTokenClaims: () => new Claims() as never } },
  'an account that rejects': accounts((accountId) => ({
    accountId,
    async claims(_use: string, _scope: string, requested: Record<string, unknown>, rejected: string[]) {
      rejected.push('act', 'sid')
      for (const name of Object.keys(requested)) delete requested[name]
      return { sub: 'root', act: { sub: 'ghost' }, sid: 'ghost' }
    },
  })),
  'an account that is frozen': accounts((accountId) =>
    Object.freeze({ accountId, claims: async () => ({ sub: accountId }) }),
  ),
  'an account whose claims are of a class': accounts((accountId) => ({
    accountId,
    claims: async () => new Claims(),
  })),
  'an account whose claims inherit nothing': accounts((accountId) => ({
    accountId,
    claims: async () => Object.assign(Object.create(null), { act: 'none' }),
  })),
  'an account that has another name the second time': accounts((accountId) => {
    const names = [accountId]
    return {
      get accountId() {
        return names.pop() ?? 'carol'
      },
      claims: async () => ({ sub: accountId }),
    }
  }),
  'an account without claims': accounts((accountId) => ({ accountId, claims: async () => undefined })),
}

const RESERVED = {
  ...{ act: { sub: 'carol' }, sub: 'carol', status: 'none', sid: 'x', cnf: {}, acr: 'gold' },
  ...{ kept: 'yes', tier: 'none' },
}

/** How a session has ended by the time of a request. */
const ENDS: Named<(scene: Armed) => unknown> = {
  'it was stopped': ({ impersonation, id }) => impersonation.records.stop({ id }),
  'only the record says that it was stopped': ({ store, issuer, id }) =>
    store.revoke(issuer, id, now(), { cause: 'command' }),
  'it has expired': () => undefined,
}
const endedBy = (name: string, use: (scene: Armed, end: () => Promise<void>) => Promise<void>): Steps =>
  armed(
    (scene) =>
      whileStopped((clock) =>
        use(scene, async () => {
          await ENDS[name]?.(scene)
          if (name === 'it has expired') clock.tick(60)
        }),
      ),
    { sessions: { ttl: 60 } },
  )

const ORDERS: ClientMetadata = {
  client_id: 'orders',
  client_secret: 'orders-secret',
  redirect_uris: [],
  response_types: [],
  grant_types: [TOKEN_EXCHANGE],
  token_exchange_audiences: [OPAQUE_API],
  token_exchange_resources: [API],
}
const CHAINED: Given = {
  clients: [shop({ subject_type: 'pairwise' }), ORDERS],
  configuration: PAIRWISE,
}
/** Alice acts for carol with the token of the session. */
const acting = (maxDelegationDepth: number, use: (said: HttpResponse) => void): Steps =>
  redeemed(
    async (scene) => {
      const issued = { userId: 'carol', createdBy: 'test' }
      const { subjectToken } = await scene.impersonation.records.issue(issued)
      const actor = { actor_token: scene.body.access_token, actor_token_type: ACCESS_TOKEN_TYPE }
      use(await exchange(scene, { subject_token: subjectToken, ...actor }))
    },
    { ...CHAINED, options: { maxDelegationDepth } },
    FORMS['an opaque token'],
  )

/** A page of the host that looks who is signed in. */
const host: { provider?: Scene['provider']; found: unknown[] } = { found: [] }
const HOST_PAGE: Given = {
  before: [
    async (ctx, next) => {
      if (ctx.path !== '/page') return next()
      host.found.push((await host.provider?.Session.get(ctx as never))?.accountId)
      ctx.status = 204
    },
  ],
}

const NEXT: Named<Record<string, string>> = {
  'of the same client': {},
  silent: { prompt: 'none' },
  'of another client': { client_id: 'portal' },
}

declareCells('A, tokens', [
  values('A22, and the next request of the browser is the own one of the engineer', NEXT, (changes) =>
    armed(
      async ({ browser, authorize, redeem, provider, id, use }) => {
        const arrival = await authorize(browser)
        const session = await provider.Session.findByUid(`imp_${id}`)
        expect(session?.accountId).to.equal('alice')
        expect(arrival.headers.getSetCookie().join()).not.to.include(session?.jti)
        expect((await redeem(arrival)).status).to.equal(200)
        // No consent of the engineer: asked for it, or for nothing at all.
        const next = await authorize(browser, changes)
        expect(next.location?.searchParams.get('code')).to.equal(null)
        expect(await use()).to.include({ clientId: 'shop' })
      },
      { clients: [shop(), shop({ client_id: 'portal', client_secret: 'portal-secret' })] },
    ),
  ),
  rule(
    'A22, and no cookie finds the session',
    redeemed(async (scene) => {
      const { provider, id, authorize, baseUrl, issue } = scene
      const { jti = '' } = (await provider.Session.findByUid(`imp_${id}`)) ?? {}
      const thief = new Browser()
      thief.setSigned(provider.cookieName('session'), jti, KEY)
      expect(errorOf(await authorize(thief, { prompt: 'none' }))).to.equal('login_required')
      Object.assign(host, { provider })
      await thief.get(`${baseUrl}/page`)
      expect(host.found).to.deep.equal([undefined])
      scene.signingIn = undefined
      const { token } = await issue({ actorId: 'alice', userId: 'carol' })
      expect((await shown(scene, thief, token)).status).to.equal(403)
    }, HOST_PAGE),
  ),
  values('A23', { pending: {}, unsupported: OPENABLE.unended }, (metadata, logout) =>
    redeemed(
      async ({ body, id, use }) => {
        expect(decodeJwt(body.id_token).sid).to.equal(`imp_${id}`)
        expect((await use())?.session).to.deep.equal({ logout })
      },
      { clients: [shop({ ...metadata })] },
    ),
  ),
  ...Object.entries(CLIENTS).map(([name, [given, people]]) =>
    inEachForm(`A24, ${name}`, (request) =>
      redeemed(
        async (scene) => {
          await tellsOf(scene, people)
          const { 'ID token': idToken, JWT: jwt, introspection } = await told(scene)
          expect(idToken).to.include({ sid: `imp_${scene.id}`, aud: 'shop' })
          expect(idToken?.auth_time).to.equal((await scene.sessionOf(scene.browser)).loginTs)
          expect(idToken).not.to.have.property('status')
          expect(jwt ?? introspection).to.have.nested.property('status.status_list.idx', 0)
          expect(jwt ?? introspection).to.include({
            client_id: 'shop',
            ...(jwt ? { aud: API } : { active: true, sid: `imp_${scene.id}` }),
          })
        },
        given,
        { max_age: '3600', ...request },
      ),
    ),
  ),
  inEachForm('A25', (request) =>
    redeemed(
      async ({ body, provider, arrival, id, use }) => {
        const { at, accessToken } = (await use()) ?? expect.fail()
        const endsAt = accessToken.expiresAt
        expect(endsAt - at).to.be.within(55, 60)
        const code = await provider.AuthorizationCode.find(arrival.location?.searchParams.get('code') ?? '')
        expect(code?.exp).to.be.at.most(endsAt)
        expect(decodeJwt(body.id_token).exp).to.be.within(endsAt - 2, endsAt)
        expect(body.expires_in).to.be.within(1, 60)
        expect(body).not.to.have.property('refresh_token')
        expect(body.scope).not.to.include('offline_access')
        const stored = await provider.AccessToken.find(body.access_token)
        const { exp, jti } = stored ?? decodeJwt(body.access_token)
        expect(exp).to.equal(endsAt)
        if (stored)
          expect(stored).to.include({
            ...{ expiresWithSession: true, sessionUid: `imp_${id}`, grantId: `imp_${id}` },
          })
        else expect(jti).to.match(new RegExp(`^${id}\\.[\\w-]{22}$`))
      },
      LASTING,
      { ...request, scope: `${request.scope ?? 'openid'} offline_access`, prompt: 'consent' },
    ),
  ),
  rule(
    'A25, at the latest',
    redeemed(
      ({ body }) => {
        const { exp = 0, iat = 0 } = decodeJwt(body.id_token)
        expect([body.expires_in, exp - iat]).to.deep.equal([30, 40])
      },
      { configuration: { ttl: { AccessToken: 30, IdToken: 40 } } },
    ),
  ),
  rule(
    'A26',
    redeemed(
      async (scene) => {
        await tellsOf(scene, PEOPLE)
        const { 'ID token': idToken, JWT: jwt } = await told(scene)
        expect(jwt).to.deep.include({ tier: 'gold', kept: 'yes', customized: true, iss: scene.issuer })
        expect(jwt?.status).to.be.an('object')
        expect(jwt).not.to.have.property('sid')
        expect(idToken).to.include({ sid: `imp_${scene.id}` })
        expect(idToken).not.to.have.any.keys('status', 'tier')
      },
      {
        options: { getCustomJwtClaims: () => ({ tier: 'gold' }) },
        configuration: {
          claims: { openid: ['sub', 'acr', 'kept', 'status'] },
          acrValues: ['gold'],
          extraTokenClaims: () => RESERVED,
          findAccount: async (_ctx, accountId) => ({ accountId, claims: () => RESERVED as never }),
          ...customizer(
            (_ctx, _token, { payload }) =>
              void Object.assign(payload, { act: { sub: 'carol' }, customized: true }),
          ).configuration,
        },
      },
      FORMS['a JWT'],
    ),
  ),
  rule('A26, and the function is asked once, at the arrival', askedOnce()),
  ...Object.entries(FORMS).map(([form, request]) =>
    values(`A26, whatever a function changes, ${form}`, MEDDLERS, (given, name) =>
      redeemed(
        async (scene) => {
          const { body, id, provider, use } = scene
          await tellsOf(scene, PEOPLE)
          const { 'ID token': idToken, JWT: jwt, introspection } = await told(scene)
          expect(idToken?.sid).to.equal(`imp_${id}`)
          expect((jwt ?? introspection)?.status).to.have.nested.property('status_list.idx', 0)
          const tenant = name === 'extraTokenClaims, of a class' ? 'north' : undefined
          const { accessToken } = (await use()) ?? expect.fail()
          if (jwt) {
            expect(jwt).to.deep.include({ iss: provider.issuer, aud: API })
            expect(jwt.tenant).to.equal(tenant)
            expect(jwt.jti?.startsWith(`${id}.`)).to.equal(true)
            expect(jwt.exp).to.be.at.most(accessToken.expiresAt)
            expect(decodeProtectedHeader(body.access_token)).to.include({ typ: 'at+jwt', alg: 'ES256' })
            return
          }
          const stored = await provider.AccessToken.find(body.access_token)
          expect(stored).to.include({
            ...{ accountId: 'alice', grantId: `imp_${id}` },
            ...(request.resource && { aud: request.resource }),
          })
          expect(stored?.exp).to.be.at.most(accessToken.expiresAt)
          expect(introspection).to.include({ active: true, scope: request.scope ?? 'openid profile' })
        },
        given,
        request,
      ),
    ),
  ),
  ...Object.keys(ENDS).map((name) =>
    rowsOf(['the code', 'userinfo'])(`A27, where ${name}`, {
      'the code': endedBy(name, async ({ browser, authorize, redeem, use }, end) => {
        const arrival = await authorize(browser)
        await end()
        const { status, body } = await redeem(arrival)
        expect([status, body.error]).to.deep.equal([400, 'invalid_grant'])
        expect(await use()).to.include({ clientId: 'shop' })
      }),
      userinfo: endedBy(name, async ({ browser, authorize, redeem, userinfo, use }, end) => {
        const { body } = await redeem(await authorize(browser))
        expect((await userinfo(body.access_token)).status).to.equal(200)
        await end()
        expect((await userinfo(body.access_token)).status).to.equal(401)
        expect(await use()).to.include({ clientId: 'shop' })
      }),
    }),
  ),
  rowsOf(['as an actor token', 'as an actor token that is one too many', 'as a received token'])('A28', {
    'as an actor token': acting(3, ({ status, text, body }) => {
      expect(status, text).to.equal(200)
      expect(decodeJwt(body.access_token).act).to.deep.equal({ sub: 'alice', act: { sub: 'bob' } })
    }),
    'as an actor token that is one too many': acting(1, ({ status, body }) => {
      expect([status, body.error]).to.deep.equal([400, 'invalid_request'])
    }),
    'as a received token': redeemed(
      async (scene) => {
        const received = { subject_token: scene.body.access_token, scope: 'orders:read' }
        const { status, text, body } = await exchange(scene, received, { client: ORDERS })
        expect(status, text).to.equal(200)
        const { sub, act, jti } = decodeJwt(body.access_token)
        const chain = { sub: 'orders', client_id: 'orders', act: { sub: 'bob' } }
        expect({ sub, act }).to.deep.equal({ sub: 'alice', act: chain })
        expect(jti).to.match(new RegExp(`^${scene.id}\\.`))
      },
      { ...CHAINED, options: { onBehalfOf: true } },
      FORMS['an opaque token'],
    ),
  }),
])

/** What the claims function was asked, and where its claims are kept. */
function askedOnce(): Steps {
  const asked: Record<'token', { iat: number }>[] = []
  return redeemed(
    async ({ body, provider, record, id, use }) => {
      expect(decodeJwt(body.access_token).tier).to.equal('gold')
      expect(decodeJwt(body.id_token)).not.to.have.property('tier')
      const session = await provider.Session.findByUid(`imp_${id}`)
      expect(session?.state?.claims).to.deep.equal({ tier: 'gold' })
      const kept = [await provider.Grant.find(`imp_${id}`), await record(id)]
      expect(JSON.stringify(kept)).not.to.include('gold')
      const { at = 0, accessToken } = (await use()) ?? {}
      expect(at).to.be.closeTo(now(), 30)
      expect(asked).to.deep.equal([
        {
          token: {
            ...{ sub: 'alice', aud: [API], scope: 'openid orders:read', clientId: 'shop' },
            ...{ iat: asked[0]?.token.iat, exp: accessToken?.expiresAt },
          },
          context: {
            grant: {
              ...{ type: TOKEN_EXCHANGE, kind: 'session', subjectTokenId: id },
              subjectTokenContext: { ticketId: 'T-7' },
            },
            ...{ user: { id: 'alice' }, client: { id: 'shop' }, actor: { sub: 'bob' } },
          },
          environmentVariables: {},
        },
      ])
    },
    {
      options: {
        getCustomJwtClaims(question) {
          asked.push(question as never)
          return { tier: 'gold' }
        },
      },
    },
    FORMS['a JWT'],
  )
}
