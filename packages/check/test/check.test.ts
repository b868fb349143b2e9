/** `oidc-impersonation-check`: deployment × finding × sentence. A sound deployment has none, and each mistake has its own alone. */
import { createPublicKey, type JsonWebKeyInput } from 'node:crypto'
import { mock } from 'node:test'
import { expect } from 'chai'
import {
  type AdapterPayload,
  type ClientMetadata,
  type Configuration,
  errors,
  type ResourceServer,
} from 'oidc-provider'
import { machineClient, publicClient, storedModels, webClient } from '../../../fixtures/clients.ts'
import { tooLate } from '../../../fixtures/clock.ts'
import { type Database, openDatabase } from '../../../fixtures/databases.ts'
import { type DeploymentOverrides, withDeployment } from '../../../fixtures/deployment.ts'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { beforeOn, describeOn } from '../../../fixtures/on-database.ts'
import { createRole, type Role } from '../../../fixtures/role.ts'
import { reachesLoopback, shopClient } from '../../../fixtures/sessions.ts'
import { newToken } from '../../../fixtures/subject-tokens.ts'
import type { Deployment } from '../../../src/cli/deployment.ts'
import { withoutCredentials } from '../../../src/cli/process.ts'
import { insideOf } from '../../../src/impersonation.ts'
import {
  AccessDenied,
  type CustomClaimsRequest,
  type ImpersonationOptions,
  type PolicyRequest,
  TOKEN_EXCHANGE,
} from '../../../src/index.ts'
import { MODELS, STEPS, TOKEN_TABLES } from '../../../src/sequelize/tables.ts'
import { createMemoryStore } from '../../store-contract/src/index.ts'
import { lookAt } from '../src/check.ts'
import type { Example } from '../src/example.ts'

const ISSUER = 'https://id.example.com/oidc'
const API = 'https://api.example.com'
const BILLING = 'https://billing.example.com'

type Indicators = NonNullable<NonNullable<Configuration['features']>['resourceIndicators']>

const jwtsFor = (audience: string): ResourceServer => ({
  ...{ audience, scope: 'orders:read', accessTokenFormat: 'jwt', accessTokenTTL: 600 },
  jwt: { sign: { alg: 'ES256' } },
})
const opaqueFor = (audience: string): ResourceServer => ({ audience, scope: 'orders:read' })

const known = (resources: Readonly<Record<string, ResourceServer>>): Partial<Indicators> => ({
  getResourceServerInfo(_ctx, name) {
    const info = resources[name]
    if (!info) throw new errors.InvalidTarget()
    return info
  },
})

const spa = (metadata: Partial<ClientMetadata> = {}) =>
  publicClient({ token_exchange_resources: [API], ...metadata })
const backend = machineClient
const api = (metadata: Partial<ClientMetadata> = {}): ClientMetadata => ({
  ...{ client_id: 'orders-api', client_secret: 'orders-api-secret', redirect_uris: [], response_types: [] },
  grant_types: [TOKEN_EXCHANGE],
  token_exchange_audiences: [API],
  token_exchange_resources: [BILLING],
  ...metadata,
})
const shop = (metadata: Partial<ClientMetadata> = {}) =>
  shopClient('https://shop.example.com/logout', {
    impersonation_sessions: 'https://shop.example.com/sign-in',
    ...metadata,
  })

/** What differs from the sound deployment. */
interface Given {
  readonly clients?: readonly ClientMetadata[]
  readonly options?: Partial<ImpersonationOptions>
  readonly indicators?: Partial<Indicators>
  readonly features?: Configuration['features']
  readonly configuration?: Configuration
  readonly issuer?: string
  readonly example?: Partial<Record<keyof Example, unknown>> | 'none'
  /** A database of its own. */
  readonly tables?: 'own' | 'missing'
  readonly database?: Database
  readonly change?: (deployment: Deployment) => unknown
}

const EXAMPLE: Example = {
  userId: 'alice',
  createdBy: 'backend',
  clientId: 'spa',
  actorId: 'bob',
  resource: API,
  scope: 'orders:read',
  context: { ticketId: 'T-1' },
}

const byBob = ({ actor }: PolicyRequest) => actor?.sub === 'bob'

let shared: Database
before(async () => {
  shared = await openDatabase('sqlite')
})
after(() => shared.close())

async function findings(given: Given) {
  const { options, indicators, features, configuration, issuer = ISSUER, tables } = given
  const own = tables && (await openDatabase('sqlite', { migrated: tables === 'own' }))
  const database = own ?? given.database ?? shared
  const overrides: DeploymentOverrides = {
    database,
    issuer,
    options: { requireActor: true, isAllowed: byBob, ...options },
    configuration: {
      clients: [...(given.clients ?? [spa(), backend()])],
      ...configuration,
      features: {
        ...configuration?.features,
        ...features,
        resourceIndicators: {
          enabled: true,
          ...known({ [API]: jwtsFor(API), [BILLING]: jwtsFor(BILLING) }),
          ...indicators,
        } as Indicators,
      } as Configuration['features'],
    },
  }
  const found: Awaited<ReturnType<typeof lookAt>>[number][] = []
  await withDeployment(overrides, async ({ impersonation, events }) => {
    const inside = insideOf(impersonation)
    inside.sessions.stopWatching?.()
    const deployment = { impersonation, inside, sequelize: database.sequelize }
    await given.change?.(deployment)
    const example = given.example === 'none' ? undefined : ({ ...EXAMPLE, ...given.example } as Example)
    found.push(...(await lookAt({ ...deployment, inside: insideOf(impersonation) }, example)))
    expect(events, 'a listener of the deployment heard of it').to.deep.equal([])
  }).finally(() => own?.close())
  return found
}

const SIGNS = { ok: '✓', note: '–', warning: '!', fault: '✗' } as const

/** As they are printed, without what is in order, and without lines of this file and of the provider. */
async function troubles(given: Given): Promise<string[]> {
  return (await findings(given))
    .filter(({ level }) => level !== 'ok')
    .map(({ level, about, text, advice }) => {
      const place = / \(at .+(check\.test|formats\/jwt)\.[jt]s:\d+:\d+\)+$/
      const shown = `${SIGNS[level]} ${about}: ${text.replace(place, ' (at …)')}`
      return advice === undefined ? shown : `${shown} → ${advice}`
    })
}

