/** How a subject token is issued (docs/protocol.md §2.1). */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { machineClient, webClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API } from '../../fixtures/deployment.ts'
import { CLIENT_ID } from '../../fixtures/metadata-documents.ts'
import { idFrom, keptToken, managementToken } from '../../fixtures/requests.ts'
import { hashToken, type SubjectTokenText } from '../../src/tokens/secret.ts'
import { actedBy, doors, everyDoor, ready, received, send } from './exchanging.ts'
import {
  answers,
  forbidden,
  recordSays,
  recordUnchanged,
  refused,
  refusedToken,
  spent,
  succeeds,
  tokenSays,
  wrongInput,
} from './expectations.ts'
import { fails, functions, issuedWith, on, passes, removed, stored } from './given.ts'
import { asks, issues } from './managing.ts'
import { answer, each, type Rule, record, rowsOf, type Step, type Steps } from './rule.ts'
import { OWN_RESOURCE } from './settings.ts'

type Body = Readonly<Record<string, unknown>>

/** It is issued, and its record says so. */
export const active = (members: Body = {}): Steps => [
  succeeds({}, 201),
  recordSays({ state: 'active', ...members }),
]
/** A body that is taken, with what the record says then, and bodies that are not. */
const field = (
  title: string,
  taken: Body,
  says: Body,
  refusals: Readonly<Record<string, readonly [body: Body, text: string]>>,
): Rule =>
  rowsOf(['taken', ...Object.keys(refusals)])(title, {
    taken: [passes(0), issues(taken), active(says)],
    ...Object.fromEntries(
      Object.entries(refusals).map(([form, [body, text]]) => [form, [issues(body), wrongInput(text)]]),
    ),
  })

const NAME = 'must be a string of 1 to 255 characters'
const CONTEXT = 'context must be a JSON object of at most 8192 bytes and 16 levels'
const LIFE = 'expiresIn must be whole seconds from 1 to 3600'
const URI = 'resource must be an absolute URI without fragment, or a list of 1 to 8 different ones'
const uris = (count: number) => Array.from({ length: count }, (_, index) => `urn:x:${index}`)
const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) })
/** A context of so many bytes as JSON. */
const sized = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })

const fields = [
  field(
    'M15',
    { userId: 'alias:alice' },
    { userId: 'alice' },
    {
      missing: [{ userId: undefined }, 'userId is required'],
      'of another type': [{ userId: 7 }, `userId ${NAME}`],
    },
  ),
  everyDoor('M15, an alias', [
    issuedWith({ userId: 'alias:alice' }),
    send(),
    tokenSays({ sub: 'alice' }),
    spent,
  ]),
  field(
    'M16',
    { context: { ticketId: 'T-1', a: [null, { b: true }] } },
    { context: { ticketId: 'T-1', a: [null, { b: true }] } },
    {
      'of another type': [{ context: 'T-1' }, CONTEXT],
      'a list': [{ context: [] }, CONTEXT],
    },
  ),
  field(
    'M17',
    { clientId: 'web' },
    { clientId: 'web' },
    { 'of another type': [{ clientId: ['web'] }, `clientId ${NAME}`] },
  ),
  doors('M17, the client', {
    'a subject token': [issuedWith({ clientId: 'spa' }), send(), succeeds(), spent],
    ...received([issuedWith({ clientId: 'spa' }), send(), succeeds(), spent]),
  }),
  field(
    'M18',
    { actorId: 'bob' },
    { actorId: 'bob' },
    { 'of another type': [{ actorId: true }, `actorId ${NAME}`] },
  ),
  doors('M18, the actor', {
    'a subject token': [issuedWith({ actorId: 'bob' }), send(actedBy()), succeeds(), spent],
    ...received([issuedWith({ actorId: 'bob' }), send(), succeeds(), spent]),
  }),
  field(
    'M19',
    { resource: API },
    { resource: API },
    {
      relative: [{ resource: '/orders' }, URI],
      'with a fragment': [{ resource: `${API}#x` }, URI],
      'of another type': [{ resource: 7 }, URI],
    },
  ),
  field(
    'M19, a list',
    { resource: uris(8).toReversed() },
    { resource: uris(8).toReversed() },
    {
      empty: [{ resource: [] }, URI],
      'of nine': [{ resource: uris(9) }, URI],
      'one of them twice': [{ resource: [...uris(2), ...uris(1)] }, URI],
      'one of them relative': [{ resource: [API, '/orders'] }, URI],
      'one of them of another type': [{ resource: [API, 7] }, URI],
      'one of them too long': [{ resource: [API, `urn:x:${'a'.repeat(250)}`] }, `resource ${NAME}`],
    },
  ),
  field(
    'M20',
    { scope: 'orders:read profile orders:read' },
    { scope: 'orders:read profile' },
    {
      'two spaces': [{ scope: 'orders:read  profile' }, 'scope must hold scope names'],
      'a quote': [{ scope: 'orders"read' }, 'scope must hold scope names'],
      'of another type': [{ scope: ['orders:read'] }, `scope ${NAME}`],
    },
  ),
  field(
    'M21',
    { expiresIn: 3600 },
    { expiresAt: (at: number) => at === now() + 3600 },
    {
      none: [{ expiresIn: 0 }, LIFE],
      'too long': [{ expiresIn: 3601 }, LIFE],
      'not whole': [{ expiresIn: 1.5 }, LIFE],
      'of another type': [{ expiresIn: '60' }, LIFE],
    },
  ),
  field(
    'M151',
    { use: 'exchange' },
    { use: undefined },
    {
      'session, which is off': [{ use: 'session' }, 'use must be exchange'],
      'another word': [{ use: 'Exchange' }, 'use must be exchange'],
      'of another type': [{ use: ['exchange'] }, 'use must be exchange'],
    },
  ),
  rowsOf(['absent'])('M16 M21 M151, by default', {
    absent: [
      passes(0),
      issues(),
      active({ context: {}, expiresAt: (at: number) => at === now() + 600, use: undefined }),
    ],
  }),
]

