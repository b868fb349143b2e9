/** Which resources an exchange takes, which scopes it grants there, and what the access token says (docs/protocol.md §3.4, §3.5, §4). */
import { expect } from 'chai'
import { decodeJwt, importJWK, jwtVerify } from 'jose'
import type { ResourceServer } from 'oidc-provider'
import { publicClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { type Parameters, send as request } from '../../fixtures/http.ts'
import { SIGNING_KEY } from '../../fixtures/keys.ts'
import { introspect } from '../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/base/constants.ts'
import { actedBy, exchanged, ready, send } from './exchanging.ts'
import {
  answers,
  because,
  changesNothing,
  invalidTarget,
  nothingToGrant,
  recordSays,
  refused,
  refusedToken,
  serverError,
  spent,
  succeeds,
  tokenSays,
} from './expectations.ts'
import { functions, issuedWith, on, passes, stored } from './given.ts'
import { declareCells } from './matrix.ts'
import { answer, type Named, type Rule, type Step, type Steps, texts, values } from './rule.ts'

const FORMATS = { 'a JWT': { resource: API }, 'an opaque token': { resource: OPAQUE_API } } as const

/** What is refused, and spends nothing: the plain request is taken afterwards. */
const spares = (changes: Parameters, refusal: Steps): Steps => [
  ready,
  send(changes),
  refusal,
  send(),
  succeeds(),
  spent,
]
const refusesTarget = (title: string, reason: string, named: Named<Parameters['resource']>): Rule =>
  values(title, named, (resource) => spares({ resource }, invalidTarget(reason)))

const NO_URI = 'not an absolute URI without fragment'
const anything = (changes: Partial<ResourceServer> = {}): Step =>
  functions({
    resourceServer: (audience) => ({
      ...{ scope: 'orders:read', audience, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } },
      ...changes,
    }),
  })
const defaultsTo = (...resources: readonly string[]): Step =>
  functions({ defaultResource: () => (resources.length === 1 ? (resources[0] ?? '') : resources) })
/** May ask for one that the deployment knows, and one that it does not. */
const narrow = publicClient({
  client_id: 'narrow-app',
  token_exchange_resources: [OPAQUE_API, 'https://api.example.com/v2'],
})
const barred = publicClient({ client_id: 'barred-app', token_exchange_resources: [] })
const LONG = `https://api.example.com/${'r'.repeat(5000)}`
const LONG_SCOPE = Array.from({ length: 256 }, (_, index) => `scope-${index}-${'s'.repeat(60)}`).join(' ')

