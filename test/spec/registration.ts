/** What a client may register, and may change about itself (docs/protocol.md §2.3). */
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import {
  HARMLESS,
  initialAccessToken,
  MACHINE,
  type Privileges,
  privileges,
  type RawMetadata,
  readRegistration,
  register,
  storeClient,
  update,
} from '../../fixtures/registration.ts'
import { postToken } from '../../fixtures/requests.ts'
import { TOKEN_EXCHANGE } from '../../src/base/constants.ts'
import { answers, changesNothing, expectMembers, succeeds } from './expectations.ts'
import { on } from './given.ts'
import { answer, type Named, type Rule, record, type Step, type Steps, values } from './rule.ts'
import type { Scene } from './scene.ts'

const [CREATE, READ, REVOKE] = ['subject-tokens:create', 'subject-tokens:read', 'subject-tokens:revoke']
const EVERY_SCOPE = `${CREATE} ${READ} ${REVOKE}`
const DPOP = 'dpop_bound_access_tokens'
const MTLS = 'tls_client_certificate_bound_access_tokens'
const BY_BASIC = { token_endpoint_auth_method: 'client_secret_basic' }
/** The provider chooses one of these methods. */
const choosing = (...methods: readonly string[]): RawMetadata => ({
  token_endpoint_auth_method: undefined,
  token_endpoint_auth_methods_supported: methods,
})
const WITH_GRANT = { grant_types: ['authorization_code', TOKEN_EXCHANGE] }
const WITHOUT_GRANT = { grant_types: ['authorization_code'] }
const WITH_CREDENTIALS = { grant_types: ['authorization_code', 'client_credentials'] }
export const EXCHANGING: RawMetadata = { ...HARMLESS, ...WITH_GRANT }
const CONFINED: RawMetadata = { ...EXCHANGING, token_exchange_resources: [API] }
const AS_API: RawMetadata = { ...EXCHANGING, token_exchange_audiences: ['orders', 'reports'] }
const WEB: RawMetadata = { ...HARMLESS, ...BY_BASIC }
const SECRET: RawMetadata = { ...WEB, ...WITH_GRANT }
const READING: RawMetadata = { ...MACHINE, scope: READ }
/** Where strangers may not have client_credentials either. */
const NO_MACHINE: RawMetadata = { ...MACHINE, grant_types: [] }

export const NOTHING: Privileges = { mayExchange: false, scopes: [] }
const EXCHANGE: Privileges = { mayExchange: true, scopes: [] }
const scopes = (...names: readonly (string | undefined)[]): Privileges => ({
  mayExchange: false,
  scopes: names.map(String),
})

const notForAll = (what: string) => `${what} is not for self-registered clients`
const NOT_THE_GRANT = notForAll(`grant type ${TOKEN_EXCHANGE}`)
const NO_CREDENTIALS = notForAll('grant type client_credentials')
const NO_AUDIENCES = notForAll('token_exchange_audiences')
const NARROWER_SCOPE = 'scope may only be narrowed'
const NARROWER_RESOURCES = 'token_exchange_resources may only be narrowed'
const NARROWER_AUDIENCES = 'token_exchange_audiences may only be narrowed'
const NOT_NONE = 'token_endpoint_auth_method may not become none'
const OTHER_SUBJECT_TYPE = 'subject_type may not change'
const ONLY_AUTHENTICATED = `scope ${CREATE} is only for clients that authenticate`

type Registered = RawMetadata & {
  readonly client_id: string
  readonly registration_access_token: string
  readonly registration_client_uri: string
}
/** What the client of a cell was told about its registration, and what it has asked for since. */
const registrations = new WeakMap<Scene, { told: Registered; asked: RawMetadata }>()
const told = (scene: Scene): Registered => registrations.get(scene)?.told ?? expect.fail('not registered')

/** How a client comes to register itself: by an initial access token with these policies. */
type Admission = (scene: Scene) => Promise<string | undefined>
const by =
  (policies?: readonly string[]): Admission =>
  ({ setting }) =>
    initialAccessToken(setting, policies)
const INVITED = by(['impersonation'])
const STRANGER = by()
const STRANGERS: Named<Admission> = {
  'without an initial access token': async (scene) => void (await scene.move('open to registration')),
  'with a fixed one': async (scene) => {
    await scene.move('with a fixed initial access token')
    return 'fixed-token'
  },
  'with one without policies': STRANGER,
  'with one of another policy': by(['trusted', 'impersonation2']),
}