const FIELDS = ['userId', 'clientId', 'actorId', 'resource', 'scope'] as const
const strings = rowsOf([...FIELDS, 'context'])
/** A text of so many code points that suits each field. */
const longest = (name: string, length: number): string =>
  name === 'resource'
    ? `urn:x:${'a'.repeat(length - 6)}`
    : name === 'scope'
      ? 'a'.repeat(length)
      : '🎫'.repeat(length)
const eachField = (cell: (name: (typeof FIELDS)[number]) => Steps) => each(FIELDS, cell)

/** The host parses the body before the routes see it. */
const PARSED = {
  koa: { headers: { 'x-host-parses': 'koa' } },
  express: { headers: { 'x-host-parses': 'express' } },
}
/** A body as it is written. */
const raw = (body: string): Step => asks('POST /subject-tokens', { body })
const notUtf8: Step = asks('POST /subject-tokens', {
  body: new Blob([new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])]),
})
const tooLarge = (changes: object): Steps => [
  issues({ context: sized(65_536) }, changes),
  refused(413, 'invalid_request', 'the body must not exceed 65536 bytes', null),
]
const encoded = (headers: Readonly<Record<string, string>>): Steps => [
  issues({}, { headers: { ...headers, 'content-encoding': 'identity' } }),
  refused(415, 'invalid_request', 'the body must not be encoded', null),
]
const accountIs = (accountId: unknown): Steps => [
  functions({ findAccount: async () => ({ accountId, claims: () => ({}) }) as never }),
  issues(),
  refused(500, 'server_error', 'something went wrong', null),
]
/** The operator reads that no store could keep it. */
const isUnstorable = (accountId: string): Steps => [
  accountIs(accountId),
  tells('findAccount returned an accountId of more than 255 characters, or with NUL'),
]
function tells(reason: string): Step {
  return ({ events, setting }) => {
    expect(events[0]?.payload).to.include({ check: 'issue', reason })
    expect(setting.errors.map(String).join()).to.include(reason)
  }
}
const longNamed = machineClient({ client_id: 'b'.repeat(256) })

