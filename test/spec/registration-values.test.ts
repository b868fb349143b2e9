/** Metadata of any type, and clients that describe themselves in a document (docs/protocol.md §2.3). */
import { expect } from 'chai'
import { type ClientMetadata, errors } from 'oidc-provider'
import { withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient, publicClient } from '../../fixtures/clients.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { manage } from '../../fixtures/management.ts'
import { askAsMachine, EVERYTHING, SELF_DESCRIBED_MACHINE } from '../../fixtures/metadata-documents.ts'
import { apiClient, BILLING } from '../../fixtures/on-behalf-of.ts'
import { HARMLESS, privileges, register, update } from '../../fixtures/registration.ts'
import { exchange, managementToken, postToken } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { TOKEN_EXCHANGE } from '../../src/base/constants.ts'
import { afresh, everyBearer, isReceived, jwtOnly, sends, token, tokenRefused } from './bearing.ts'
import { ready, send } from './exchanging.ts'
import {
  answers,
  because,
  changesNothing,
  invalidRequest,
  recordUnchanged,
  refused,
  spent,
  succeeds,
} from './expectations.ts'
import { fails, functions, on, stored, works } from './given.ts'
import { forged } from './management-routes.ts'
import { asks, requests } from './managing.ts'
import { declareCells } from './matrix.ts'
import { EXCHANGING, NOTHING, registered, registers, updated } from './registration.ts'
import { answer, type Named, record, type Step, type Steps, values } from './rule.ts'
import type { Scene } from './scene.ts'

const CREATE = 'subject-tokens:create'
const SCOPES = `${CREATE} subject-tokens:read subject-tokens:revoke`
const NO_RESOURCES = 'token_exchange_resources must be an array of absolute URIs'
const NO_AUDIENCES = 'token_exchange_audiences must be an array of strings'

const ODD = [null, true, false, 0, 1, -1.5, '', ' ', [], {}, [null], [[]], [{}], { length: 1 }]
const NO_LIST = [
  ...ODD.filter((value) => !Array.isArray(value) || value.length > 0),
  API,
  7,
  [7],
  [API, 7],
  [API, null],
  [''],
  { 0: API, length: 1 },
  { every: API },
  [[API]],
]
/** Odd values for each member, and those that a careless check would mistake for the privilege. */
const ANYTHING: Named<readonly unknown[]> = {
  scope: [
    ...ODD,
    [CREATE],
    [[CREATE]],
    { [CREATE]: true },
    { 0: CREATE, length: 1 },
    { toString: CREATE },
    { split: [CREATE] },
    `openid\t${CREATE}`,
    `openid\n${CREATE}`,
    `\u00a0${CREATE}`,
    CREATE.toUpperCase(),
    `${CREATE},`,
  ],
  grant_types: [
    ...ODD,
    TOKEN_EXCHANGE,
    `authorization_code ${TOKEN_EXCHANGE}`,
    'client_credentials',
    [['client_credentials']],
    [[TOKEN_EXCHANGE]],
    ['authorization_code', [TOKEN_EXCHANGE]],
    { 0: TOKEN_EXCHANGE, length: 1 },
    { [TOKEN_EXCHANGE]: true },
    { includes: TOKEN_EXCHANGE },
    [TOKEN_EXCHANGE.toUpperCase()],
    [`${TOKEN_EXCHANGE} `],
    [7],
  ],
  token_exchange_resources: [...NO_LIST, [], ['/relative'], [`${API}#fragment`]],
  token_exchange_audiences: [...NO_LIST, [], [API]],
  token_endpoint_auth_methods_supported: [null, 7, {}, 'none'],
  dpop_bound_access_tokens: ['true'],
  subject_type: [['public']],
  redirect_uris: ODD,
  response_types: ODD,
  client_id: [{}, [], 'spa', null],
  client_secret: [{}, 'x'],
}
/** Whole bodies. */
const BODIES = [
  'null',
  '[]',
  '7',
  '"x"',
  '{',
  '',
  `{"__proto__":{"scope":"${CREATE}"}}`,
  `{"__proto__":{"grant_types":["${TOKEN_EXCHANGE}"]},"redirect_uris":["https://a.example.com"]}`,
  `{"constructor":{"prototype":{"scope":"${CREATE}"}},"redirect_uris":["https://a.example.com"]}`,
  `{"scope":"openid","scope":"${CREATE}","redirect_uris":["https://a.example.com"]}`,
  `{"grant_types":[],"grant_types":["${TOKEN_EXCHANGE}"],"redirect_uris":["https://a.example.com"]}`,
]