export const registers =
  (metadata: RawMetadata, admission: Admission = INVITED): Step =>
  async (scene) => {
    const token = await admission(scene)
    const { status, body } = await scene.request(() => register(scene.setting, metadata, token))
    if (status === 201) registrations.set(scene, { told: body, asked: metadata })
  }
/** The client changes its registration, and reads it before. */
const updates =
  (changes: RawMetadata): Step =>
  async (scene) => {
    const before = await readRegistration(told(scene))
    scene.kept.registration = JSON.stringify(before)
    const { status, body } = await scene.request(() => update(told(scene), changes))
    const { asked } = registrations.get(scene) ?? expect.fail('not registered')
    if (status === 200) registrations.set(scene, { told: body, asked: { ...asked, ...changes } })
  }
/** The administrator changes it. */
const storesInstead =
  (changes: RawMetadata): Step =>
  async (scene) => {
    const { told, asked } = registrations.get(scene) ?? expect.fail('not registered')
    const kept = Object.entries(told).filter(([name]) => !name.startsWith('registration_'))
    const metadata = { ...Object.fromEntries(kept), ...changes } as unknown as ClientMetadata
    await storeClient(scene.setting, metadata)
    registrations.set(scene, { told: { ...told, ...changes }, asked: { ...asked, ...changes } })
  }

/** The provider shows what it has chosen in place of a choice. */
const isShown = ([name, value]: [name: string, value: unknown]) =>
  value != null && !name.endsWith('_supported')
/** The client is told what it asked for, and can really do this much. */
const may = (expected: Privileges): Steps => [
  answer((scene) => {
    expect(scene.response.status, scene.response.text).to.be.oneOf([200, 201])
    const asked = Object.entries(registrations.get(scene)?.asked ?? {})
    expectMembers(scene.response.body, Object.fromEntries(asked.filter(isShown)))
  }),
  record(async (scene) => {
    const found = await privileges(scene.setting, told(scene) as ClientMetadata)
    expect(found, JSON.stringify(scene.response.body)).to.deep.equal(expected)
  }),
]
const isRefused = (sentence: string) => answers(400, 'invalid_client_metadata', sentence)
/** No one is registered. */
const notRegistered = (sentence: string): Steps => [isRefused(sentence), changesNothing]
/** Nothing of the registration has changed. */
const keeps = (sentence: string): Steps => [
  isRefused(sentence),
  record(async (scene) => {
    const now = await readRegistration(told(scene))
    expect(now).to.deep.equal(JSON.parse(scene.kept.registration ?? ''))
  }),
]

/** What a client registers, and the sentence that refuses it or what it can really do. */
type Registration = readonly [metadata: RawMetadata, answer: string | Privileges]
export const registered = ([metadata, expected]: Registration, admission?: Admission): Steps => [
  registers(metadata, admission),
  typeof expected === 'string' ? notRegistered(expected) : may(expected),
]
/** What it asks for later, and what becomes of that. */
export const updated = ([changes, expected]: Registration): Steps => [
  updates(changes),
  typeof expected === 'string' ? keeps(expected) : may(expected),
]
type Story = readonly [held: RawMetadata, ...changes: Registration[]]
/** One change after the other. */
const stories = (title: string, all: Named<Story>, admission?: Admission): Rule =>
  values(title, all, ([held, ...changes]) => [registers(held, admission), changes.map(updated)])
/** Each change alone. */
const changed = (title: string, held: RawMetadata, all: Named<Registration>, admission?: Admission): Rule =>
  values(title, all, (change) => [registers(held, admission), updated(change)])

/** The same for everyone who has no invitation. */
const strangers = (id: string, all: Named<Registration>): Rule[] =>
  Object.entries(all).map(([title, registration]) =>
    values(`${id}, ${title}`, STRANGERS, (admission) => registered(registration, admission)),
  )