const STAGES = ['body', 'account', 'client', 'policy', 'record'] as const
/** A request in which everything is wrong from one stage on. */
const wrongFrom =
  (first: (typeof STAGES)[number]): Step =>
  async (scene) => {
    const wrongIs = (stage: (typeof STAGES)[number]) => STAGES.indexOf(stage) >= STAGES.indexOf(first)
    const clientId = wrongIs('client') ? 'no-one' : 'spa'
    if (wrongIs('record')) fails('store.insert')(scene)
    scene.setting.functions = { isAllowed: () => !wrongIs('policy') }
    const userId = wrongIs('account') ? 'no-one' : 'alice'
    await issues({ userId, clientId, ...(wrongIs('body') && { extra: 1 }) })(scene)
  }

/** Sent to this server under another name, which `fetch` would not do. */
const issuesAt =
  (host: string): Step =>
  async (scene) => {
    const authorization = `Bearer ${await keptToken(scene.setting)}`
    const headers = { host, 'x-forwarded-host': host, authorization, 'content-type': 'application/json' }
    const response = await scene.request(async () => {
      const sent = request(scene.setting.subjectTokens, { method: 'POST', headers }).end('{"userId":"alice"}')
      const [answered] = (await once(sent, 'response')) as [IncomingMessage]
      const { statusCode: status = 0, headers: received } = answered
      const own = new Headers({ location: received.location ?? '' })
      return { status, headers: own, text: '', body: JSON.parse(await text(answered)) }
    })
    scene.id = idFrom(response)
  }
const isAtItsLocation = answer(({ response, setting, id }) => {
  expect(id).to.match(/^[0-9a-f]{32}$/)
  expect(response.headers.get('location')).to.equal(`${setting.subjectTokens}/${id}`)
})

const DESK = webClient({ client_id: 'desk' })
const usable = (client: ClientMetadata): Steps => {
  const { client_id: clientId } = client
  return [stored(client), notFetchedYet, issues({ clientId }), active({ clientId }), notFetched]
}
const notFetchedYet: Step = ({ setting }) => void Object.assign(setting.web, { fetched: 0 })
/** No metadata document was requested. */
const notFetched: Step = ({ setting }) => expect(setting.web.fetched).to.equal(0)
const USABLE: Readonly<Record<string, ClientMetadata>> = {
  stored: DESK,
  'with an address for an id': { ...DESK, client_id: 'https://desk.example.com' },
}
const NOT_EXCHANGING = 'clientId must be a client that may exchange subject tokens'
const UNUSABLE: Readonly<Record<string, readonly [clientId: string, steps: Steps]>> = {
  unknown: ['no-one', []],
  'in another spelling': ['SPA', []],
  'without the grant': [
    'plain',
    [stored({ ...DESK, client_id: 'plain', grant_types: ['authorization_code'] })],
  ],
  'an API': ['orders-api', []],
  'with metadata that is not valid': [
    'malformed',
    [stored({ ...DESK, client_id: 'malformed', redirect_uris: [] })],
  ],
  'with a metadata document': ['https://unseen.example.com/client.json', []],
  'with a metadata document that is known': [
    CLIENT_ID,
    [on('of another issuer'), ({ setting }) => setting.provider.Client.find(CLIENT_ID)],
  ],
}