/** Metadata that a stranger sends. A client that is registered by it may do nothing, and nothing has failed. */
const maySendAny = (all: readonly unknown[], metadataOf: (value: unknown) => object | string): Steps => [
  on('open to registration'),
  answer(async ({ setting }) => {
    const failures = setting.errors.length
    let { body: client } = await register(setting, HARMLESS)
    for (const value of all) {
      const metadata = metadataOf(value)
      const responses = [
        await register(setting, typeof metadata === 'string' ? metadata : { ...HARMLESS, ...metadata }),
      ]
      if (typeof metadata === 'object') responses.push(await update(client, { ...metadata }))
      for (const { status, body, text } of responses) {
        expect(status, text).to.be.lessThan(500)
        if (status >= 400) expect(body?.error, text).to.be.a('string')
        else expect(await privileges(setting, body), JSON.stringify(value)).to.deep.equal(NOTHING)
      }
      const { status, body } = responses[1] ?? {}
      if (status === 200) client = { ...client, registration_access_token: body.registration_access_token }
    }
    expect(await privileges(setting, client)).to.deep.equal(NOTHING)
    expect(setting.errors.slice(failures)).to.deep.equal([])
  }),
  recordUnchanged,
]

const named = (all: readonly unknown[]): Named<unknown> =>
  Object.fromEntries(all.map((value) => [JSON.stringify(value), value]))
/** No list of the member: a client with the policy neither registers it nor takes it by an update. */
const malformed = (member: string, sentence: string, all: readonly unknown[]) => [
  values(`M129, ${member}`, named(all), (value) =>
    registered([{ ...EXCHANGING, [member]: value }, sentence]),
  ),
  values(`M129, ${member} of`, { 'a registered client': all }, () => [
    registers({ ...EXCHANGING, token_exchange_resources: [API], token_exchange_audiences: ['orders'] }),
    // In an update, the provider takes null and an empty text for a member that is left out.
    all
      .filter((value) => value !== null && value !== '')
      .map((value) => updated([{ [member]: value }, sentence])),
  ]),
]

const raw = [
  values('M121, any type', ANYTHING, (all, member) => maySendAny(all, (value) => ({ [member]: value }))),
  values('M121, any', { body: BODIES }, (all) => maySendAny(all, String)),
  ...malformed('token_exchange_resources', NO_RESOURCES, [...NO_LIST, ['/relative'], [`${API}#fragment`]]),
  ...malformed('token_exchange_audiences', NO_AUDIENCES, [...NO_LIST, ['a\0']]),
  values<Partial<ClientMetadata>>(
    'M129, stored',
    {
      'resources, no list': { token_exchange_resources: API },
      'resources, no texts': { token_exchange_resources: [7] },
      'resources, null': { token_exchange_resources: null },
      'audiences, no list': { token_exchange_audiences: 'orders' },
      'audiences, one of them empty': { token_exchange_audiences: [''] },
    },
    (metadata) => [
      stored(publicClient({ client_id: 'malformed', ...metadata })),
      send({}, { client: { client_id: 'malformed' } }),
      answers(400, 'invalid_client_metadata'),
      changesNothing,
      send(),
      succeeds(),
      spent,
    ],
  ),
]

const SELF_DESCRIBED = 'the client describes itself in a metadata document'
const NO_GRANT = 'requested grant type is not allowed for this client'
/** The client of the scene is known by this document, which no other cell has fetched. */
const isKnownBy =
  (documentOf: (clientId: string) => unknown): Step =>
  ({ setting: { web }, undo, kept }) => {
    const { document: before } = web
    kept.clientId = `https://client.example.com/${unique('document')}`
    web.document = documentOf(kept.clientId)
    undo.push(() => {
      web.document = before
    })
  }
const describesItself = (document: Omit<ClientMetadata, 'client_id'>): Step =>
  isKnownBy((client_id) => ({ ...document, client_id }))