const CORRECT = 'correct the example, or what failed'
const DECIDE = 'let isAllowed decide on actor.sub, at every stage'
const UNENCODED = 'use A–Z a–z 0–9 - . _ ~ alone, or form-encode id and secret before Base64'
const COMPARE =
  'write it, character by character, as getResourceServerInfo knows it, or correct that function'
const NO_ONE = 'no static client, and none that an example names: only a stored client could'
const NO_ISSUER = `! who may issue: ${NO_ONE} → add subject-tokens:create to the scope of your backend, or name a stored client in an example`
const NO_EXCHANGER = `! who may exchange: ${NO_ONE} → add ${TOKEN_EXCHANGE} to the grant_types of your application, or name a stored client in an example`

const dry = (text: string) => `✗ dry run: ${text} → ${CORRECT}`
const STOPPED = '– dry run: stopped by a fault above: '
const unknown = (name: string, advice = COMPARE) =>
  `✗ resources: "spa" may exchange for ${name}, which getResourceServerInfo does not know → ${advice}`
const opaque = (name: string) =>
  `✗ resources: access tokens for ${name} are opaque, because getResourceServerInfo returns no accessTokenFormat: an API that expects a JWT refuses them → return accessTokenFormat: 'jwt' for it, or 'opaque' if its API introspects`
const UNLIMITED = '! resources: may exchange for every resource: spa → give them token_exchange_resources'
const basic = (client: string, what: string) =>
  `✗ secrets: "${client}": Authorization: Basic cannot carry its ${what} unencoded → ${UNENCODED}`
const MUTE = dry('actor_token at the exchange: without scope openid')

type Row = readonly [mistake: string, given: Given, ...lines: string[]]
const table = (about: string, rows: readonly Row[], of: Given = {}) =>
  describe(`check: ${about}`, () => {
    for (const [mistake, given, ...lines] of rows)
      it(mistake, async () => expect(await troubles({ ...of, ...given })).to.deep.equal(lines))
  })

const crash = (): never => {
  throw new Error('no such table')
}
const none = { example: 'none' } as const
const portal = webClient({ client_id: 'portal', grant_types: ['authorization_code'] })

describe('check: a sound deployment', () => {
  it('has no trouble, and is told what was looked at', async () => {
    const step = { clientId: 'orders-api', resource: BILLING, scope: 'orders:read' }
    const given = {
      clients: [spa(), backend(), api()],
      options: { onBehalfOf: true, getCustomJwtClaims: () => ({ ticket: 'T-1' }) },
      example: { onBehalfOf: step },
    } as const
    const told = (await findings(given)).map(({ level, about, text }) => `${SIGNS[level]} ${about}: ${text}`)
    expect(told).to.deep.equal([
      '✓ storage: responds, and its tables fit',
      '✓ many at once: 40 reads at the same time succeeded',
      '✓ rights: the role may read, insert, update and delete in every table',
      '✓ management API: https://id.example.com/api is where it is mounted',
      '✓ status lists: https://id.example.com/api/status-lists is the default address of no other issuer in this database',
      '✓ clients: the metadata of 3 static clients is valid',
      '✓ secrets: Authorization: Basic can carry those of backend, orders-api',
      '✓ who may issue: backend',
      '✓ who may exchange: spa',
      '✓ resources: https://api.example.com: known, and the format of the access tokens is set',
      '✓ who may go downstream: orders-api',
      '✓ strangers: no one registers without an initial access token',
      '✓ options: none leaves a door open',
      '✓ dry run: isAllowed allows it, and your functions return the claims {"ticket":"T-1"}',
      '✓ dry run: onBehalfOf: isAllowed allows it, and your functions return the claims {"ticket":"T-1"}',
    ])
  })
})

