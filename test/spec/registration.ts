/** What a client may register, and may change about itself (docs/protocol.md §2.3). */
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { publicClient } from '../../fixtures/clients.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import {
  askAsMachine,
  CLIENT_ID,
  EVERYTHING,
  SELF_DESCRIBED_MACHINE,
} from '../../fixtures/metadata-documents.ts'
import {
  HARMLESS,
  initialAccessToken,
  MACHINE,
  type Privileges,
  privileges,
  type RawMetadata,
  readRegistration,
  register,
  update,
} from '../../fixtures/registration.ts'
import { TOKEN_EXCHANGE } from '../../src/constants.ts'
import { send } from './exchanging.ts'
import { answers, changesNothing, invalidRequest, recordUnchanged } from './expectations.ts'
import { on, stored } from './given.ts'
import { requests } from './managing.ts'
import { answer, record, rowsOf, type Step, type Steps } from './rule.ts'
import type { Scene } from './scene.ts'

const [CREATE, READ, REVOKE] = ['subject-tokens:create', 'subject-tokens:read', 'subject-tokens:revoke']
const EXCHANGING: RawMetadata = { ...HARMLESS, grant_types: ['authorization_code', TOKEN_EXCHANGE] }
const CONFINED: RawMetadata = { ...EXCHANGING, token_exchange_resources: [API, OPAQUE_API] }
const AS_API: RawMetadata = { ...EXCHANGING, token_exchange_audiences: ['orders', 'reports'] }
const SECRET: RawMetadata = { ...EXCHANGING, token_endpoint_auth_method: 'client_secret_basic' }
const MACHINE_WITHOUT_GRANT: RawMetadata = { ...MACHINE, grant_types: [] }
const NOTHING: Privileges = { mayExchange: false, scopes: [] }
const EXCHANGE: Privileges = { mayExchange: true, scopes: [] }

type Registered = RawMetadata & {
  readonly client_id: string
  readonly registration_access_token: string
  readonly registration_client_uri: string
}
/** What the client of a cell was told about its registration. */
const registrations = new WeakMap<Scene, Registered>()
const registered = (scene: Scene): Registered => registrations.get(scene) ?? expect.fail('not registered')

/** A client registers itself, with the policy or as a stranger. */
const registering =
  (policies: readonly string[] | undefined) =>
  (metadata: RawMetadata): Step =>
  async (scene) => {
    const token = await initialAccessToken(scene.setting, policies)
    const { status, body } = await scene.request(() => register(scene.setting, metadata, token))
    if (status === 201) registrations.set(scene, body)
  }
const registers = registering(['impersonation'])
const stranger = registering(undefined)
/** The client changes its registration. */
const updates =
  (changes: RawMetadata): Step =>
  (scene) =>
    scene.request(() => update(registered(scene), changes))

const isRefused = answers(400, 'invalid_client_metadata')
const isTaken = answer(({ response }) => expect(response.status, response.text).to.be.oneOf([200, 201]))
/** What the client can really do. */
const may = (expected: Privileges): Step =>
  record(async (scene) => {
    expect(await privileges(scene.setting, registered(scene) as ClientMetadata)).to.deep.equal(expected)
  })
/** An update that is refused changes nothing of the registration. */
const keeps: Steps = [
  isRefused,
  record(async (scene) => {
    const now = await readRegistration(registered(scene))
    const told = Object.entries(registered(scene)).filter(([name]) => !name.startsWith('registration_'))
    expect(now).to.deep.include(Object.fromEntries(told))
  }),
]
const notRegistered: Steps = [isRefused, changesNothing]

