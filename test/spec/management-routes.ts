/** The routes of the management API, who may call them, and their errors (docs/protocol.md §2, §2.3, §2.4). */
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { ClientMetadata } from 'oidc-provider'
import { CALLBACK, machineClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { send as sendHttp } from '../../fixtures/http.ts'
import { type Signing, signJwt } from '../../fixtures/jwts.ts'
import { SIGNING_KEY, signingKey } from '../../fixtures/keys.ts'
import { authorizationCode, login } from '../../fixtures/logins.ts'
import { managementToken, postToken, requestManagementToken } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { hashToken, type SubjectTokenText } from '../../src/tokens/secret.ts'
import { actedBy, exchanged } from './exchanging.ts'
import {
  answers,
  because,
  changesNothing,
  invalidRequest,
  recordUnchanged,
  refused,
  wrongInput,
} from './expectations.ts'
import { fails, functions, on, onADayOfItsOwn, passes, removed, stored } from './given.ts'
import {
  acknowledges,
  asks,
  everyRoute,
  hasBody,
  isHead,
  isIssued,
  issues,
  isUsedAgain,
  manages,
  ROUTES,
  type RouteName,
  replayOf,
  requests,
  routeOf,
} from './managing.ts'
import { answer, each, rowsOf, type Step, type Steps, values } from './rule.ts'
import type { Scene } from './scene.ts'
import { portal } from './settings.ts'

const READ = 'subject-tokens:read'

/** Success, whatever the route. */
const works = (name: RouteName): Steps => {
  const { status, record: says } = routeOf(name)
  return [answer(({ response }) => expect(response.status, response.text).to.equal(status)), says]
}
/** An error, of which HEAD shows the status and the headers. */
const refusedBy = (name: RouteName, status: number, error: string, text?: string): Steps => [
  isHead(name)
    ? answer(({ response }) => expect(response.status).to.equal(status))
    : answers(status, error, text),
  because(null),
  changesNothing,
]

/** What follows the realm. */
const challenges = (more: string): Step =>
  answer(({ response, setting }) =>
    expect(response.headers.get('www-authenticate')).to.equal(`Bearer realm="${setting.issuer}"${more}`),
  )

const SCOPES = ['create', 'read', 'revoke'] as const
const scopes = rowsOf(SCOPES)
const IDS_OF: Readonly<Record<RouteName, string>> = {
  'POST /subject-tokens': 'M1',
  'GET /subject-tokens': 'M2',
  'HEAD /subject-tokens': 'M2',
  'GET /subject-tokens/{id}': 'M3 M85',
  'HEAD /subject-tokens/{id}': 'M3 M85',
  'GET /subject-tokens/summary': 'M4',
  'HEAD /subject-tokens/summary': 'M4',
  'DELETE /subject-tokens/{id}': 'M5',
  'DELETE /subject-tokens': 'M6',
  'POST /subject-tokens/revocations': 'M7',
  'POST /subject-tokens/{id}/acknowledgement': 'M150',
}

const NAMES = Object.keys(ROUTES) as RouteName[]
const byScope = NAMES.map((name) =>
  scopes(
    `${IDS_OF[name]}, ${name}`,
    each(SCOPES, (scope) => {
      const needed = routeOf(name).scope
      const asking = [isIssued, asks(name, { scope: `subject-tokens:${scope}` })]
      if (needed === `subject-tokens:${scope}`) return [asking, works(name)]
      return [
        asking,
        refusedBy(name, 403, 'insufficient_scope', `the access token lacks the scope ${needed}`),
      ]
    }),
  ),
)

/** The host has responded: there is no route of ours. */
const isTheHosts: Step = answer(({ response }) => {
  expect(response.status).to.equal(404)
  expect(response.headers.get('cache-control')).to.equal(null)
  expect(response.headers.get('content-type')).not.to.match(/json/)
})

const PATHS = [
  '/subject-tokens',
  '/subject-tokens/{id}',
  '/subject-tokens/summary',
  '/subject-tokens/revocations',
  '/subject-tokens/{id}/acknowledgement',
] as const
type Path = (typeof PATHS)[number]
const ALLOWED: Readonly<Record<Path, string>> = {
  '/subject-tokens': 'GET, HEAD, POST, DELETE',
  '/subject-tokens/{id}': 'GET, HEAD, DELETE',
  '/subject-tokens/summary': 'GET, HEAD',
  '/subject-tokens/revocations': 'POST',
  '/subject-tokens/{id}/acknowledgement': 'POST',
}
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const paths = rowsOf(PATHS)
const pathIn = (path: Path, { id }: Scene) => path.replace('/subject-tokens', '').replace('{id}', id)

/** A method that a path does not take, with a token or without. */
const notAllowed = (path: Path, method: string, token?: null): Steps => [
  isIssued,
  (scene) => manages(scene, { method, path: pathIn(path, scene), ...(token === null && { token }) }),
  answers(405, 'invalid_request', 'method not allowed'),
  ({ response }) => expect(response.headers.get('allow')).to.equal(ALLOWED[path]),
  changesNothing,
]

/** What each route refuses. */
const WRONG_INPUT: Readonly<Record<RouteName, { readonly query?: string; readonly body?: unknown }>> = {
  'POST /subject-tokens': { body: { userId: 7 } },
  'GET /subject-tokens': { query: '&limit=0' },
  'HEAD /subject-tokens': { query: '&limit=0' },
  'GET /subject-tokens/{id}': { query: '?x=1' },
  'HEAD /subject-tokens/{id}': { query: '?x=1' },
  'GET /subject-tokens/summary': { query: '?days=0' },
  'HEAD /subject-tokens/summary': { query: '?days=0' },
  'DELETE /subject-tokens/{id}': { query: '?x=1' },
  'DELETE /subject-tokens': { query: '&userId=alice' },
  'POST /subject-tokens/revocations': { body: {} },
  'POST /subject-tokens/{id}/acknowledgement': { body: {} },
}

const isIssuedElsewhere: Steps = [onADayOfItsOwn, on('of another issuer'), isIssued, on('usual')]
/** The route knows of no record. */
const seesNothing = (name: RouteName): Step => {
  if (name.includes('{id}') || name.endsWith('revocations'))
    return isHead(name)
      ? answer(({ response }) => expect(response.status).to.equal(404))
      : answers(404, 'not_found', 'subject token not found')
  return answer(({ response: { status, body } }) => {
    expect(status).to.equal(200)
    if (name === 'GET /subject-tokens') expect(body).to.deep.equal({ items: [] })
    if (name === 'GET /subject-tokens/summary')
      expect([body.live, body.days.at(-1).issued]).to.deep.equal([0, 0])
    if (name === 'DELETE /subject-tokens') expect(body).to.deep.equal({ revoked: 0 })
  })
}

/** A management token of the backend that is signed here, with changes. */
export const forged =
  (changes: (scene: Scene) => Readonly<Record<string, unknown>>, signing?: Signing) =>
  async (scene: Scene) => {
    const { issuer, baseUrl } = scene.setting
    const claims = {
      iss: issuer,
      aud: `${baseUrl}/api`,
      sub: 'backend',
      client_id: 'backend',
      scope: 'subject-tokens:create subject-tokens:read subject-tokens:revoke',
      iat: now(),
      exp: now() + 600,
      jti: unique('jti'),
    }
    return { token: await signJwt({ ...claims, ...changes(scene) }, signing) }
  }

const INVALID: Readonly<Record<string, ReturnType<typeof forged>>> = {
  'M111, of another type': forged(() => ({}), { header: { typ: 'JWT' } }),
  'M111, signed by a stranger': forged(() => ({}), { key: signingKey('ES256', SIGNING_KEY.kid) }),
  'M111, opaque': async () => ({ token: 'x'.repeat(43) }),
  'M112, of another issuer': forged(() => ({ iss: 'https://other.example.com/oidc' })),
  'M112, expired this second': forged(() => ({ exp: now() })),
  'M112, for another resource': forged(() => ({ aud: API })),
  'M112, for this resource and another': forged(({ setting }) => ({ aud: [`${setting.baseUrl}/api`, API] })),
  'M113, of a user': forged(() => ({ sub: 'alice' })),
  'M113, of a client that is gone': forged(() => ({ sub: 'gone', client_id: 'gone' })),
  M114: forged(() => ({ cnf: { jkt: 'x'.repeat(43) } })),
  'M132 M145': async () => ({ token: 'not a token' }),
}

const fleeting = machineClient({ client_id: 'fleeting-backend' })
const { scope: _, ...unscoped } = fleeting
const ALL_SCOPES = ['subject-tokens:create', 'subject-tokens:read', 'subject-tokens:revoke']

/** A token of a backend that is changed later. */
const tokenOfFleeting: Step = async (scene) => {
  scene.kept.token = await managementToken(scene.setting, { client: fleeting })
}
const withKept = ({ kept }: Scene) => ({ token: kept.token ?? '' })

const callers = [
  ...Object.entries(INVALID).map(([title, token]) =>
    everyRoute(title, (name) => [
      passes(0),
      isIssued,
      asks(name, token),
      challenges(', error="invalid_token", error_description="the access token is invalid"'),
      refusedBy(name, 401, 'invalid_token', 'the access token is invalid'),
    ]),
  ),
  everyRoute('M111', (name) => [
    passes(0),
    isIssued,
    asks(
      name,
      forged(() => ({})),
    ),
    works(name),
  ]),
  everyRoute('M112, a second before it expires', (name) => [
    passes(0),
    isIssued,
    asks(
      name,
      forged(() => ({ exp: now() + 1 })),
    ),
    works(name),
  ]),
  everyRoute('M113, removed between two requests', (name) => [
    isIssued,
    stored(fleeting),
    tokenOfFleeting,
    asks('GET /subject-tokens', withKept),
    removed(fleeting),
    asks(name, withKept),
    refusedBy(name, 401, 'invalid_token', 'the access token is invalid'),
  ]),
  everyRoute('M115, taken away between two requests', (name, { scope }) => [
    isIssued,
    stored(fleeting),
    tokenOfFleeting,
    asks('GET /subject-tokens', withKept),
    stored({ ...fleeting, scope: ALL_SCOPES.filter((one) => one !== scope).join(' ') }),
    asks(name, withKept),
    refusedBy(name, 403, 'insufficient_scope', `the access token lacks the scope ${scope}`),
  ]),
  everyRoute('M118, absent between two requests', (name, { scope }) => [
    isIssued,
    stored(fleeting),
    tokenOfFleeting,
    stored(unscoped),
    asks(name, withKept),
    refusedBy(name, 403, 'insufficient_scope', `the access token lacks the scope ${scope}`),
  ]),
  everyRoute('M119, made public between two requests', (name, { scope }) => [
    isIssued,
    stored(fleeting),
    tokenOfFleeting,
    stored({ ...fleeting, token_endpoint_auth_method: 'none' }),
    asks(name, withKept),
    refusedBy(name, 403, 'insufficient_scope', `the access token lacks the scope ${scope}`),
  ]),
  everyRoute('M120, given back', (name) => [
    isIssued,
    stored(fleeting),
    tokenOfFleeting,
    stored(unscoped),
    stored(fleeting),
    asks(name, withKept),
    works(name),
  ]),
]

const everything = [
  ...byScope,
  everyRoute('M8, a trailing slash', (name) => [
    isIssued,
    asks(name, (scene) => ({ path: `${routeOf(name).request(scene).path.replace(/\?.*/, '')}/` })),
    isTheHosts,
    changesNothing,
  ]),
  everyRoute('M8, another case', (name) => [
    isIssued,
    requests((scene) => {
      const { method, path } = routeOf(name).request(scene)
      return sendHttp(`${scene.setting.baseUrl}/api/Subject-Tokens${path}`, { method })
    }),
    isTheHosts,
    changesNothing,
  ]),
  ...METHODS.flatMap((method) =>
    ([undefined, null] as const).map((token) =>
      paths(
        `M9 M11 M142, ${method}${token === null ? ' without a token' : ''}`,
        each(PATHS, (path) =>
          ALLOWED[path].split(', ').includes(method)
            ? 'it takes this method'
            : notAllowed(path, method, token),
        ),
      ),
    ),
  ),
  everyRoute('M10', (name, { record: says }) => [
    isIssued,
    asks(name),
    answer(({ response }) => {
      expect(response.headers.get('cache-control')).to.equal('no-store')
      const type = response.status === 204 ? null : 'application/json; charset=utf-8'
      expect(response.headers.get('content-type')).to.equal(type)
    }),
    says,
  ]),
  everyRoute('M12, the scope first', (name, { scope }) => [
    isIssued,
    asks(name, {
      ...WRONG_INPUT[name],
      scope: scope.endsWith('read') ? 'subject-tokens:create' : 'subject-tokens:read',
    }),
    refusedBy(name, 403, 'insufficient_scope', `the access token lacks the scope ${scope}`),
  ]),
  everyRoute('M13', (name) =>
    name === 'POST /subject-tokens'
      ? 'it makes a record of its own issuer'
      : [isIssuedElsewhere, asks(name), seesNothing(name), recordUnchanged],
  ),
  everyRoute('M14', (name, { record: says }) => [
    isIssued,
    exchanged({ resource: OPAQUE_API }),
    asks(name),
    answer(({ response, subjectToken, kept: { accessToken = '' } }) => {
      const secrets = name === 'POST /subject-tokens' ? [accessToken] : [subjectToken, accessToken]
      const all = [...secrets, ...secrets.map((secret) => hashToken(secret as SubjectTokenText))]
      for (const secret of all) expect(response.text).not.to.include(secret)
    }),
    says,
  ]),
]

const managementOf = ({ setting }: Scene) => ({ resource: `${setting.baseUrl}/api` })
const isInvalidTarget = answer(({ response }) => {
  expect([response.status, response.body?.error], response.text).to.deep.equal([400, 'invalid_target'])
})
const publicMachine = machineClient({
  client_id: 'public-machine',
  token_endpoint_auth_method: 'none',
  client_secret: undefined,
  scope: undefined,
})
/** Asks for a management token as this client. */
const asksForToken = (client: ClientMetadata, scope: string | null = READ): Step =>
  requests(({ setting }) => requestManagementToken(setting, { client, scope }))
/** A client that does not authenticate gets no token, whatever its metadata names. */
const isNotGranted = (client: ClientMetadata): Steps => [
  stored({ ...client, scope: READ }),
  requests(({ setting }) =>
    requestManagementToken(setting, { client: { client_id: client.client_id }, scope: READ }),
  ),
  isInvalidTarget,
  changesNothing,
]

const isRefusedScope = answer(({ response }) => {
  expect([response.status, response.body?.error], response.text).to.deep.equal([400, 'invalid_scope'])
})
const hasNoScope = answer(({ response }) => {
  expect([response.status, response.body?.scope], response.text).to.deep.equal([200, undefined])
})
const IN_BODY = { client_id: 'backend', client_secret: 'backend-secret' }

const management = [
  values<Readonly<Record<string, string>>>(
    'M116, the authorization endpoint',
    { asked: {}, 'asked by the grant': { grant_type: 'client_credentials' } },
    (grant) => [
      requests(async (scene) => {
        const query = new URLSearchParams({
          // Who authenticates where it can.
          client_id: 'web',
          response_type: 'code',
          redirect_uri: CALLBACK,
          scope: 'openid',
          code_challenge: 'c'.repeat(43),
          code_challenge_method: 'S256',
          ...managementOf(scene),
          ...grant,
        })
        return sendHttp(`${scene.setting.issuer}/auth?${query}`, { redirect: 'manual' })
      }),
      answer(({ response }) => {
        const { searchParams } = new URL(response.headers.get('location') ?? '')
        expect(searchParams.get('error')).to.equal('invalid_target')
      }),
      recordUnchanged,
    ],
  ),
  rowsOf(['authorization code', 'refresh token', 'a public client', 'a machine'])('M116', {
    'authorization code': [
      async (scene) => {
        const { resource } = managementOf(scene)
        const { code } = await authorizationCode(scene.setting, { client: portal, resource })
        const redeemed = { code, redirect_uri: CALLBACK, code_verifier: 'v'.repeat(43), resource }
        await scene.request(() =>
          postToken(scene.setting, { grant_type: 'authorization_code', ...redeemed }, { client: portal }),
        )
      },
      isInvalidTarget,
      recordUnchanged,
    ],
    'refresh token': [
      async (scene) => {
        const { tokens } = await login(scene.setting, { client: portal, resource: API })
        const refreshing = { refresh_token: tokens.refresh_token, ...managementOf(scene) }
        await scene.request(() =>
          postToken(scene.setting, { grant_type: 'refresh_token', ...refreshing }, { client: portal }),
        )
      },
      isInvalidTarget,
      recordUnchanged,
    ],
    'a public client': [
      stored(publicMachine),
      asksForToken(publicMachine, null),
      isInvalidTarget,
      changesNothing,
    ],
    'a machine': [
      asksForToken(machineClient()),
      answer(({ response, setting }) => {
        const { access_token, scope } = response.body
        expect(scope).to.equal(READ)
        expect(decodeProtectedHeader(access_token)).to.deep.include({ typ: 'at+jwt', alg: 'ES256' })
        const { issuer: iss, baseUrl } = setting
        const expected = { iss, aud: `${baseUrl}/api`, sub: 'backend', client_id: 'backend' }
        expect(decodeJwt(access_token)).to.include(expected)
      }),
      changesNothing,
    ],
  }),
  rowsOf(['the management resource'])('M117', {
    'the management resource': [
      requests((scene) =>
        postToken(
          scene.setting,
          { grant_type: 'client_credentials', ...IN_BODY, ...managementOf(scene), scope: READ },
          { client: { client_id: 'backend' } },
        ),
      ),
      refused(
        401,
        'invalid_client',
        'the client is registered with client_secret_basic: send its secret in the Authorization header',
        null,
      ),
    ],
  }),
  rowsOf(['absent', 'others', 'named'])('M118, granted', {
    absent: [stored(unscoped), asksForToken(unscoped), hasNoScope, changesNothing],
    others: [
      stored({ ...fleeting, scope: 'subject-tokens:create openid' }),
      asksForToken(fleeting),
      isRefusedScope,
      changesNothing,
    ],
    named: [
      stored(fleeting),
      asksForToken(fleeting),
      answer(({ response }) => expect(response.body.scope).to.equal(READ)),
      changesNothing,
    ],
  }),
  rowsOf(['a public client', 'with a secret', 'by clientDefaults'])('M119, granted', {
    'a public client': isNotGranted(publicMachine),
    'with a secret': isNotGranted({ ...publicMachine, client_secret: 'kiosk-secret' }),
    'by clientDefaults': [
      on('with public clients by default'),
      isNotGranted({ ...publicMachine, token_endpoint_auth_method: undefined }),
    ],
  }),
  rowsOf(['granted anew'])('M120, granted', {
    'granted anew': [
      stored(unscoped),
      asksForToken(unscoped),
      stored(fleeting),
      asksForToken(fleeting),
      answer(({ response }) => expect(response.body.scope).to.equal(READ)),
      changesNothing,
    ],
  }),
  rowsOf(['a stored client'])('M121', {
    'a stored client': [
      stored({ ...publicMachine, scope: READ }),
      asksForToken(publicMachine),
      answer(({ response }) => expect(response.status, response.text).to.be.oneOf([400, 401])),
      changesNothing,
    ],
  }),
]

/** Of another record than that of the scene. */
const pathOf = (name: RouteName, id: string) => name.replace(/^.*\{id\}/, `/${id}`)

const NO_BODY = 'it has no body'
const UNKNOWN = '0'.repeat(32)
const WRONG_TEXT: Readonly<Record<RouteName, string>> = {
  'POST /subject-tokens': 'userId must be a string of 1 to 255 characters',
  'GET /subject-tokens': 'limit must be a whole number from 1 to 100',
  'HEAD /subject-tokens': '',
  'GET /subject-tokens/{id}': 'unknown parameter: x',
  'HEAD /subject-tokens/{id}': '',
  'GET /subject-tokens/summary': 'days must be a whole number from 1 to 90',
  'HEAD /subject-tokens/summary': '',
  'DELETE /subject-tokens/{id}': 'unknown parameter: x',
  'DELETE /subject-tokens': 'userId must not be repeated',
  'POST /subject-tokens/revocations': 'id, userId, actorId or createdBy is required',
  'POST /subject-tokens/{id}/acknowledgement': 'by is required',
}
/** The call of the store that a route cannot do without. */
const CALL: Readonly<Record<RouteName, string>> = {
  'POST /subject-tokens': 'store.insert',
  'GET /subject-tokens': 'store.list',
  'HEAD /subject-tokens': 'store.list',
  'GET /subject-tokens/{id}': 'store.list',
  'HEAD /subject-tokens/{id}': 'store.list',
  'GET /subject-tokens/summary': 'store.summarize',
  'HEAD /subject-tokens/summary': 'store.summarize',
  'DELETE /subject-tokens/{id}': 'store.revoke',
  'DELETE /subject-tokens': 'store.revokeWhere',
  'POST /subject-tokens/revocations': 'store.revoke',
  'POST /subject-tokens/{id}/acknowledgement': 'store.acknowledge',
}
/** Fails at every access. */
const BROKEN = new Proxy(
  {},
  {
    get(_target, name) {
      if (name === 'then') return undefined
      throw new Error('private: broken')
    },
  },
)
async function* yieldsBroken() {
  yield BROKEN
}
const isYielding = (name: RouteName): boolean => ['store.summarize', 'store.revokeWhere'].includes(CALL[name])
/** Storage is down for this route. What was counted before is not remembered on this day. */
const down = (name: RouteName): Steps => [onADayOfItsOwn, isIssued, fails(CALL[name])]

const conflicts = (text: string): Steps => refused(409, 'invalid_request', text, null)
const NO_ALARM = 'the subject token has no alarm'
const OTHER_REPLAY = 'replayedAt is not the replay of the subject token'

const errors = [
  everyRoute('M10 M131 M145, no token', (name) => [
    isIssued,
    asks(name, { token: null }),
    challenges(''),
    ({ response }) => expect(response.headers.get('cache-control')).to.equal('no-store'),
    ({ response }) =>
      expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8'),
    refusedBy(name, 401, 'invalid_token', 'an access token is required'),
  ]),
  everyRoute('M133 M145, without the scope', (name, { scope }) => [
    isIssued,
    asks(name, async ({ setting }) => ({ token: await managementToken(setting, { scope: null }) })),
    challenges(
      `, error="insufficient_scope", error_description="the access token lacks the scope ${scope}", scope="${scope}"`,
    ),
    refusedBy(name, 403, 'insufficient_scope', `the access token lacks the scope ${scope}`),
  ]),
  everyRoute('M12 M134', (name) => [
    isIssued,
    asks(name, WRONG_INPUT[name]),
    refusedBy(name, 400, 'invalid_request', WRONG_TEXT[name]),
  ]),
  everyRoute('M134, not an object', (name) =>
    hasBody(name)
      ? [
          isIssued,
          asks(name, { body: '[]' }),
          refusedBy(name, 400, 'invalid_request', 'the body must be a JSON object'),
        ]
      : NO_BODY,
  ),
  everyRoute('M135', (name) =>
    hasBody(name)
      ? [
          isIssued,
          asks(name, (scene) => ({ body: { ...Object(routeOf(name).request(scene).body), extra: 1 } })),
          refusedBy(name, 400, 'invalid_request', 'unknown member: extra'),
        ]
      : NO_BODY,
  ),
  everyRoute('M136', (name, { request }) =>
    name === 'POST /subject-tokens'
      ? 'its query is the host’s'
      : [
          isIssued,
          asks(name, (scene) => ({ query: `${request(scene).path.includes('?') ? '&' : '?'}extra=1` })),
          refusedBy(name, 400, 'invalid_request', 'unknown parameter: extra'),
        ],
  ),
  everyRoute('M137', (name) =>
    hasBody(name)
      ? [
          isIssued,
          asks(name, { body: { by: 'x'.repeat(65_536) } }),
          refusedBy(name, 413, 'invalid_request', 'the body must not exceed 65536 bytes'),
        ]
      : NO_BODY,
  ),
  ...Object.entries<Readonly<Record<string, string>>>({
    'another media type': { 'content-type': 'text/plain' },
    'another charset': { 'content-type': 'application/json; charset=latin1' },
    encoded: { 'content-encoding': 'gzip' },
  }).map(([title, headers]) =>
    everyRoute(`M138, ${title}`, (name) =>
      hasBody(name) ? [isIssued, asks(name, { headers }), refusedBy(name, 415, 'invalid_request')] : NO_BODY,
    ),
  ),
  ...Object.entries({ 'M140, unknown': UNKNOWN, 'M140, not an id': 'x' }).map(([title, id]) =>
    everyRoute(title, (name) =>
      name.includes('{id}') || name.endsWith('revocations')
        ? [
            isIssued,
            asks(name, name.endsWith('revocations') ? { body: { id } } : { path: pathOf(name, id) }),
            seesNothing(name),
            recordUnchanged,
          ]
        : 'it names no record',
    ),
  ),
  rowsOf(['unspent', 'exchanged by someone'])('M176', {
    unspent: [isIssued, acknowledges(), conflicts(NO_ALARM)],
    'exchanged by someone': [isIssued, exchanged(actedBy()), acknowledges(), conflicts(NO_ALARM)],
  }),
  rowsOf(['at the first time', 'at the last'])('M177, at no time', {
    'at the first time': [isUsedAgain, acknowledges({ replayedAt: 0 }), conflicts(OTHER_REPLAY)],
    'at the last': [
      isUsedAgain,
      acknowledges({ replayedAt: Number.MAX_SAFE_INTEGER }),
      conflicts(OTHER_REPLAY),
    ],
  }),
  rowsOf(['another', 'none', 'the first', 'covered'])('M177', {
    another: [
      isUsedAgain,
      acknowledges(async (scene) => ({ replayedAt: (await replayOf(scene)) + 1 })),
      conflicts(OTHER_REPLAY),
    ],
    none: [isIssued, exchanged(), acknowledges({ replayedAt: 1 }), conflicts(OTHER_REPLAY)],
    'the first': [isUsedAgain, acknowledges({ replayedAt: null }), conflicts(OTHER_REPLAY)],
    covered: [isUsedAgain, acknowledges(), acknowledges({ replayedAt: null }), conflicts(OTHER_REPLAY)],
  }),
  values('M143', { findAccount: () => Promise.reject(new Error('private: no directory')) }, (findAccount) => [
    functions({ findAccount }),
    issues(),
    refused(500, 'server_error', 'something went wrong', null),
  ]),
  everyRoute('M143, storage returns nonsense', (name) =>
    name === 'POST /subject-tokens' || name.endsWith('acknowledgement')
      ? 'nothing that it returns is read'
      : [
          onADayOfItsOwn,
          isIssued,
          ({ setting }) =>
            void setting.instead.set(CALL[name], isYielding(name) ? yieldsBroken : () => BROKEN),
          asks(name),
          refusedBy(name, 500, 'server_error', 'something went wrong'),
        ],
  ),
  everyRoute('M144 M147 M149', (name) => [
    down(name),
    ({ setting }) => void setting.errors.splice(0),
    asks(name),
    answer(({ response, setting }) => {
      expect(response.headers.get('retry-after')).to.equal('5')
      expect(response.text).not.to.include('private')
      expect(setting.errors.length).to.be.greaterThan(0)
    }),
    refusedBy(name, 503, 'temporarily_unavailable', 'the service is temporarily unavailable'),
  ]),
  ...Object.entries({
    'of 32 characters': [`a.b-c_${'d'.repeat(26)}`, true],
    'of 33 characters': ['d'.repeat(33), false],
    'with other characters': ['a b', false],
  } as const).map(([title, [name, isRepeated]]) =>
    rowsOf(['a member', 'a parameter'])(`M146, ${title}`, {
      'a member': [
        issues({ [name]: 1 }),
        wrongInput(isRepeated ? `unknown member: ${name}` : 'unknown member'),
      ],
      'a parameter': [
        asks('GET /subject-tokens/summary', { query: `?${encodeURIComponent(name)}=1` }),
        invalidRequest(isRepeated ? `unknown parameter: ${name}` : 'unknown parameter', null),
      ],
    }),
  ),
  everyRoute('M148', (name) => [
    isIssued,
    ['30', new Date(4e12).toUTCString(), 'nothing'].map((retryAfter) => [
      asks(name, { headers: { 'x-host-limits': retryAfter } }),
      answer(({ response }) => {
        const said = response.headers.get('retry-after') ?? 'nothing'
        expect([response.status, said]).to.deep.equal([429, retryAfter])
      }),
    ]),
    changesNothing,
  ]),
]

export const managementRouteRules = [...everything, ...callers, ...management, ...errors]