describe('check: a client that only a metadata document describes', () => {
  it('is not registered, and nothing is fetched', async () => {
    const fetched: string[] = []
    const id = 'https://shop.example.com/client'
    const fetch = async (url: unknown) => {
      fetched.push(String(url))
      return Response.json({ client_id: id })
    }
    const lines = await troubles(
      opening({
        features: { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' } },
        configuration: { fetch },
        example: { session: { clientId: id } },
      }),
    )
    expect(fetched).to.deep.equal([])
    expect(lines).to.deep.equal([
      `✗ clients: "${id}" is not registered, and no metadata document of it was fetched → name a registered client: a subject token is for no other`,
      opened('clientId must be a client that is open to sessions'),
    ])
  })
})

table('who may issue and exchange', [
  [
    'the named backend lacks the scope',
    { clients: [spa(), backend({ scope: 'subject-tokens:read' })] },
    NO_ISSUER,
    dry('the request at the issuance: requested scope is not allowed'),
  ],
  [
    'the named application lacks the grant',
    { clients: [spa({ grant_types: ['authorization_code'] }), backend()] },
    NO_EXCHANGER,
    dry('the request at the issuance: clientId must be a client that may exchange subject tokens'),
  ],
  [
    'another application has the grant',
    { clients: [spa(), portal, backend()], example: { clientId: 'portal' } },
    dry('the request at the issuance: clientId must be a client that may exchange subject tokens'),
  ],
  ['there is no client', { clients: [], ...none }, NO_ISSUER, NO_EXCHANGER],
  ['no client may issue', { clients: [spa()], ...none }, NO_ISSUER],
  ['no client may exchange', { clients: [backend()], ...none }, NO_EXCHANGER],
])

table('clients, keys and secrets', [
  [
    'an algorithm that no key has',
    { clients: [spa({ id_token_signed_response_alg: 'RS256' }), backend()] },
    `✗ clients: "spa" fails at its first request: id_token_signed_response_alg must be 'ES256' → add clientDefaults: { id_token_signed_response_alg: … } with the algorithm of your signing key`,
    NO_EXCHANGER,
    `${STOPPED}the request at the issuance: clientId must be a client that may exchange subject tokens`,
  ],
  [
    'an address that is none, which hides nothing else',
    { clients: [spa(), spa({ client_id: 'desk', redirect_uris: ['nowhere'] }), backend()] },
    '✗ clients: "desk" fails at its first request: redirect_uris must only contain valid uris → correct its metadata',
  ],
  [
    'a validator of the deployment that fails',
    {
      ...none,
      clients: [backend()],
      configuration: { extraClientMetadata: { properties: ['team'], validator: crash } },
    },
    '✗ clients: "backend" fails at its first request: no such table → look at what reads and validates its metadata: your adapter, its database, your validator',
    NO_ISSUER,
    NO_EXCHANGER,
  ],
  [
    'ids and secrets that Basic cannot carry, beside those that it can, and those that are sent in the body',
    {
      clients: [
        spa(),
        backend({ client_secret: "a/b=:!*'()~ c" }),
        ...Object.entries({ plus: 'a+b', percent: '100%', encoded: '%41' }).map(
          ([client_id, client_secret]) => backend({ client_id, client_secret }),
        ),
        backend({ client_id: 'urn:b' }),
        backend({ client_id: 'a+b', client_secret: 'c+d' }),
        backend({
          client_id: 'in-body',
          client_secret: 'a+b',
          token_endpoint_auth_method: 'client_secret_post',
        }),
      ],
    },
    ...['plus', 'percent', 'encoded'].map((id) => basic(id, 'secret')),
    basic('urn:b', 'id'),
    basic('a+b', 'id and secret'),
  ],
  [
    'stored clients are looked at if the example names them, and no others',
    {
      clients: [],
      configuration: {
        adapter: storedModels([
          spa({ client_id: 'stored-desk', token_exchange_resources: [`${API}/`] }),
          backend({ client_id: 'stored-backend', client_secret: 'a+b' }),
          backend({ client_id: 'stored-other', client_secret: 'a+b' }),
        ]).adapter,
      },
      example: { createdBy: 'stored-backend', clientId: 'stored-desk' },
    },
    basic('stored-backend', 'secret'),
    unknown(`${API}/`, `write ${API} in its token_exchange_resources`).replace('spa', 'stored-desk'),
  ],
])

table('resources', [
  [
    'a slash too many, and another name',
    { clients: [spa({ token_exchange_resources: [`${API}/`, 'urn:a'] }), backend()] },
    unknown(`${API}/`, `write ${API} in its token_exchange_resources`),
    unknown('urn:a'),
  ],
  [
    'a slash too few, and opaque with it',
    { ...none, indicators: known({ [`${API}/`]: opaqueFor(API) }) },
    unknown(API, `write ${API}/ in its token_exchange_resources`),
    opaque(`${API}/`),
  ],
  ['opaque tokens by default', { indicators: known({ [API]: opaqueFor(API) }) }, opaque(API)],
  [
    'no list',
    {
      ...none,
      clients: [spa({ token_exchange_resources: undefined }), backend()],
      indicators: { getResourceServerInfo: () => opaqueFor(API) },
    },
    UNLIMITED,
    opaque('any resource'),
  ],
  [
    'no list, and lists of others',
    {
      clients: [
        spa({ token_exchange_resources: undefined }),
        spa({ client_id: 'desk', token_exchange_resources: ['urn:b'] }),
        backend(),
      ],
      indicators: known({ [API]: jwtsFor(API), 'urn:b': opaqueFor('urn:b') }),
    },
    UNLIMITED,
    opaque('urn:b'),
  ],
  [
    'information that is none',
    {
      ...none,
      indicators: { getResourceServerInfo: (_ctx, name) => ({ [`${API}/`]: jwtsFor(API) })[name] as never },
    },
    `✗ resources: "spa" may exchange for ${API}, which fails: features.resourceIndicators.getResourceServerInfo must return an object → write ${API}/ in its token_exchange_resources`,
  ],
  [
    'information that never comes',
    {
      ...none,
      options: { customClaimsTimeout: 2 },
      indicators: { getResourceServerInfo: () => tooLate<ResourceServer>(2) },
    },
    `✗ resources: "spa" may exchange for ${API}, which fails: it took more than 2 s → ${COMPARE}`,
  ],
  [
    'a default that is no text',
    {
      ...none,
      indicators: { getResourceServerInfo: () => jwtsFor(API), defaultResource: () => new URL(API) as never },
    },
    `✗ resources: "spa" may exchange for what defaultResource returns, which fails: defaultResource returns no string → ${COMPARE}`,
  ],
  [
    'a default of another format',
    {
      ...none,
      indicators: {
        ...known({ [API]: jwtsFor(API), 'urn:b': opaqueFor('urn:b') }),
        defaultResource: () => 'urn:b',
      },
    },
    opaque('urn:b'),
  ],
  [
    'one that is known for another client only',
    {
      ...none,
      clients: [spa(), spa({ client_id: 'desk' }), backend()],
      indicators: {
        getResourceServerInfo(_ctx, name, { clientId }) {
          if (clientId === 'spa') throw new errors.InvalidTarget()
          return jwtsFor(name)
        },
      },
    },
    unknown(API),
  ],
  [
    'a scope that it lacks',
    { example: { scope: 'root' } },
    dry('scope at the exchange: none of the requested scopes can be granted'),
  ],
  [
    'one of the example that is not known',
    {
      clients: [spa({ token_exchange_resources: undefined }), backend()],
      example: { resource: 'https://nowhere.example.com' },
    },
    UNLIMITED,
    dry('the request at the exchange: resource indicator is missing, or unknown'),
  ],
  [
    'one of the example that is none',
    { example: { resource: 'orders' } },
    dry(
      'the request at the issuance: resource must be an absolute URI without fragment, or a list of 1 to 8 different ones',
    ),
  ],
])

const toApi: Partial<Indicators> = { defaultResource: () => API }
const granted: Partial<Indicators> = { ...toApi, useGrantedResource: () => true }
const onlyExchanging = spa({ grant_types: [TOKEN_EXCHANGE], response_types: [], redirect_uris: [] })

table('actor tokens', [
  ['a default that is not used is none', { indicators: toApi }],
  ['tokens of an API', { indicators: { ...toApi, useGrantedResource: async () => true } }, MUTE],
  [
    'tokens of an API that has the scope are none',
    {
      indicators: { ...granted, getResourceServerInfo: () => ({ ...jwtsFor(API), scope: 'openid' }) },
      example: { scope: undefined },
    },
  ],
  ['no userinfo', { indicators: toApi, features: { userinfo: { enabled: false } } }, MUTE],
  [
    'at one client of two, where the engineer of the example signs in',
    {
      clients: [spa(), portal, backend()],
      indicators: { ...toApi, useGrantedResource: (_ctx, { clientId }) => clientId === 'spa' },
    },
    MUTE,
  ],
  ['they come from elsewhere', { clients: [onlyExchanging, backend()], indicators: granted }],
  [
    'a function that throws',
    { indicators: { ...toApi, useGrantedResource: crash } },
    dry('the request at the exchange: oops! something went wrong: no such table (at …)'),
  ],
])

const NO_ACTOR =
  '! actor: an exchange without an actor token is accepted: the access token then says nothing of who acts → set requireActor: true if every engineer signs in'
const DYNAMIC =
  'give anyone client_credentials, because you enabled that grant yourself → require an initial access token, or leave features.clientCredentials to configure()'
const documents = { enabled: true, ack: 'draft-02' }

table('options and strangers', [
  ['no one need act', { options: { requireActor: false } }, NO_ACTOR],
  [
    'there is no policy',
    { options: { isAllowed: undefined } as never },
    '! policy: there is no isAllowed: every user may be impersonated → set isAllowed',
  ],
  [
    'JWTs that no one can stop for more than 15 minutes',
    { options: { statusList: false, maxAccessTokenTTL: 901 } },
    '! stop: a JWT lives for up to 901 s, and statusList is false: nothing can stop it → switch status lists on, or set maxAccessTokenTTL to 900 or less',
  ],
  ['JWTs of 15 minutes are none', { options: { statusList: false, maxAccessTokenTTL: 900 } }],
  [
    'strangers who register, or describe themselves, are none',
    { features: { registration: { enabled: true }, clientIdMetadataDocument: documents } as never },
  ],
  [
    'strangers who register, and get client credentials',
    {
      features: {
        registration: { enabled: true },
        clientIdMetadataDocument: documents,
        clientCredentials: { enabled: true },
      } as never,
    },
    `! strangers: dynamic registration and client-ID metadata documents ${DYNAMIC}`,
  ],
  [
    'strangers who register, and get client credentials by default',
    {
      features: { registration: { enabled: true } },
      configuration: {
        clientDefaults: { id_token_signed_response_alg: 'ES256', grant_types: ['client_credentials'] },
      },
    },
    `! strangers: dynamic registration ${DYNAMIC}`,
  ],
  [
    'strangers who need an initial access token are none',
    {
      features: {
        registration: { enabled: true, initialAccessToken: true },
        clientCredentials: { enabled: true },
      },
    },
  ],
])

const MOUNT = 'set managementResource to the address under which clients reach it, or mount it there'
const misplaced = (resource: string, prefixes: string, sign: string, more = '') =>
  `${sign} management API: Location names ${resource}, but it is mounted at ${prefixes} → ${MOUNT}${more}`
const mounts =
  (...prefixes: string[]) =>
  ({ impersonation }: Deployment) => {
    for (const prefix of prefixes) impersonation.router({ prefix })
  }
const ROOT = 'https://id.example.com'
const LISTS = `${ROOT}/api/status-lists`
const ONE = 'only one issuer can have its lists there, and APIs refuse the JWTs of the others'
const byDefault = (others: string) =>
  `! status lists: ${LISTS} is also the default address of ${others}: ${ONE} → set managementResource or statusList.uri for one of them; ignore this if the other issuer has set it`
const moved = (address: string) =>
  `– status lists: ${address} is set by an option: no other issuer may have the same address`
/** What the database has of other issuers, and the module attaches. */
const beside =
  (issuers: readonly string[]) =>
  async ({ inside }: Deployment) => {
    for (const issuer of issuers) await inside.options.store.insert(newToken({ issuer }))
  }

table(
  'addresses',
  [
    ['a resource with a slash at the end is none', { options: { managementResource: `${ROOT}/api/` } }],
    [
      'the API may be below the path of the application',
      { options: { managementResource: `${ROOT}/auth/api` }, change: mounts('/internal') },
      misplaced(
        `${ROOT}/auth/api`,
        '/api, /internal',
        '!',
        '; ignore this if your application is itself mounted below /auth/api',
      ),
      moved(`${ROOT}/auth/api/status-lists`),
    ],
    [
      'the API is elsewhere',
      { options: { managementResource: `${ROOT}/internal` } },
      misplaced(`${ROOT}/internal`, '/api', '✗'),
      moved(`${ROOT}/internal/status-lists`),
    ],
    [
      'the API is at the root',
      { options: { managementResource: `${ROOT}/internal` }, change: mounts('') },
      misplaced(
        `${ROOT}/internal`,
        '/api, /',
        '!',
        '; ignore this if your application is itself mounted below /internal',
      ),
      moved(`${ROOT}/internal/status-lists`),
    ],
    [
      'another issuer of the database has the address by default, below the root',
      { change: beside([ROOT]) },
      byDefault(ROOT),
    ],
    [
      'another issuer of the database has the address by default, at the root',
      { issuer: ROOT, change: beside([ISSUER]) },
      byDefault(ISSUER),
    ],
    [
      'every issuer that has it is named',
      { change: beside([`${ISSUER}/`, ROOT, `${ROOT}/`]) },
      byDefault(`${ROOT} and ${ROOT}/ and ${ISSUER}/`),
    ],
    [
      'an issuer at another path has another address',
      { issuer: `${ROOT}/oidc/oidc`, change: beside([ISSUER]) },
      misplaced(
        `${ROOT}/oidc/api`,
        '/api',
        '!',
        '; ignore this if your application is itself mounted below /oidc/api',
      ),
    ],
    [
      'an option moves the lists',
      { options: { statusList: { uri: `${ROOT}/lists` } }, change: beside([ROOT]) },
      moved(`${ROOT}/lists`),
    ],
    [
      'an option says the same',
      {
        issuer: 'https://other.example.com',
        options: { statusList: { uri: LISTS }, managementResource: 'https://other.example.com/api' },
        change: beside([ISSUER]),
      },
      byDefault(ISSUER),
    ],
    ['there are no lists', { options: { statusList: false }, change: beside([ROOT]) }],
    [
      'the module attaches another issuer with the address',
      {
        change: (deployment) =>
          Object.assign(deployment, {
            issuers: [
              { issuer: ROOT, statusLists: LISTS },
              { issuer: `${ROOT}/b`, statusLists: LISTS },
            ],
          }),
      },
      `✗ status lists: ${LISTS} is also the address of ${ROOT} and ${ROOT}/b: ${ONE} → set managementResource or statusList.uri for all but one of them`,
    ],
    [
      'the module attaches an issuer that has moved its lists',
      {
        async change(deployment) {
          await beside([ROOT])(deployment)
          Object.assign(deployment, { issuers: [{ issuer: ROOT, statusLists: `${ROOT}/lists` }] })
        },
      },
    ],
  ],
  { tables: 'own' },
)

const STEP = { clientId: 'orders-api', resource: BILLING, scope: 'orders:read' }
const atStep = (text: string) => dry(`${text.replace(':', ' at the stage onBehalfOf:')}`)
const withApi = (metadata: Partial<ClientMetadata> = {}, given: Given = {}): Given => ({
  example: { onBehalfOf: STEP },
  ...given,
  clients: [spa(), backend(), api(metadata), ...(given.clients ?? [])],
  options: { onBehalfOf: true, ...given.options },
})
const toBilling = (info: () => ResourceServer | Promise<ResourceServer>): Given =>
  withApi(
    {},
    { indicators: { getResourceServerInfo: (_ctx, name) => (name === BILLING ? info() : jwtsFor(name)) } },
  )

table('downstream', [
  [
    'an audience that is not the name of its resource, and an API with one of its own, are none',
    withApi(
      { token_exchange_audiences: ['orders'] },
      {
        clients: [api({ client_id: 'reports', token_exchange_audiences: [BILLING] })],
        indicators: known({ [API]: jwtsFor('orders'), [BILLING]: jwtsFor(BILLING) }),
      },
    ),
  ],
  [
    'an API without the grant',
    withApi({ grant_types: [] }),
    atStep('the request: requested grant type is not allowed for this client'),
  ],
  [
    'a target that is no resource',
    toBilling(() => {
      throw new errors.InvalidTarget()
    }),
    atStep('the request: resource indicator is missing, or unknown'),
  ],
  [
    'no API',
    withApi({ token_exchange_audiences: undefined }),
    '– who may go downstream: no static client, and none that an example names: others were not looked at',
    atStep('request: no token_exchange_audiences'),
  ],
  [
    'a public client',
    withApi({ token_endpoint_auth_method: 'none', client_secret: undefined }),
    atStep('request: the client does not authenticate'),
  ],
  [
    'an audience that no resource has',
    withApi({ token_exchange_audiences: [`${API}/`] }),
    atStep('subject_token: for another audience'),
  ],
  [
    'an API that may go nowhere',
    withApi({ token_exchange_resources: undefined }),
    atStep('target: not among the resources of the client'),
  ],
  [
    'an audience that another API has, too',
    withApi({}, { clients: [api({ client_id: 'reports' })] }),
    `! downstream: orders-api, reports all exchange tokens for ${API} → leave the audience to the API that has it`,
  ],
  [
    'a target whose format is not said, which the provider takes for opaque',
    toBilling(() => opaqueFor(BILLING)),
    atStep('target: its access tokens are opaque'),
  ],
  [
    'a target that cannot be told',
    toBilling(crash),
    atStep('the request: oops! something went wrong: no such table (at …)'),
  ],
])

const stepping = (options: Partial<ImpersonationOptions> = {}, example: Given['example'] = {}): Given => ({
  ...withApi({}, { options }),
  example: { onBehalfOf: STEP, ...(example as object) },
})
const at = (stage: string, decide: () => boolean) => (request: PolicyRequest) =>
  request.stage === stage ? decide() : byBob(request)
const refuse = (): never => {
  throw new AccessDenied('not the payments')
}

const PUBLIC_KEY = createPublicKey({ key: SIGNING_KEY as JsonWebKeyInput['key'], format: 'jwk' })
const ENCRYPT = { alg: 'dir', enc: 'A256GCM', key: Buffer.alloc(32, 2) } as const

table('what an example is refused with', [
  [
    'a user that there is not',
    { example: { userId: 'zoe' } },
    dry('the request at the issuance: user not found'),
  ],
  [
    'accounts that cannot be looked up',
    { configuration: { findAccount: crash } },
    dry('findAccount at the issuance: findAccount failed: no such table (at …)'),
  ],
  [
    'an engineer without an account',
    { options: { isAllowed: ({ actor }) => actor !== undefined }, example: { actorId: 'zoe' } },
    dry('actor_token at the exchange: its account is gone or disabled'),
  ],
  [
    'an application that there is not',
    { example: { clientId: 'nobody' } },
    dry('the request at the issuance: clientId must be a client that may exchange subject tokens'),
  ],
  [
    'an API that there is not',
    stepping({}, { onBehalfOf: { ...STEP, clientId: 'nobody' } }),
    dry('the request at the stage onBehalfOf: there is no client nobody'),
  ],
  [
    'a policy that denies',
    { example: { actorId: 'carol' } },
    dry('isAllowed at the issuance: isAllowed returned false'),
  ],
  [
    'a policy that throws, with its message and its place',
    { options: { isAllowed: crash } },
    dry('isAllowed at the issuance: isAllowed failed: no such table (at …)'),
  ],
  [
    'a policy that throws without an actor, though the example has one',
    { options: { isAllowed: ({ actor }) => (actor as { sub: string }).sub === 'bob' } },
    dry(
      "without actorId, and so without an actor: isAllowed at the issuance: isAllowed failed: Cannot read properties of undefined (reading 'sub') (at …)",
    ),
  ],
  [
    'a policy that returns neither',
    { options: { isAllowed: () => undefined as never } },
    dry('isAllowed at the issuance: isAllowed must return true or false'),
  ],
  [
    'a policy that does not look at who acts',
    { options: { isAllowed: () => true } },
    '! policy: isAllowed does not look at actor: everyone who can sign in may act → let isAllowed decide on actor.sub',
  ],
  [
    'a policy that looks at whom the backend names only',
    { options: { isAllowed: (request) => request.stage !== 'issuance' || byBob(request) } },
    '! policy: isAllowed does not look at actor: everyone who can sign in may act → let isAllowed decide on actor.sub',
  ],
  [
    'an engineer who is not required, and a policy that needs none, are none of the example',
    { options: { requireActor: false, isAllowed: () => true }, example: { actorId: undefined } },
    NO_ACTOR,
  ],
  [
    'claims that cannot be told, and no step is tried',
    stepping({ getCustomJwtClaims: crash }),
    dry('getCustomJwtClaims at the exchange: getCustomJwtClaims failed: no such table (at …)'),
  ],
  [
    'a step that is denied with a reason',
    stepping({ isAllowed: at('onBehalfOf', refuse) }),
    dry('isAllowed at the stage onBehalfOf: not the payments'),
  ],
  [
    'a step that the policy does not know',
    stepping({ isAllowed: at('onBehalfOf', crash) }),
    dry('isAllowed at the stage onBehalfOf: isAllowed failed: no such table (at …)'),
  ],
  [
    'a step that the claims function does not know',
    stepping({
      getCustomJwtClaims: ({ context }) => (context.grant.kind === 'impersonation' ? {} : crash()),
    }),
    dry('getCustomJwtClaims at the stage onBehalfOf: getCustomJwtClaims failed: no such table (at …)'),
  ],
  [
    'pairwise subjects, bound tokens, an external API and a life that depends on the request are none',
    {
      clients: [
        spa({ subject_type: 'pairwise', dpop_bound_access_tokens: true }),
        backend({
          token_endpoint_auth_method: 'private_key_jwt',
          jwks_uri: 'https://backend.example.com/jwks',
          client_secret: undefined,
          token_endpoint_auth_signing_alg: 'ES256',
        }),
      ],
      indicators: known({ [API]: { ...opaqueFor(API), accessTokenFormat: 'opaque' } }),
      features: { dPoP: { enabled: true, nonceSecret: Buffer.alloc(32), requireNonce: () => false } },
      configuration: {
        subjectTypes: ['public', 'pairwise'],
        pairwiseIdentifier: (_ctx, accountId) => `pairwise ${accountId}`,
        ttl: { AccessToken: (ctx) => (ctx.oidc.client?.clientId === 'spa' ? 60 : 0) },
      },
    },
  ],
  [
    'access tokens that are encrypted, after they were signed or without a signature, are none',
    {
      ...stepping({ getCustomJwtClaims: () => ({ ticket: 'T-1' }) }),
      indicators: known({
        [API]: { ...jwtsFor(API), jwt: { sign: { alg: 'ES256' }, encrypt: ENCRYPT } },
        [BILLING]: { ...jwtsFor(BILLING), jwt: { encrypt: ENCRYPT } },
      }),
    },
  ],
  [
    'a shared key that signs is none',
    {
      indicators: known({
        [API]: { ...jwtsFor(API), jwt: { sign: { alg: 'HS256', key: Buffer.alloc(32) } } },
      }),
    },
  ],
  [
    'a shared key that is a public one',
    { indicators: known({ [API]: { ...jwtsFor(API), jwt: { sign: { alg: 'HS256', key: PUBLIC_KEY } } } }) },
    dry(
      'the request at the exchange: oops! something went wrong: jwt.sign.key Resource Server configuration must be a secret (symmetric) key (at …)',
    ),
  ],
  [
    'a step that the example does not have',
    withApi({}, { example: {} }),
    '– dry run: the stage onBehalfOf was not tried: the example has no member onBehalfOf',
  ],
  [
    'a step while the option is off',
    { example: { onBehalfOf: STEP } },
    '✗ dry run: onBehalfOf is off: an API can exchange nothing → set onBehalfOf, or remove it from the example',
  ],
])

const expecting = (
  isAllowed: ImpersonationOptions['isAllowed'] | undefined,
  example: object = {},
): Given => ({
  options: { isAllowed } as never,
  example: { actorId: 'carol', expect: 'denied', ...example },
})
const ALLOWED = `✗ policy: isAllowed allows it, and the example expects "denied" → ${DECIDE}`

table('an example that the policy must deny', [
  ['denied', expecting(byBob)],
  ['denied with a reason', expecting(refuse)],
  ['denied at the exchange', expecting((request) => request.stage === 'issuance' || byBob(request))],
  ['allowed', expecting(() => true), ALLOWED],
  [
    'allowed where there is no policy',
    expecting(undefined),
    '! policy: there is no isAllowed: every user may be impersonated → set isAllowed',
    ALLOWED,
  ],
  [
    'denied where the backend names the engineer, only',
    expecting(({ stage, actor }) => stage === 'exchange' || actor?.sub !== 'carol'),
    `✗ policy: isAllowed allows it where the backend does not name the actor, and the example expects "denied" → ${DECIDE}`,
  ],
  [
    'neither denied nor allowed',
    expecting(() => undefined as never),
    dry('isAllowed at the issuance: isAllowed must return true or false'),
  ],
  [
    'refused for another reason',
    expecting(() => true, { actorId: 'zoe' }),
    dry('actor_token at the exchange: its account is gone or disabled'),
  ],
  ['denied without an engineer', expecting(({ userId }) => userId !== 'alice', { actorId: undefined })],
])

const opening = (given: Given = {}): Given => ({
  ...given,
  clients: [spa(), backend(), ...(given.clients ?? [shop()])],
  options: {
    store: createMemoryStore(),
    sessions: { door: `${new URL(given.issuer ?? ISSUER).origin}/impersonate` },
    ...given.options,
  },
  example: { session: { clientId: 'shop', scope: 'openid profile' }, ...(given.example as object) },
  configuration: { ...reachesLoopback(), cookies: { keys: ['k'.repeat(32)] }, ...given.configuration },
})

const READS = { readOnly: true } as const
const undeclared = (name: string, advice: string) =>
  `✗ read only: ${name} does not say that it obeys what is read-only, which the example is → ${advice}`
const DECLARE = 'let getResourceServerInfo return readOnly: true for it, once its API obeys'

table('read only', [
  ['the resource has not declared it', { example: READS }, undeclared(API, DECLARE)],
  ['by the option', { options: READS }, undeclared(API, DECLARE)],
  ['an example that may write, where the option is on', { options: READS, example: { readOnly: false } }],
  [
    'the resource behind it has not',
    {
      clients: [spa(), backend(), api()],
      options: { onBehalfOf: true },
      indicators: known({ [API]: { ...jwtsFor(API), ...READS }, [BILLING]: jwtsFor(BILLING) }),
      example: { ...READS, onBehalfOf: { clientId: 'orders-api', resource: BILLING } },
    },
    undeclared(BILLING, DECLARE),
  ],
  [
    'the resource names what writes',
    {
      indicators: known({ [API]: { ...jwtsFor(API), scope: 'orders:read a', writeScopes: ['a'] } }),
      example: READS,
    },
  ],
  [
    'the application has not',
    opening({
      indicators: known({ [API]: { ...jwtsFor(API), ...READS } }),
      example: { ...READS, session: { clientId: 'shop' } },
    }),
    undeclared('"shop"', 'set impersonation_read_only: true, once it has a guard'),
  ],
  [
    'all have',
    opening({
      clients: [shop({ impersonation_read_only: true })],
      indicators: known({ [API]: { ...jwtsFor(API), ...READS } }),
      example: { ...READS, session: { clientId: 'shop' } },
    }),
  ],
])

const opened = (text: string) => dry(`session: ${text}`)
const internal = (client: string, address: string) =>
  `✗ logout: "${client}" is at ${address}: oidc-provider's own fetch connects to no internal address, so it is never told → set fetch in the configuration of the provider`

table('sessions', [
  ['an application that is opened is none', opening()],
  [
    'an application that pushes and signs its requests, and gets its ID token encrypted, and cookies for https only, are none',
    opening({
      clients: [
        shop({
          require_pushed_authorization_requests: true,
          require_signed_request_object: true,
          id_token_encrypted_response_alg: 'dir',
          id_token_encrypted_response_enc: 'A256GCM',
        }),
      ],
      features: {
        encryption: { enabled: true },
        pushedAuthorizationRequests: { enabled: true, requirePushedAuthorizationRequests: true },
        requestObjects: { enabled: true, requireSignedRequestObject: true },
      },
      configuration: {
        cookies: { keys: ['k'.repeat(32)], long: { secure: true, sameSite: 'none' } },
      },
    }),
  ],
  [
    'no example opens an application',
    opening({ example: { session: undefined } }),
    '– dry run: no application was opened: the example has no member session',
  ],
  [
    'sessions are off',
    { example: { session: { clientId: 'shop' } } },
    '✗ dry run: sessions are off: nothing can be opened → set sessions, or remove session',
  ],
  [
    'a door that is not served by https, keys that can be guessed, and a client that cannot be told',
    opening({
      issuer: 'http://id.example.com/oidc',
      clients: [
        shop(),
        shop({
          client_id: 'unended',
          backchannel_logout_uri: undefined,
          backchannel_logout_session_required: undefined,
          impersonation_sessions_unended: true,
        }),
      ],
      configuration: { cookies: { keys: ['short', 'k'.repeat(32)] } },
    }),
    '✗ door: http://id.example.com/impersonate is not https: what a browser carries to the application can be read and copied → serve the provider and the door by https',
    '! door keys: 1 of 2 cookies.keys have fewer than 32 bytes: who guesses one can forge what the door seals → use 32 random bytes for each',
    '! logout: cannot be told when a session ends, so that their own may last: unended → give them backchannel_logout_uri and backchannel_logout_session_required',
  ],
  [
    'internal addresses, and one that is not found here',
    opening({
      clients: Object.entries({
        four: 'http://10.1.2.3',
        six: 'http://[::1]',
        none: 'https://shop.invalid',
      }).map(([client_id, address]) => shop({ client_id, backchannel_logout_uri: `${address}/logout` })),
      configuration: { fetch: undefined } as never,
      example: { session: { clientId: 'four', scope: 'openid' } },
    }),
    internal('four', '10.1.2.3'),
    internal('six', '::1'),
    '– logout: "none" was not looked at: there is no address of shop.invalid here',
  ],
  [
    'a policy that denies at the door',
    opening({ options: { isAllowed: (request) => request.stage !== 'session' && byBob(request) } }),
    opened('the door: isAllowed: isAllowed returned false'),
  ],
  [
    'a client that is not open',
    opening({ clients: [shop({ impersonation_sessions: undefined })] }),
    '– who can be opened: no static client, and none that an example names: others were not looked at',
    opened('clientId must be a client that is open to sessions'),
  ],
  [
    'a client that there is not',
    opening({ example: { session: { clientId: 'nowhere' } } }),
    opened('clientId must be a client that is open to sessions'),
  ],
  [
    'a client that may not ask for openid',
    opening({ clients: [shop({ scope: 'profile' })] }),
    opened('the arrival: requested scope is not allowed'),
  ],
  [
    'a request without openid',
    opening({ example: { session: { clientId: 'shop', scope: 'profile' } } }),
    opened('the arrival: openid scope must be requested when using the nonce parameter'),
  ],
  [
    'a claims function that fails at the arrival',
    opening({
      options: { getCustomJwtClaims: ({ context }) => (context.grant.kind === 'session' ? crash() : {}) },
    }),
    opened('the arrival: getCustomJwtClaims: getCustomJwtClaims failed: no such table (at …)'),
  ],
  [
    'a user that the code does not find',
    opening({
      configuration: {
        findAccount: async (_ctx, accountId, source) =>
          source ? undefined : { accountId, claims: () => ({ sub: accountId }) },
      },
    }),
    opened('the code: grant request is invalid'),
    dry('the request at the exchange: grant request is invalid'),
  ],
])

/** The database is gone after so many clients were read. */
const unread = (reads: number, example: object): Given => {
  let left = reads
  const find = async (id: string) => (left-- > 0 ? (api({ client_id: id }) as AdapterPayload) : crash())
  const adapter = (model: string) => ({
    ...storedModels().adapter(model),
    ...(model === 'Client' && { find }),
  })
  return opening({ configuration: { adapter }, options: { onBehalfOf: true }, example })
}

table('clients of an example that cannot be read', [
  [
    'a stored client that cannot be read at all',
    unread(0, { session: { clientId: 'stored', scope: 'openid' } }),
    '✗ clients: "stored" fails at its first request: no such table → look at what reads and validates its metadata: your adapter, its database, your validator',
    '– who may go downstream: no static client, and none that an example names: others were not looked at',
    `${STOPPED}the second provider cannot be set up: no such table`,
  ],
  [
    'a stored client that can no longer be read',
    unread(1, { onBehalfOf: { ...STEP, clientId: 'stored' } }),
    dry('the second provider cannot be set up: no such table'),
  ],
])

describe('check: what it asks, and leaves alone', () => {
  it('asks the functions as the requests of the example would', async () => {
    const asked: PolicyRequest[] = []
    const claims: CustomClaimsRequest[] = []
    const lines = await troubles(
      stepping({
        isAllowed: (request) => byBob(request) && asked.push(request) > 0,
        getCustomJwtClaims(request) {
          claims.push(request)
          return { ticket: request.context.grant.subjectTokenContext.ticketId }
        },
      }),
    )
    expect(lines).to.deep.equal([])
    const shared = {
      userId: 'alice',
      createdBy: { id: 'backend' },
      context: { ticketId: 'T-1' },
      scope: 'orders:read',
      use: 'exchange',
    }
    const [issuance, exchange, step] = asked.map(({ account, ...request }) => {
      expect(account.accountId).to.equal('alice')
      return request
    })
    expect(asked).to.have.length(3)
    // The backend names all that the example reaches.
    expect(issuance).to.deep.equal({
      ...shared,
      stage: 'issuance',
      client: { id: 'spa' },
      actor: { sub: 'bob', verified: false },
      resource: [API, BILLING],
    })
    expect(exchange).to.deep.include({ ...shared, stage: 'exchange', client: { id: 'spa' }, resource: API })
    expect(step).to.deep.include({
      ...shared,
      stage: 'onBehalfOf',
      client: { id: 'orders-api' },
      actor: { sub: 'bob', clientId: 'spa', verified: true },
      through: [],
      subjectToken: { clientId: 'spa', audience: API, scope: 'orders:read', bound: false },
      resource: BILLING,
    })
    expect(claims.map(({ token: { aud, clientId } }) => [aud, clientId])).to.deep.equal([
      [API, 'spa'],
      [BILLING, 'orders-api'],
    ])
    expect(claims[1]?.context.grant).to.deep.include({
      kind: 'onBehalfOf',
      subjectTokenContext: { ticketId: 'T-1' },
      subjectTokenClaims: { ticket: 'T-1' },
    })
  })

  it('asks about each resource for each client, once', async () => {
    const asked: string[] = []
    await troubles({
      ...none,
      clients: [spa(), spa({ client_id: 'desk', token_exchange_resources: [API, BILLING] }), backend()],
      indicators: {
        getResourceServerInfo(_ctx, name, { clientId }) {
          asked.push(`${clientId}: ${name}`)
          return jwtsFor(name)
        },
      },
    })
    expect(asked).to.have.members([`spa: ${API}`, `desk: ${API}`, `desk: ${BILLING}`])
  })

  const never = () => {
    setImmediate(() => mock.timers.tick(8_000))
    return new Promise<never>(() => {})
  }
  const without = (name: string): Given => ({
    configuration: {
      findAccount: (_ctx, accountId) =>
        accountId === name ? never() : { accountId, claims: () => ({ sub: accountId }) },
    },
  })
  const unsettled: readonly (readonly [what: string, given: Given, stage: string])[] = [
    ['the account of the user', without('alice'), 'issuance'],
    ['the account of the engineer', without('bob'), 'exchange'],
    ['the token of a sign-in', { indicators: { ...toApi, useGrantedResource: never } }, 'exchange'],
    ['the target of a step', toBilling(never), 'stage onBehalfOf'],
  ]
  for (const [what, given, stage] of unsettled) {
    it(`waits for no function without end: ${what}`, async () => {
      const options = { ...given.options, customClaimsTimeout: 1 }
      const change = () => mock.timers.enable({ apis: ['setTimeout'] })
      expect(await troubles({ ...given, options, change }).finally(() => mock.timers.reset())).to.deep.equal([
        dry(`the request at the ${stage}: functions of the deployment took more than 8 s`),
      ])
    })
  }

  it('writes nothing, and tells no listener', async () => {
    const written = shared.statements.length
    const given = opening()
    await troubles({
      ...given,
      change({ inside }) {
        inside.provider.emit = (event) => expect.fail(`told ${String(event)}`)
      },
    })
    await troubles({})
    const statements = shared.statements.slice(written)
    // That of the rights writes no row.
    const writes = statements.filter((sql) => !/: select |WHERE 1 = 0$/i.test(sql))
    expect(writes).to.deep.equal([])
  })
})

/** A store of which some reads fail. */
function failing(fails: (read: number) => boolean) {
  const find = () => {
    reads += 1
    return fails(reads) ? Promise.reject(new Error('too many connections')) : Promise.resolve(undefined)
  }
  let reads = 0
  return { ...createMemoryStore(), find }
}
const MISSING =
  'storage failed: the tables are missing or not up to date: run `oidc-impersonation migrate`, or call migrate() at the start'
const notReady = (why: string) =>
  `✗ storage: not ready: ${why} → check the database URL, and run \`oidc-impersonation migrate\``

table(
  'storage',
  [
    [
      'that fails for some of many reads at once',
      { options: { store: failing((read) => read % 4 === 0) } },
      '✗ many at once: 10 of 40 reads at the same time failed: too many connections → look at the limits of the pool, of the server and of the pooler (docs/operate.md, Databases)',
    ],
    [
      'that is not ready, and is asked for nothing else',
      {
        options: {
          store: { ...failing(() => true), ready: () => Promise.reject(new Error('no such table')) },
        },
      },
      notReady('no such table'),
    ],
    [
      'that has not been migrated',
      { tables: 'missing' },
      notReady(MISSING),
      `– status lists: not checked: ${MISSING}`,
    ],
    [
      'whose rights cannot be told',
      {
        tables: 'own',
        options: { store: failing(() => false) },
        change: ({ sequelize }) => sequelize?.query('DROP TABLE subject_token_actors'),
      },
      `✗ rights: not known: ${MISSING} → check that \`sequelize\` is that of the store`,
    ],
  ],
  none,
)

describeOn('postgres', 'check: storage, on postgres', () => {
  let role: Role
  let database: Database
  beforeOn('postgres', async () => {
    database = await openDatabase('postgres')
    role = await createRole(database)
  })
  after(async () => {
    await role?.drop()
    await database?.close()
  })

  it('names the rights that the role lacks, of which the purge alone needs two', async () => {
    const given: Readonly<Record<string, string>> = {
      subject_tokens: 'SELECT, UPDATE',
      subject_token_actors: 'SELECT, INSERT',
      oidc_models: 'SELECT, INSERT, UPDATE',
    }
    for (const { name, rights } of [...TOKEN_TABLES, STEPS, MODELS])
      await database.sequelize.query(`GRANT ${given[name] ?? rights.join(', ')} ON ${name} TO ${role.name}`)
    const sequelize = database.connect({ username: role.name })
    const change = (deployment: Deployment) => Object.assign(deployment, { sequelize })
    expect(await troubles({ ...none, change })).to.deep.equal([
      '✗ rights: no INSERT on subject_tokens → GRANT INSERT ON subject_tokens to the role of the deployment',
      '! rights: no DELETE on subject_tokens → give it to the role that runs the purge',
      '! rights: no DELETE on subject_token_actors → give it to the role that runs the purge',
      '✗ rights: no DELETE on oidc_models → GRANT DELETE ON oidc_models to the role of the deployment',
    ])
  })
})

describe('check: an address that an error quotes', () => {
  it('is shown without its user and password, whatever the password holds', () => {
    for (const credentials of ['u:p', 'u:hun/t@er2', 'u:p@//x@y', 'u'])
      expect(withoutCredentials(`no route to postgres://${credentials}@db/x`)).to.equal(
        'no route to postgres://***@db/x',
      )
    expect(withoutCredentials('no route to postgres://db/x')).to.equal('no route to postgres://db/x')
  })
})