const strangers = [
  rowsOf(['one scope', 'every scope', 'the grant', 'the grant, for one resource'])('M122', {
    'one scope': [stranger({ ...MACHINE_WITHOUT_GRANT, scope: READ }), notRegistered],
    'every scope': [
      stranger({ ...MACHINE_WITHOUT_GRANT, scope: `${CREATE} ${READ} ${REVOKE}` }),
      notRegistered,
    ],
    'the grant': [stranger(EXCHANGING), notRegistered],
    'the grant, for one resource': [
      stranger({ ...EXCHANGING, token_exchange_resources: [API] }),
      notRegistered,
    ],
  }),
  rowsOf(['one scope', 'the grant', 'nothing'])('M122, with the policy', {
    'one scope': [
      registers({ ...MACHINE, scope: READ }),
      isTaken,
      may({ mayExchange: false, scopes: [String(READ)] }),
    ],
    'the grant': [registers(EXCHANGING), isTaken, may(EXCHANGE)],
    nothing: [registers(HARMLESS), isTaken, may(NOTHING)],
  }),
  rowsOf(['a stranger', 'a scope', 'another scope', 'the grant'])('M123, adds', {
    'a stranger': [stranger(HARMLESS), updates({ grant_types: EXCHANGING.grant_types }), keeps],
    'a scope': [registers(MACHINE), updates({ scope: READ }), keeps],
    'another scope': [registers({ ...MACHINE, scope: READ }), updates({ scope: `${READ} ${REVOKE}` }), keeps],
    'the grant': [registers(HARMLESS), updates({ grant_types: EXCHANGING.grant_types }), keeps],
  }),
  rowsOf(['the scopes', 'the grant'])('M123, keeps', {
    'the scopes': [
      registers({ ...MACHINE, scope: READ }),
      updates({ client_name: 'renamed' }),
      isTaken,
      may({ mayExchange: false, scopes: [String(READ)] }),
    ],
    'the grant': [registers(EXCHANGING), updates({ client_name: 'renamed' }), isTaken, may(EXCHANGE)],
  }),
  rowsOf(['the scopes', 'the grant'])('M123, gives up', {
    'the scopes': [
      registers({ ...MACHINE, scope: READ }),
      updates({ scope: undefined }),
      isTaken,
      may(NOTHING),
    ],
    'the grant': [
      registers(EXCHANGING),
      updates({ grant_types: ['authorization_code'] }),
      isTaken,
      may(NOTHING),
    ],
  }),
  rowsOf(['adds one', 'removes the member', 'narrows', 'confines'])('M124', {
    'adds one': [
      registers({ ...EXCHANGING, token_exchange_resources: [API] }),
      updates({ token_exchange_resources: [API, OPAQUE_API] }),
      keeps,
    ],
    'removes the member': [registers(CONFINED), updates({ token_exchange_resources: undefined }), keeps],
    narrows: [
      registers(CONFINED),
      updates({ token_exchange_resources: [OPAQUE_API] }),
      isTaken,
      may(NOTHING),
    ],
    confines: [registers(EXCHANGING), updates({ token_exchange_resources: [API] }), isTaken, may(EXCHANGE)],
  }),
  rowsOf([
    'a stranger',
    'adds them',
    'adds one',
    'leaves one out',
    'leaves out the last',
    'removes the member',
    'adds resources',
  ])('M125', {
    'a stranger': [stranger({ ...HARMLESS, token_exchange_audiences: ['orders'] }), notRegistered],
    'adds them': [registers(EXCHANGING), updates({ token_exchange_audiences: ['orders'] }), keeps],
    'adds one': [registers(AS_API), updates({ token_exchange_audiences: ['orders', 'reports', 'x'] }), keeps],
    'leaves one out': [
      registers(AS_API),
      updates({ token_exchange_audiences: ['reports'] }),
      isTaken,
      may(NOTHING),
    ],
    'leaves out the last': [registers(AS_API), updates({ token_exchange_audiences: [] }), keeps],
    'removes the member': [registers(AS_API), updates({ token_exchange_audiences: undefined }), keeps],
    'adds resources': [registers(AS_API), updates({ token_exchange_resources: [API] }), keeps],
  }),
  rowsOf(['widens', 'removes', 'narrows'])('M126', {
    widens: [registers({ ...EXCHANGING, scope: 'openid' }), updates({ scope: 'openid profile' }), keeps],
    removes: [registers({ ...EXCHANGING, scope: 'openid' }), updates({ scope: undefined }), keeps],
    narrows: [
      registers({ ...EXCHANGING, scope: 'openid profile' }),
      updates({ scope: 'profile' }),
      isTaken,
      may(EXCHANGE),
    ],
  }),
  rowsOf(['no authentication', 'no DPoP', 'no certificate', 'another subject type'])('M127, the grant', {
    'no authentication': [registers(SECRET), updates({ token_endpoint_auth_method: 'none' }), keeps],
    'no DPoP': [
      registers({ ...SECRET, dpop_bound_access_tokens: true }),
      updates({ dpop_bound_access_tokens: false }),
      keeps,
    ],
    'no certificate': [
      registers({ ...SECRET, tls_client_certificate_bound_access_tokens: true }),
      updates({ tls_client_certificate_bound_access_tokens: false }),
      keeps,
    ],
    'another subject type': [registers(SECRET), updates({ subject_type: 'pairwise' }), keeps],
  }),
  rowsOf(['no authentication', 'no DPoP'])('M127, a scope', {
    'no authentication': [
      registers({ ...MACHINE, scope: READ }),
      updates({ token_endpoint_auth_method: 'none', scope: undefined }),
      keeps,
    ],
    'no DPoP': [
      registers({ ...MACHINE, scope: READ, dpop_bound_access_tokens: true }),
      updates({ dpop_bound_access_tokens: undefined }),
      keeps,
    ],
  }),
  rowsOf(['no authentication', 'no DPoP'])('M127, neither', {
    'no authentication': [
      stranger({ ...HARMLESS, token_endpoint_auth_method: 'client_secret_basic' }),
      updates({ token_endpoint_auth_method: 'none' }),
      isTaken,
      may(NOTHING),
    ],
    'no DPoP': [
      stranger({ ...HARMLESS, dpop_bound_access_tokens: true }),
      updates({ dpop_bound_access_tokens: false }),
      isTaken,
      may(NOTHING),
    ],
  }),
  rowsOf(['registers', 'updates', 'with the policy'])('M128', {
    registers: [stranger(MACHINE), notRegistered],
    updates: [
      stranger({ ...HARMLESS, token_endpoint_auth_method: 'client_secret_basic' }),
      updates({ grant_types: ['authorization_code', 'client_credentials'] }),
      keeps,
    ],
    'with the policy': [registers(MACHINE), isTaken, may(NOTHING)],
  }),
]