const rules = [
  strings('M22, the longest', {
    ...eachField((name) => [issues({ [name]: longest(name, 255) }), active({ [name]: longest(name, 255) })]),
    // Of a client, the provider registers ASCII.
    clientId: usable({ ...DESK, client_id: 'c'.repeat(255) }),
    context: [issues({ context: { ['k'.repeat(300)]: 'v'.repeat(300) } }), active()],
  }),
  strings('M22, too long', {
    ...eachField((name) => [issues({ [name]: longest(name, 256) }), wrongInput(`${name} ${NAME}`)]),
    context: 'its strings may be longer',
  }),
  strings('M22, empty', {
    ...eachField((name) => [issues({ [name]: '' }), wrongInput(`${name} ${NAME}`)]),
    context: [issues({ context: { '': '' } }), active({ context: { '': '' } })],
  }),
  strings('M22, NUL', {
    ...eachField((name) => [issues({ [name]: 'a\0' }), wrongInput(`${name} ${NAME}`)]),
    context: [issues({ context: { a: 'b\0' } }), wrongInput(CONTEXT)],
  }),
  strings('M22, half a character', {
    ...eachField((name) => [issues({ [name]: 'a\ud800' }), wrongInput(`${name} ${NAME}`)]),
    context: [issues({ context: { 'a\ud800': 1 } }), wrongInput(CONTEXT)],
  }),
  field('M23, bytes', { context: sized(8192) }, {}, { 'one more': [{ context: sized(8193) }, CONTEXT] }),
  field('M23, levels', { context: nested(16) }, {}, { 'one more': [{ context: nested(17) }, CONTEXT] }),
  ...Object.entries({
    absent: {},
    null: { ticketId: null },
    'white space': { ticketId: ' \t\n' },
    empty: { ticketId: '' },
  }).map(([title, context]) =>
    rowsOf(['required', 'not required'])(`M24, ${title}`, {
      required: [
        on('with required context'),
        issues({ context }),
        wrongInput('context.ticketId is required, and must not be blank'),
      ],
      'not required': [issues({ context }), active({ context })],
    }),
  ),
  rowsOf(['actorId', 'resource'])('M25', {
    actorId: [issues({ actorId: 'no-one' }), active({ actorId: 'no-one' })],
    resource: [issues({ resource: 'urn:no:one' }), active({ resource: 'urn:no:one' })],
  }),
  rowsOf(['actorId', 'resource'])('M25, another spelling', {
    actorId: [issuedWith({ actorId: 'bob ' }), send(actedBy()), refusedToken('bound to another actor')],
    resource: [issuedWith({ resource: `${API}/` }), send(), refusedToken('bound to another resource')],
  }),
  rowsOf([...Object.keys(USABLE), 'none'])('M25, the client', {
    ...each(Object.keys(USABLE), (form) => usable(USABLE[form] ?? expect.fail())),
    none: [fails('Client.find'), issues(), active({ clientId: undefined })],
  }),
  rowsOf(Object.keys(UNUSABLE))(
    'M25, no client that may exchange',
    each(Object.keys(UNUSABLE), (form) => {
      const [clientId, steps] = UNUSABLE[form] ?? expect.fail()
      return [steps, notFetchedYet, issues({ clientId }), wrongInput(NOT_EXCHANGING), notFetched]
    }),
  ),
  rowsOf(['gone since', 'not looked at'])('M25, the client later', {
    'gone since': [
      stored(DESK),
      issuedWith({ clientId: 'desk' }),
      ready,
      removed(DESK),
      send({}, { client: DESK }),
      answers(401, 'invalid_client'),
      recordUnchanged,
    ],
    'not looked at': [
      fails('Client.find'),
      issues({ clientId: 'desk' }),
      refused(503, 'temporarily_unavailable', undefined, null),
    ],
  }),
  rowsOf(['another', '__proto__', 'id'])('M26, unknown', {
    another: [issues({ tenant: 'a' }), wrongInput('unknown member: tenant')],
    __proto__: [raw('{"userId": "alice", "__proto__": {}}'), wrongInput('unknown member: __proto__')],
    id: [issues({ id: '0'.repeat(32) }), wrongInput('unknown member: id')],
  }),
  rowsOf([...FIELDS, 'use', 'context', 'expiresIn'])('M26, null', {
    ...eachField((name) => [
      issues({ [name]: null }),
      wrongInput(name === 'resource' ? URI : `${name} ${NAME}`),
    ]),
    use: [issues({ use: null }), wrongInput('use must be exchange')],
    context: [issues({ context: null }), wrongInput(CONTEXT)],
    expiresIn: [issues({ expiresIn: null }), wrongInput(LIFE)],
  }),
  rowsOf(['read here', 'ctx.request.body', 'ctx.req.body'])('M27', {
    'read here': [issues({ context: { a: 1 } }), active({ context: { a: 1 } })],
    'ctx.request.body': [issues({ context: { a: 1 } }, PARSED.koa), active({ context: { a: 1 } })],
    'ctx.req.body': [issues({ context: { a: 1 } }, PARSED.express), active({ context: { a: 1 } })],
  }),
  rowsOf(['read here', 'ctx.request.body', 'ctx.req.body'])('M27, too large', {
    'read here': tooLarge({}),
    'ctx.request.body': tooLarge(PARSED.koa),
    'ctx.req.body': tooLarge(PARSED.express),
  }),
  rowsOf(['read here', 'ctx.request.body', 'ctx.req.body'])('M27, encoded', {
    'read here': encoded({}),
    'ctx.request.body': encoded(PARSED.koa.headers),
    'ctx.req.body': encoded(PARSED.express.headers),
  }),
  rowsOf(['read here'])('M27, not UTF-8', {
    'read here': [notUtf8, wrongInput('the body must be JSON')],
  }),
  rowsOf(['too long', 'too long, of four bytes', 'empty', 'NUL', 'half a character', 'of another type'])(
    'M28',
    {
      'too long': isUnstorable('a'.repeat(256)),
      'too long, of four bytes': isUnstorable('🎭'.repeat(256)),
      empty: accountIs(''),
      NUL: isUnstorable('a\0'),
      'half a character': isUnstorable('a\ud800'),
      'of another type': accountIs(7),
    },
  ),
  rowsOf(['the account', 'the backend'])('M28, the longest', {
    'the account': [
      functions({ findAccount: async () => ({ accountId: '🎭'.repeat(255), claims: () => ({}) }) as never }),
      issues(),
      active({ userId: '🎭'.repeat(255) }),
    ],
    'the backend': [
      stored(longNamed),
      asks('POST /subject-tokens', async ({ setting }) => ({
        token: await managementToken(setting, { client: longNamed }),
      })),
      refused(500, 'server_error', 'something went wrong', null),
      tells('the id of the client has more than 255 characters'),
    ],
  }),
  rowsOf(['the body', 'the account', 'the client', 'the policy', 'the record'])('M29 M139 M141', {
    'the body': [wrongFrom('body'), wrongInput('unknown member: extra')],
    'the account': [wrongFrom('account'), refused(404, 'not_found', 'user not found', null)],
    'the client': [wrongFrom('client'), wrongInput(NOT_EXCHANGING)],
    'the policy': [wrongFrom('policy'), forbidden('isAllowed returned false')],
    'the record': [wrongFrom('record'), refused(503, 'temporarily_unavailable', undefined, null)],
  }),
  rowsOf(['POST'])('M30', {
    POST: [
      issues(),
      succeeds({ subjectToken: (token: string) => /^sub_[\w-]{65}$/.test(token) }, 201),
      async (scene) => {
        const { secret_hash: hash } = Object(await scene.row())
        expect(Buffer.from(hash).toString('base64url')).to.equal(
          hashToken(scene.subjectToken as SubjectTokenText),
        )
        expect(scene.subjectToken.slice(4, 26)).to.equal(Buffer.from(scene.id, 'hex').toString('base64url'))
        expect(JSON.stringify(await scene.row())).not.to.include(scene.subjectToken)
      },
      recordSays({ state: 'active', subjectToken: undefined }),
    ],
  }),
  rowsOf(['of an account'])('M22, not looked up', {
    'of an account': [
      functions({ findAccount: () => expect.fail('asked') }),
      issues({ userId: '🎭'.repeat(256) }),
      wrongInput(`userId ${NAME}`),
    ],
  }),
  rowsOf(['POST', 'another Host', 'a resource of its own', 'the id at the token endpoint'])('M32', {
    POST: [issues(), isAtItsLocation, active()],
    'another Host': [issuesAt('elsewhere.example.com'), isAtItsLocation, active()],
    'a resource of its own': [
      on('with a resource of its own'),
      asks('POST /subject-tokens', async ({ setting }) => ({
        token: await managementToken(setting, { resource: OWN_RESOURCE }),
      })),
      answer(({ response, id }) =>
        expect(response.headers.get('location')).to.equal(`${OWN_RESOURCE}subject-tokens/${id}`),
      ),
      record(async (scene) => expect(await scene.row()).to.include({ user_id: 'alice' })),
    ],
    'the id at the token endpoint': [
      on('without onBehalfOf'),
      send(({ id }) => ({ subject_token: id })),
      refusedToken('malformed'),
    ],
  }),
]

export const issueRules = [...fields, ...rules]