const clientOf = ({ kept }: Scene): ClientMetadata => ({ client_id: kept.clientId ?? '' })
const asMachine = (parameters: Parameters): Step =>
  requests((scene) => askAsMachine(scene.setting, parameters, clientOf(scene).client_id))
/** No token, and none was stored. */
const noToken: Steps = [
  answers(400, 'invalid_request', NO_GRANT),
  record(({ calls }) =>
    expect(calls.filter((call) => call.startsWith('ClientCredentials.'))).to.deep.equal([]),
  ),
]
const mayNothing = record(async (scene) => {
  expect(await privileges(scene.setting, clientOf(scene))).to.deep.equal(NOTHING)
})
const MACHINE_ALONE = { ...SELF_DESCRIBED_MACHINE, grant_types: ['client_credentials'] }
const { grant_types: _, ...SILENT_MACHINE } = SELF_DESCRIBED_MACHINE

const documents = [
  values<ClientMetadata>(
    'M130, a document that',
    {
      'names the grant and every scope': EVERYTHING,
      'names the grant alone': { ...EVERYTHING, grant_types: [TOKEN_EXCHANGE], response_types: [] },
      'confines itself': { ...EVERYTHING, token_exchange_resources: [API] },
      'claims to be none': { ...EVERYTHING, clientIdMetadataDocument: false },
      'claims a policy': { ...EVERYTHING, policies: ['impersonation'] },
      'names nothing': { ...EVERYTHING, grant_types: ['authorization_code'], scope: undefined },
    },
    (document) => [
      describesItself(document),
      send({}, (scene) => ({ client: clientOf(scene) })),
      invalidRequest(NO_GRANT, document.grant_types?.includes(TOKEN_EXCHANGE) ? SELF_DESCRIBED : null),
      mayNothing,
    ],
  ),
  values<Parameters>(
    'M130, client credentials',
    {
      'without a resource': {},
      'without a resource, for a scope': { scope: 'openid' },
      'for an empty resource': { resource: '' },
      'for a resource': { resource: API, scope: 'orders:read' },
      'for an opaque resource': { resource: OPAQUE_API },
      'for two resources': { resource: [API, OPAQUE_API] },
    },
    (parameters) => [
      describesItself(SELF_DESCRIBED_MACHINE),
      asMachine(parameters),
      noToken,
      // Now the provider knows the document.
      asMachine(parameters),
      noToken,
    ],
  ),
  values<Steps>(
    'M130, client credentials all the same',
    {
      'which are all that the document names': [describesItself(MACHINE_ALONE), asMachine({ resource: API })],
      'for the management API': [
        describesItself(SELF_DESCRIBED_MACHINE),
        (scene) => asMachine({ resource: `${scene.setting.baseUrl}/api` })(scene),
      ],
      'for the default resource': [
        functions({ defaultResource: () => API }),
        describesItself(SELF_DESCRIBED_MACHINE),
        asMachine({}),
      ],
      'without authentication': [
        describesItself({ ...EVERYTHING, grant_types: ['authorization_code', 'client_credentials'] }),
        requests((scene) =>
          postToken(scene.setting, { grant_type: 'client_credentials' }, { client: clientOf(scene) }),
        ),
      ],
      'by the defaults of all clients': [
        on('with privileges by default'),
        describesItself(SILENT_MACHINE),
        asMachine({ resource: API }),
      ],
    },
    (steps) => [steps, noToken],
  ),
  values('M130, client credentials that the host enabled', { 'of every scope': SCOPES }, (scope) => [
    on('with client credentials of the host'),
    describesItself(SELF_DESCRIBED_MACHINE),
    (scene) => asMachine({ resource: `${scene.setting.baseUrl}/api`, scope })(scene),
    answer(async ({ setting, response }) => {
      const { access_token: token, ...others } = response.body
      expect(others).to.deep.equal({ token_type: 'Bearer', expires_in: 600 })
      for (const method of ['GET', 'DELETE', 'POST']) {
        const { status, body } = await manage(setting, method, '', { token })
        expect([status, body.error]).to.deep.equal([403, 'insufficient_scope'])
      }
    }),
    mayNothing,
  ]),
  values<ClientMetadata>(
    'M130, stored under such a name',
    { 'by the administrator': { ...EVERYTHING, client_id: 'https://stored.example.com/' } },
    (client) => [
      isKnownBy(() => undefined),
      stored(client),
      send({}, { client: { client_id: client.client_id } }),
      succeeds(),
      spent,
    ],
  ),
]