const registering = [
  ...strangers('M122', {
    create: [{ ...NO_MACHINE, scope: CREATE }, notForAll(`scope ${CREATE}`)],
    read: [{ ...NO_MACHINE, scope: READ }, notForAll(`scope ${READ}`)],
    revoke: [{ ...NO_MACHINE, scope: REVOKE }, notForAll(`scope ${REVOKE}`)],
    'a scope among others': [{ ...WEB, scope: `openid ${CREATE} profile` }, notForAll(`scope ${CREATE}`)],
    'every scope, without authentication': [{ ...HARMLESS, scope: EVERY_SCOPE }, ONLY_AUTHENTICATED],
    'the grant': [EXCHANGING, NOT_THE_GRANT],
    'the grant twice': [{ ...HARMLESS, grant_types: [TOKEN_EXCHANGE, TOKEN_EXCHANGE] }, NOT_THE_GRANT],
    'the grant for one resource': [CONFINED, NOT_THE_GRANT],
    'the grant for no resource': [{ ...CONFINED, token_exchange_resources: [] }, NOT_THE_GRANT],
    'nothing of ours': [{ ...HARMLESS, scope: 'openid profile' }, NOTHING],
    'resources that it cannot use': [{ ...HARMLESS, token_exchange_resources: [API] }, NOTHING],
  }),
  values<Registration>(
    'M122, with the policy',
    {
      'two scopes': [{ ...MACHINE, scope: `${CREATE} ${READ}` }, scopes(CREATE, READ)],
      'the grant': [EXCHANGING, EXCHANGE],
      'the grant, for another resource': [{ ...CONFINED, token_exchange_resources: [OPAQUE_API] }, NOTHING],
      nothing: [HARMLESS, NOTHING],
    },
    (registration) => registered(registration),
  ),
  values<Registration>(
    'M122, by default',
    {
      'the grant': [{ ...HARMLESS, grant_types: undefined, scope: 'openid' }, NOT_THE_GRANT],
      'the scopes': [{ ...WEB, scope: undefined }, notForAll(`scope ${CREATE}`)],
      both: [{ ...WEB, grant_types: undefined, scope: undefined }, notForAll(`scope ${CREATE}`)],
      neither: [{ ...WEB, scope: 'openid' }, NOTHING],
    },
    (registration) => [on('with privileges by default'), registered(registration, STRANGER)],
  ),
  values<Registration>(
    'M119, registered',
    {
      'without authentication': [{ ...HARMLESS, scope: CREATE }, ONLY_AUTHENTICATED],
      'among others': [{ ...HARMLESS, scope: `openid ${CREATE}` }, ONLY_AUTHENTICATED],
      'with a choice of none': [
        { ...MACHINE, ...choosing('private_key_jwt', 'none'), scope: CREATE },
        ONLY_AUTHENTICATED,
      ],
      'with another choice': [
        { ...MACHINE, ...choosing('client_secret_post'), scope: CREATE },
        scopes(CREATE),
      ],
    },
    (registration) => registered(registration),
  ),
  values<Registration>(
    'M119, where no client authenticates by default',
    {
      'without a method': [{ ...MACHINE, scope: CREATE }, ONLY_AUTHENTICATED],
      'with a choice of none': [
        { ...MACHINE, ...choosing('none', 'client_secret_basic'), scope: CREATE },
        ONLY_AUTHENTICATED,
      ],
      'with another choice': [
        { ...MACHINE, ...choosing('client_secret_basic', 'client_secret_post'), scope: CREATE },
        scopes(CREATE),
      ],
      'with a method': [{ ...MACHINE, ...BY_BASIC, scope: CREATE }, scopes(CREATE)],
      'with a method, and a choice of none': [
        { ...MACHINE, ...choosing('none', 'client_secret_basic'), ...BY_BASIC, scope: CREATE },
        scopes(CREATE),
      ],
    },
    (registration) => [on('with public clients by default'), registered(registration)],
  ),
]

const ADDED: Named<Registration> = {
  create: [{ scope: CREATE }, notForAll(`scope ${CREATE}`)],
  read: [{ scope: READ }, notForAll(`scope ${READ}`)],
  revoke: [{ scope: REVOKE }, notForAll(`scope ${REVOKE}`)],
  'a scope among others': [{ scope: `openid ${CREATE}` }, notForAll(`scope ${CREATE}`)],
  'the grant': [WITH_GRANT, NOT_THE_GRANT],
  'the grant for one resource': [{ ...WITH_GRANT, token_exchange_resources: [API] }, NOT_THE_GRANT],
}
const RENAMED = { client_name: 'renamed' }
/** What repeats the registration, and renames the client, is taken. */
const kept = (held: RawMetadata, expected: Privileges): Story => [held, [{}, expected], [RENAMED, expected]]