const MALFORMED: Readonly<Record<string, RawMetadata>> = {
  'resources, no list': { token_exchange_resources: API },
  'resources, relative': { token_exchange_resources: ['/orders'] },
  'resources, with a fragment': { token_exchange_resources: [`${API}#x`] },
  'audiences, no list': { token_exchange_audiences: 'orders' },
  'audiences, empty': { token_exchange_audiences: [''] },
  'audiences, NUL': { token_exchange_audiences: ['a\0'] },
}
const malformed = Object.entries(MALFORMED).map(([title, metadata]) =>
  rowsOf(['registered', 'stored'])(`M129, ${title}`, {
    registered: [registers({ ...EXCHANGING, ...metadata }), notRegistered],
    stored: [
      stored(publicClient({ client_id: 'malformed', ...metadata } as ClientMetadata)),
      send({}, { client: { client_id: 'malformed' } }),
      answer(({ response }) => expect(response.status, response.text).to.be.oneOf([400, 401])),
      changesNothing,
    ],
  }),
)

const NO_GRANT = 'requested grant type is not allowed for this client'
const describesItself: Steps = [
  on('of a machine that describes itself'),
  ({ setting }) => {
    setting.web.document = SELF_DESCRIBED_MACHINE
  },
]
const documents = [
  rowsOf(['the exchange', 'client credentials', 'the scopes'])('M130', {
    'the exchange': [
      send({}, { client: EVERYTHING }),
      invalidRequest(NO_GRANT, 'the client describes itself in a metadata document'),
    ],
    'client credentials': [
      describesItself,
      requests(({ setting }) => askAsMachine(setting, { resource: API, scope: 'orders:read' })),
      answers(400, 'invalid_request', NO_GRANT),
      recordUnchanged,
    ],
    'the scopes': [
      describesItself,
      requests(async ({ setting }) => {
        const may_ = await privileges(setting, { client_id: CLIENT_ID })
        return { status: 0, headers: new Headers(), text: '', body: may_ }
      }),
      answer(({ response }) => expect(response.body).to.deep.equal(NOTHING)),
      recordUnchanged,
    ],
  }),
]

export const registrationRules = [...strangers, ...malformed, ...documents]