const resources = [
  refusesTarget('E71, none', 'no resource', { blank: '' }),
  values('E71, none, for a scope', { openid: 'openid orders:read' }, (scope) =>
    spares({ resource: null, scope }, invalidTarget('no resource')),
  ),
  refusesTarget('E71, several', 'more than one resource', { two: [API, OPAQUE_API] }),
  refusesTarget('E71, no URI', NO_URI, {
    relative: '/orders',
    'without a scheme': 'api.example.com',
    'a space': ' ',
    'a fragment': `${API}#orders`,
    'an empty fragment': `${API}#`,
    'a space after it': `${API} `,
    'a space before it': ` ${API}`,
    'a line feed after it': `${API}\n`,
    'a NUL in its path': `${API}/a\0b`,
    'letters beyond ASCII': 'https://bücher.example.com/ä',
    'a quotation mark': `${API}/"`,
    'a member of every object': 'constructor',
  }),
  refusesTarget('E71, unknown', 'InvalidTarget', {
    another: 'https://unknown.example.com',
    'in capitals': API.toUpperCase(),
    '50,000 characters': `https://${'a'.repeat(50_000)}`,
  }),
  values('E42, below the management resource', { slash: '/', path: '/subject-tokens' }, (path) => [
    ready,
    send(({ setting }) => ({ resource: `${setting.baseUrl}/api${path}` })),
    invalidTarget('InvalidTarget'),
  ]),
  values('E42, a host that takes every resource', { 'the management resource': '/api' }, (path) => [
    anything(),
    send(({ setting }) => ({ resource: `${setting.baseUrl}${path}` })),
    invalidTarget('the management resource is for client_credentials only'),
  ]),
  values('E42, a host that gives it the audience of', { 'the management API': '/api' }, (path) => [
    ready,
    (scene) => anything({ audience: `${scene.setting.baseUrl}${path}` })(scene),
    send({ scope: 'orders:read' }),
    serverError('getResourceServerInfo gave the audience of the management API to another resource'),
    ({ events }) => expect(events[0]?.payload).to.include({ check: 'issue' }),
  ]),
  values('T4, of the resource', { 'its own': 'orders', 'its name': undefined }, (audience) => [
    ready,
    anything({ audience: audience as string }),
    send(),
    tokenSays({ aud: audience ?? API }),
    spent,
  ]),
  values('E71, of the client', { 'none at all': barred }, (client) => [
    stored(client),
    ready,
    send({}, { client }),
    invalidTarget('not among the resources of the client'),
    send(),
    succeeds(),
    spent,
  ]),
  values('E71, of the client, unknown', { 'https://api.example.com/v2': narrow }, (client, resource) => [
    stored(client),
    ready,
    send({ resource }, { client }),
    invalidTarget('InvalidTarget'),
    send({ resource: OPAQUE_API }, { client }),
    succeeds(),
    spent,
  ]),
  values<Parameters>(
    'E11, the default',
    { omitted: {}, blank: { resource: '' }, 'for a scope': { scope: 'orders:read' } },
    (changes) => [
      defaultsTo(API),
      send({ resource: null, ...changes }),
      tokenSays({ aud: API }),
      recordSays({ resource: API }),
    ],
  ),
  values('E11, another than the default', { requested: OPAQUE_API }, (resource) => [
    defaultsTo(API),
    send({ resource }),
    tokenSays({ aud: resource }),
    spent,
  ]),
  values('E11, a default of another resource', { 'than the record allows': API }, (resource) => [
    issuedWith({ resource }),
    defaultsTo(OPAQUE_API),
    ...spares({ resource: null }, refusedToken('bound to another resource')),
  ]),
  values('E11, a default of several', { two: [API, OPAQUE_API] }, (several) => [
    defaultsTo(...several),
    ...spares({ resource: null }, invalidTarget('more than one resource')),
  ]),
  values('E79, of any length', { resource: LONG }, (resource) => [
    anything({ scope: LONG_SCOPE }),
    send({ resource, scope: LONG_SCOPE }),
    succeeds({ scope: LONG_SCOPE }),
    recordSays({ resource, scope: LONG_SCOPE }),
  ]),
]

/** Registered for no other scope of the provider. */
const openidOnly = publicClient({ client_id: 'openid-only', scope: 'openid' })
const withProfile = publicClient({ client_id: 'with-profile', scope: 'profile' })

interface Asked {
  readonly asked: string | null
  readonly ceiling?: string
  readonly client?: typeof openidOnly
  readonly resource?: string
  readonly acting?: true
  readonly granted?: string
}

const asks = ({ asked, ceiling, client, resource = API, acting }: Asked): Steps => [
  client ? stored(client) : [],
  ceiling === undefined ? [] : issuedWith({ scope: ceiling }),
  send(
    async (scene) => ({ scope: asked, resource, ...(acting && (await actedBy()(scene))) }),
    client && { client },
  ),
]
const grants = (title: string, named: Named<Asked>): Rule =>
  values(title, named, (asked) => [
    asks(asked),
    succeeds({ scope: asked.granted }),
    tokenSays({ scope: asked.granted }),
    recordSays({ state: 'consumed', scope: asked.granted }),
  ])
const refuses = (title: string, named: Named<Asked>): Rule =>
  values(title, named, (asked) => [asks(asked), nothingToGrant])