const updating = [
  changed('M123, adds to nothing', WEB, ADDED),
  changed('M123, adds to nothing, a stranger', WEB, ADDED, STRANGER),
  changed('M123, adds to a scope', READING, {
    another: [{ scope: `${READ} ${REVOKE}` }, notForAll(`scope ${REVOKE}`)],
    'another in its place': [{ scope: REVOKE }, notForAll(`scope ${REVOKE}`)],
    'the grant': [{ grant_types: [TOKEN_EXCHANGE] }, NOT_THE_GRANT],
  }),
  stories('M123, keeps', {
    nothing: kept(HARMLESS, NOTHING),
    'the scopes': kept({ ...MACHINE, scope: `${CREATE} ${READ}` }, scopes(CREATE, READ)),
    'the grant': kept(EXCHANGING, EXCHANGE),
    'the grant for one resource': kept(CONFINED, EXCHANGE),
    'the grant for no resource': kept({ ...CONFINED, token_exchange_resources: [] }, NOTHING),
    audiences: kept(AS_API, NOTHING),
    everything: kept(
      { ...CONFINED, ...BY_BASIC, scope: `openid ${EVERY_SCOPE}` },
      { mayExchange: true, scopes: [CREATE, READ, REVOKE] },
    ),
  }),
  stories('M123, gives up', {
    'one scope after the other': [
      { ...MACHINE, scope: EVERY_SCOPE },
      [{ scope: READ }, scopes(READ)],
      [{ scope: `${READ} ${CREATE}` }, notForAll(`scope ${CREATE}`)],
      [{ scope: undefined }, NOTHING],
      [{ scope: READ }, notForAll(`scope ${READ}`)],
    ],
    'the grant': [CONFINED, [WITHOUT_GRANT, NOTHING], [WITH_GRANT, NOT_THE_GRANT]],
  }),
  values<Steps>(
    'M123, what the administrator has written since',
    {
      'is kept, and not widened': [
        storesInstead(CONFINED),
        updated([RENAMED, EXCHANGE]),
        updated([{ token_exchange_resources: [API, OPAQUE_API] }, NARROWER_RESOURCES]),
      ],
      'is no scope before the client authenticates': [
        storesInstead({ scope: `openid ${CREATE}` }),
        updated([BY_BASIC, notForAll(`scope ${CREATE}`)]),
        updated([{ ...BY_BASIC, scope: 'openid' }, NOTHING]),
      ],
      'is client_credentials': [storesInstead(WITH_CREDENTIALS), updated([RENAMED, NOTHING])],
    },
    (steps) => [registers(HARMLESS, STRANGER), steps],
  ),
  changed('M124, in place of one', CONFINED, {
    two: [{ token_exchange_resources: [API, OPAQUE_API] }, NARROWER_RESOURCES],
    another: [{ token_exchange_resources: [OPAQUE_API] }, NARROWER_RESOURCES],
    'the same in capitals': [{ token_exchange_resources: [API.toUpperCase()] }, NARROWER_RESOURCES],
    'no list': [{ token_exchange_resources: undefined }, NARROWER_RESOURCES],
    null: [{ token_exchange_resources: null }, NARROWER_RESOURCES],
    'an empty text': [{ token_exchange_resources: '' }, NARROWER_RESOURCES],
  }),
  stories('M124', {
    narrows: [
      { ...EXCHANGING, token_exchange_resources: [API, OPAQUE_API] },
      [{ token_exchange_resources: [API] }, EXCHANGE],
      [{ token_exchange_resources: [API, OPAQUE_API] }, NARROWER_RESOURCES],
      [{ token_exchange_resources: [] }, NOTHING],
      [{ token_exchange_resources: [API] }, NARROWER_RESOURCES],
    ],
    confines: [
      EXCHANGING,
      [{ token_exchange_resources: [OPAQUE_API] }, NOTHING],
      [{ token_exchange_resources: undefined }, NARROWER_RESOURCES],
    ],
  }),
  ...strangers('M125', {
    audiences: [{ ...HARMLESS, token_exchange_audiences: ['orders'] }, NO_AUDIENCES],
    'no audiences': [{ ...HARMLESS, token_exchange_audiences: [] }, NO_AUDIENCES],
  }),
  changed('M125, adds them', EXCHANGING, {
    one: [{ token_exchange_audiences: ['orders'] }, NO_AUDIENCES],
    none: [{ token_exchange_audiences: [] }, NO_AUDIENCES],
  }),
  changed('M125, in place of two', AS_API, {
    three: [{ token_exchange_audiences: ['orders', 'reports', 'billing'] }, NARROWER_AUDIENCES],
    another: [{ token_exchange_audiences: ['billing'] }, NARROWER_AUDIENCES],
    'the same in another order': [{ token_exchange_audiences: ['reports', 'orders'] }, NOTHING],
    none: [{ token_exchange_audiences: [] }, 'token_exchange_audiences may not become empty'],
    'no list': [{ token_exchange_audiences: undefined }, NARROWER_AUDIENCES],
    null: [{ token_exchange_audiences: null }, NARROWER_AUDIENCES],
    'an empty text': [{ token_exchange_audiences: '' }, NARROWER_AUDIENCES],
    'with a resource': [{ token_exchange_resources: [API] }, NARROWER_RESOURCES],
    'with no resource': [{ token_exchange_resources: [] }, NOTHING],
  }),
  stories('M125', {
    'leaves one out': [
      AS_API,
      [{ token_exchange_audiences: ['reports'] }, NOTHING],
      [{ token_exchange_audiences: ['orders', 'reports'] }, NARROWER_AUDIENCES],
    ],
    'had none to leave out': [
      { ...AS_API, token_exchange_audiences: [] },
      [RENAMED, NOTHING],
      [{ token_exchange_audiences: ['orders'] }, NARROWER_AUDIENCES],
      [{ token_exchange_audiences: undefined }, NARROWER_AUDIENCES],
    ],
    'has resources': [
      { ...AS_API, token_exchange_resources: [API, OPAQUE_API] },
      [{ token_exchange_resources: undefined }, NARROWER_RESOURCES],
      [{ token_exchange_resources: [API] }, NOTHING],
    ],
  }),
  changed(
    'M126',
    { ...EXCHANGING, scope: 'openid profile offline_access' },
    {
      'one that it lacks': [{ scope: 'openid profile offline_access address' }, NARROWER_SCOPE],
      'one in the letters of those it has': [{ scope: 'address' }, NARROWER_SCOPE],
      empty: [{ scope: '' }, NARROWER_SCOPE],
      absent: [{ scope: undefined }, NARROWER_SCOPE],
    },
  ),
  stories('M126', {
    narrows: [
      { ...EXCHANGING, scope: 'openid profile' },
      [{ scope: 'profile' }, EXCHANGE],
      [{ scope: 'openid profile' }, NARROWER_SCOPE],
      [{ ...WITHOUT_GRANT, scope: undefined }, NOTHING],
    ],
  }),
]