const backend = machineClient({ client_id: 'stored-backend' })
const application = publicClient({ client_id: 'stored-spa' })
const unavailable = 'the service is temporarily unavailable'
/** Its metadata was valid once. */
const spoilt = (client: ClientMetadata) => stored({ ...client, redirect_uris: ['no uri'] })
/** Sends the management token that was kept. */
const manages = asks('POST /subject-tokens', ({ kept }) => ({ token: kept.management ?? '' }))

const NOT_DOCUMENTS: Named<(clientId: string) => unknown> = {
  'is gone': () => undefined,
  'is of another client': () => EVERYTHING,
  'is no object': () => [],
  'is malformed': (client_id) => ({ ...EVERYTHING, client_id, redirect_uris: 7 }),
}
const ofClient = ({ kept: { clientId = '' } }: Scene) => ({ client_id: clientId })

/** As `sends` does: the status may be the adapter's own, which openapi.json does not describe. */
const sendsUndescribed: Step = async (scene) => {
  const { token: value = '' } = scene.kept
  if (isReceived(scene)) scene.received = value
  await ready(scene)
  const { setting, subjectToken } = scene
  await scene.request(() =>
    isReceived(scene)
      ? exchange(setting, { subject_token: value, resource: BILLING }, { client: apiClient() })
      : exchange(setting, { subject_token: subjectToken, ...withActor(value) }),
  )
}

/** What becomes of tokens when their client is gone, or cannot be looked up. */
const clientRules = [
  values<Steps>(
    'M113, a client that',
    {
      'cannot be looked up': [
        fails('Client.find'),
        manages,
        refused(503, 'temporarily_unavailable', unavailable, null),
        answer(({ setting, response: { headers } }) => {
          expect(Number(headers.get('retry-after'))).to.be.greaterThan(0)
          expect(headers.get('www-authenticate')).to.equal(null)
          expect(setting.errors).not.to.deep.equal([])
        }),
        works('Client.find'),
        manages,
        succeeds({}, 201),
      ],
      'is not valid any more': [
        spoilt(backend),
        manages,
        refused(401, 'invalid_token', 'the access token is invalid', null),
      ],
    },
    (steps) => [
      stored(backend),
      async ({ setting, kept }) => {
        kept.management = await managementToken(setting, { client: backend })
      },
      steps,
    ],
  ),
  values('M113, a document that', NOT_DOCUMENTS, (documentOf) => [
    isKnownBy(documentOf),
    asks(
      'POST /subject-tokens',
      forged(({ kept: { clientId } }) => ({ sub: clientId, client_id: clientId })),
    ),
    refused(401, 'invalid_token', 'the access token is invalid', null),
  ]),
  everyBearer('E66, not valid any more', [
    stored(application),
    token({ client_id: 'stored-spa' }),
    sends(),
    afresh,
    spoilt(application),
    sends(),
    tokenRefused('its client is gone'),
  ]),
  ...Object.entries({
    500: new Error('private: no connection'),
    503: new errors.OIDCProviderError(503, 'private: no connection'),
  }).map(([status, failure]) =>
    everyBearer(`E66, a client that cannot be looked up, ${status}`, [
      stored(application),
      token({ client_id: 'stored-spa' }),
      fails('Client.find', failure),
      sendsUndescribed,
      answers(Number(status), 'server_error'),
      answer(({ response }) => expect(response.text).not.to.include('private')),
      because(failure.constructor.name),
      changesNothing,
      works('Client.find'),
      sends(),
      succeeds(),
      spent,
    ]),
  ),
  everyBearer('E66, that describes itself', [
    describesItself(EVERYTHING),
    token(ofClient),
    sends(),
    succeeds(),
    spent,
  ]),
  ...Object.entries(NOT_DOCUMENTS).map(([title, documentOf]) =>
    jwtOnly(`E66, a document that ${title}`, 'the provider issues none to such a client', [
      isKnownBy(documentOf),
      token(ofClient),
      sends(),
      tokenRefused('its client is gone'),
    ]),
  ),
]

const registrationValueRules = [...documents, ...raw]

declareCells('M and E66, values of registrations', [...registrationValueRules, ...clientRules])