const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`)
const READ = 'orders:read'
const BOTH = 'orders:read orders:write'

const scopes = [
  grants('E77, nothing', {
    requested: { asked: null },
    'a blank scope': { asked: '' },
    'under a ceiling': { asked: null, ceiling: READ },
  }),
  grants('E72, what the resource has', {
    all: { asked: BOTH, granted: BOTH },
    'in the order in which it was asked for': {
      asked: 'orders:write orders:read',
      granted: 'orders:write orders:read',
    },
    once: { asked: `${READ} ${READ}`, granted: READ },
    'an opaque one': { asked: BOTH, granted: READ, resource: OPAQUE_API },
    'with 255 others': { asked: [READ, ...names(255)].join(' '), granted: READ },
  }),
  grants('E73, under a ceiling', {
    one: { asked: BOTH, ceiling: READ, granted: READ },
    'the other': { asked: BOTH, ceiling: 'orders:write', granted: 'orders:write' },
    'that names more': { asked: `${READ} orders:delete`, ceiling: `orders:delete ${READ}`, granted: READ },
    'of a longer name': { asked: BOTH, ceiling: `${READ} orders:write:all`, granted: READ },
  }),
  grants('E74, of the provider', {
    'to any client': { asked: 'profile', granted: 'profile' },
    registered: { asked: `profile ${READ}`, client: withProfile, granted: `profile ${READ}` },
    'not registered': { asked: `profile ${READ}`, client: openidOnly, granted: READ },
    'not of the provider': { asked: 'orders:write', client: openidOnly, granted: 'orders:write' },
  }),
  grants('E75, offline_access', {
    'although the ceiling names it': {
      asked: `offline_access ${READ}`,
      ceiling: `offline_access ${READ}`,
      granted: READ,
    },
  }),
  grants('E76, openid', {
    'with an actor': { asked: `openid ${READ}`, acting: true, granted: `openid ${READ}` },
    'outside the ceiling': { asked: `openid ${READ}`, acting: true, ceiling: READ, granted: READ },
  }),
  values('E76, openid where no one acts through another', { 'beside others': READ }, (granted) => [
    on('one person deep'),
    asks({ asked: `openid ${granted}`, acting: true }),
    succeeds({ scope: granted }),
    spent,
  ]),
  refuses('E77, none of', {
    'the ceiling': { asked: 'orders:write', ceiling: READ },
    offline_access: { asked: 'offline_access' },
    openid: { asked: 'openid' },
    'the client': { asked: 'profile', client: openidOnly },
    'in this case': { asked: 'ORDERS:READ' },
    'the management API': { asked: 'subject-tokens:create' },
  }),
  values('E77, a subject token as scope', { alone: '', 'behind another': 'orders:delete ' }, (before) => [
    ready,
    send(({ subjectToken }) => ({ scope: before + subjectToken })),
    nothingToGrant,
    send(),
    succeeds(),
    spent,
  ]),
  values('E45, too many', { 257: [READ, ...names(256)], '20,000': Array(20_000).fill('x') }, (scope) => [
    ready,
    send({ scope: scope.join(' ') }),
    refused(400, 'invalid_scope', 'more than 256 scopes were requested'),
    ({ events, calls }) => {
      expect(events[0]?.payload).to.include({ check: 'scope' }).and.not.to.have.any.keys('id', 'scope')
      expect(calls.filter((call) => call.startsWith('store.'))).to.deep.equal([])
    },
    send(),
    succeeds(),
    spent,
  ]),
  texts(
    'E12, no scope',
    [' ', `${READ}  orders:write`, ` ${READ}`, `${READ}\t`, 'orders:"read"', 'ä'],
    (scope) => [ready, send({ scope }), answers(400, 'invalid_scope'), because(null), changesNothing],
  ),
]

const DEEPLY = ['iat', 'exp', 'jti', 'status']
const CLIENT = publicClient({
  client_id: 'refreshing',
  grant_types: ['authorization_code', 'refresh_token', TOKEN_EXCHANGE],
})
const { d: _, ...PUBLIC_KEY } = SIGNING_KEY as typeof SIGNING_KEY & { d: string }

const responses = [
  values('E79, nothing else', { 'with a scope': READ, 'without one': undefined }, (scope) => [
    send({ scope }),
    answer(({ response }) => {
      const { access_token: token, ...others } = response.body
      expect(token).to.be.a('string')
      const members = { issued_token_type: ACCESS_TOKEN_TYPE, token_type: 'Bearer', expires_in: 600 }
      expect(others).to.deep.equal(scope === undefined ? members : { ...members, scope })
    }),
    spent,
  ]),
  values('T1, by the keys of the provider', { 'a JWT': { resource: API } }, (target) => [
    send({ ...target, scope: READ }),
    answer(async ({ response, setting }) => {
      const { payload, protectedHeader } = await jwtVerify(
        response.body.access_token,
        await importJWK(PUBLIC_KEY as never, 'ES256'),
        { issuer: setting.issuer, audience: API, typ: 'at+jwt' },
      )
      expect(protectedHeader).to.deep.equal({ alg: 'ES256', typ: 'at+jwt', kid: SIGNING_KEY.kid })
      expect(Object.keys(payload)).to.have.members([
        ...['iss', 'sub', 'aud', 'client_id', 'scope'],
        ...DEEPLY,
      ])
    }),
    spent,
  ]),
  values('T1, nothing else', { 'an opaque token': { resource: OPAQUE_API } }, (target) => [
    send(async (scene) => ({ ...target, scope: READ, ...(await actedBy()(scene)) })),
    answer(async ({ response, setting }) => {
      const { iat, exp, status, ...members } = await introspect(setting, response.body.access_token)
      expect(status).to.be.an('object')
      expect(exp - iat).to.equal(600)
      expect(members).to.deep.equal({
        ...{
          active: true,
          iss: setting.issuer,
          aud: OPAQUE_API,
          sub: 'alice',
          client_id: 'spa',
          scope: READ,
        },
        ...{ token_type: 'Bearer', act: { sub: 'bob' } },
      })
    }),
    spent,
  ]),
  values('T10, no one, by any name', FORMATS, (target) => [
    send(target),
    tokenSays({ act: undefined, may_act: undefined, cnf: undefined }),
    spent,
  ]),
  values('E79, what the backend sent', { context: 'of the context' }, (text) => [
    issuedWith({ context: { text } }),
    send(),
    answer(({ response }) => {
      expect(response.text + JSON.stringify(decodeJwt(response.body.access_token))).not.to.include(text)
    }),
    spent,
  ]),
  values('E1, whatever the client may have', { 'a refresh token': CLIENT }, (client) => [
    stored(client),
    send(async (scene) => ({ scope: `openid offline_access ${READ}`, ...(await actedBy()(scene)) }), {
      client,
    }),
    succeeds({ scope: `openid ${READ}`, refresh_token: undefined, id_token: undefined }),
    spent,
  ]),
  ...Object.entries(FORMATS).map(([format, { resource }]) =>
    values(`T7, ${format} that lives`, { 'as its resource says': 90, 'for a second': 1 }, (life) => [
      passes(0),
      anything({ accessTokenTTL: life, accessTokenFormat: resource === API ? 'jwt' : 'opaque' }),
      send({ resource }),
      succeeds({ expires_in: life }),
      tokenSays(() => ({ iat: now(), exp: now() + life })),
      spent,
    ]),
  ),
  values('T7, at most maxAccessTokenTTL', { 'which is less': 600, 'which is as much': 60 }, (life) => [
    on('with short lives'),
    passes(0),
    anything({ accessTokenTTL: life }),
    send(),
    succeeds({ expires_in: 60 }),
    tokenSays(() => ({ exp: now() + 60 })),
    spent,
  ]),
  values('E76, at the userinfo endpoint', FORMATS, (target) => [
    exchanged(target),
    answer(async ({ kept, setting }) => {
      const headers = { authorization: `Bearer ${kept.accessToken}` }
      const { status, text } = await request(`${setting.issuer}/me`, { headers })
      expect(status, text).to.be.oneOf([401, 403])
    }),
    spent,
  ]),
]

declareCells('E, targets', [...resources, ...scopes, ...responses])