/** What the client has, the change that weakens it, and the sentence that refuses it. */
type Weakening = readonly [held: RawMetadata, changes: RawMetadata, sentence: string]
const PAIRWISE = { subject_type: 'pairwise' }
const dropping = (member: string): Named<Weakening> =>
  Object.fromEntries(
    Object.entries({ 'set to false': false, omitted: undefined, 'set to null': null }).map(([how, value]) => [
      `${member} ${how}`,
      [{ [member]: true }, { [member]: value }, `${member} may not be dropped`],
    ]),
  )
const WEAKENINGS: Named<Weakening> = {
  'no authentication': [{}, { token_endpoint_auth_method: 'none' }, NOT_NONE],
  'a choice of none': [{}, choosing('none'), NOT_NONE],
  ...dropping(DPOP),
  ...dropping(MTLS),
  'a certificate in place of a key': [
    { [DPOP]: true },
    { [DPOP]: false, [MTLS]: true },
    `${DPOP} may not be dropped`,
  ],
}
/** Only a client that people sign in to can be pairwise. */
const OTHER_SUBJECTS: Named<Weakening> = {
  'pairwise subjects': [{}, PAIRWISE, OTHER_SUBJECT_TYPE],
  'public subjects': [PAIRWISE, { subject_type: 'public' }, OTHER_SUBJECT_TYPE],
  'the default subjects': [PAIRWISE, { subject_type: undefined }, OTHER_SUBJECT_TYPE],
  'a choice of subjects': [
    PAIRWISE,
    { subject_type: undefined, subject_types_supported: ['public', 'pairwise'] },
    OTHER_SUBJECT_TYPE,
  ],
}

const weakening = [
  values('M127, the grant', { ...WEAKENINGS, ...OTHER_SUBJECTS }, ([held, changes, sentence]) => [
    registers({ ...SECRET, ...held }),
    updated([changes, sentence]),
    updated([{ ...changes, ...WITHOUT_GRANT }, sentence]),
    updated([WITHOUT_GRANT, NOTHING]),
    // Nothing is protected any more.
    updated([changes, NOTHING]),
  ]),
  values('M127, a scope', WEAKENINGS, ([held, changes, sentence]) => [
    registers({ ...READING, ...held }),
    updated([changes, sentence]),
    updated([{ ...changes, scope: undefined }, sentence]),
  ]),
  values<RawMetadata>(
    'M127, no authentication by default',
    { 'the grant': SECRET, 'a scope': READING },
    (held) => [
      on('with public clients by default'),
      registers({ ...held, ...BY_BASIC }),
      updated([{ token_endpoint_auth_method: undefined }, NOT_NONE]),
    ],
  ),
  stories('M127', {
    'is told first what it cannot add': [
      { ...WEB, [DPOP]: true },
      [{ ...WITH_GRANT, [DPOP]: false }, NOT_THE_GRANT],
    ],
    'becomes stronger': [
      EXCHANGING,
      [BY_BASIC, EXCHANGE],
      [{ token_endpoint_auth_method: 'client_secret_post' }, EXCHANGE],
      [{ [DPOP]: true }, NOTHING],
      [{ [DPOP]: false }, `${DPOP} may not be dropped`],
      [{ token_endpoint_auth_method: 'none' }, NOT_NONE],
    ],
  }),
]

/** The client gets a token for an API, as machines do. */
const getsToken: Steps = [
  (scene) => {
    const parameters = { grant_type: 'client_credentials', resource: API, scope: 'orders:read' }
    return scene.request(() =>
      postToken(scene.setting, parameters, { client: told(scene) as ClientMetadata }),
    )
  },
  succeeds({ scope: 'orders:read' }),
]
const machines = [
  ...strangers('M128', {
    alone: [MACHINE, NO_CREDENTIALS],
    'among others': [{ ...WEB, ...WITH_CREDENTIALS }, NO_CREDENTIALS],
    twice: [{ ...MACHINE, grant_types: ['client_credentials', 'client_credentials'] }, NO_CREDENTIALS],
    'without authentication': [{ ...HARMLESS, ...WITH_CREDENTIALS }, NO_CREDENTIALS],
  }),
  values('M128, by an update', STRANGERS, (admission) => [
    registers(WEB, admission),
    updated([WITH_CREDENTIALS, NO_CREDENTIALS]),
    updated([MACHINE, NO_CREDENTIALS]),
    updated([{ grant_types: undefined }, NOTHING]),
  ]),
  values<Steps>(
    'M128, with the policy',
    {
      'used, kept and given up': [
        registers({ ...WEB, ...WITH_CREDENTIALS }),
        getsToken,
        updated([RENAMED, NOTHING]),
        updated([WITHOUT_GRANT, NOTHING]),
        updated([WITH_CREDENTIALS, NO_CREDENTIALS]),
      ],
      'given up with the authentication': [registers(MACHINE), updated([HARMLESS, NOTHING])],
    },
    (steps) => steps,
  ),
  values<Steps>(
    'M128, enabled by the host',
    {
      registered: [registers(MACHINE, STRANGER), may(NOTHING), getsToken],
      'added by an update': [registers(WEB, STRANGER), updated([WITH_CREDENTIALS, NOTHING]), getsToken],
      'and not the grant': registered([{ ...MACHINE, ...WITH_GRANT }, NOT_THE_GRANT], STRANGER),
    },
    (steps) => [on('with client credentials of the host'), steps],
  ),
]

export const registrationRules = [...registering, ...updating, ...weakening, ...machines]
