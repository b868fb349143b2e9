/** The tokens that an exchange is given: what may be wrong with them, when, and what is told of it (docs/protocol.md §3.1–§3.3). */
import { expect } from 'chai'
import { errors, type FindAccount } from 'oidc-provider'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient, publicClient, webClient } from '../../fixtures/clients.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { revoke } from '../../fixtures/management.ts'
import { exchange, keptToken, managementToken } from '../../fixtures/requests.ts'
import { StoreFailure } from '../../src/index.ts'
import { hashToken, mintToken, type SubjectTokenText } from '../../src/tokens/secret.ts'
import { actors, bearers, borneAs, impersonated, sends, statusAt, token, tokenRefused } from './bearing.ts'
import { actedBy, exchanged, type Of, ready, type Sender, send } from './exchanging.ts'
import {
  answers,
  because,
  changesNothing,
  invalidRequest,
  isServerError,
  notLookedUp,
  recordSays,
  refusedToken,
  serverError,
  spent,
  succeeds,
  tokenSays,
} from './expectations.ts'
import { fails, functions, issuedWith, on, passes, stored, works } from './given.ts'
import { manages } from './managing.ts'
import { declareCells } from './matrix.ts'
import { proven } from './proofs.ts'
import { type Named, type Step, type Steps, values } from './rule.ts'
import type { Scene } from './scene.ts'
import { pairwise } from './settings.ts'

const REPLAYED = answers(400, 'invalid_request', 'subject_token is invalid')
const FORMATS = { 'a JWT': { resource: API }, 'an opaque token': { resource: OPAQUE_API } } as const

/** Where the secret begins in a subject token. */
const SECRET_AT = 26
const hashOf = (text: string): string => hashToken(text as SubjectTokenText)
const inTheOtherCase = (text: string): string =>
  text.replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )

/** Sends something like the subject token, which is taken afterwards. */
const sendsInstead = (text: (scene: Scene) => string, refusal: Steps): Steps => [
  on('without onBehalfOf'),
  ready,
  send((scene) => ({ subject_token: text(scene) })),
  refusal,
  send(),
  succeeds(),
  spent,
]

const forms = [
  values<(scene: Scene) => string>(
    'E40, malformed',
    {
      'without a character of its id': ({ subjectToken }) => subjectToken.slice(0, 5) + subjectToken.slice(6),
      'with one more character': ({ subjectToken }) => `${subjectToken}A`,
      'one character': () => 'x',
      'a space': () => ' ',
      '50,000 characters': () => 'a'.repeat(50_000),
      'without its prefix': ({ subjectToken }) => subjectToken.slice(4),
      'a space before it': ({ subjectToken }) => ` ${subjectToken}`,
      'a line feed after it': ({ subjectToken }) => `${subjectToken}\n`,
      'a NUL after it': ({ subjectToken }) => `${subjectToken}\0`,
      'its prefix in capitals': ({ subjectToken }) => subjectToken.replace('sub_', 'SUB_'),
      'in the other case': ({ subjectToken }) => `sub_${inTheOtherCase(subjectToken.slice(4))}`,
      'beyond ASCII': () => 'sub_🎫',
      SQL: () => `' OR '1'='1`,
      'like a JWT': () => 'e30.e30.e30',
      'its id': ({ id }) => id,
      'its hash': ({ subjectToken }) => hashOf(subjectToken),
      'its hash, with the prefix': ({ subjectToken }) => `sub_${hashOf(subjectToken)}`,
    },
    (text) => sendsInstead(text, [refusedToken('malformed'), notLookedUp]),
  ),
  values('E40, unknown', { 'its id and its hash': SECRET_AT }, (length) =>
    sendsInstead(
      ({ subjectToken }) => subjectToken.slice(0, length) + hashOf(subjectToken),
      refusedToken('unknown'),
    ),
  ),
  values('E6, too long', { '60,000 characters': 60_000 }, (length) =>
    sendsInstead(() => 'a'.repeat(length), [answers(400, 'invalid_request'), because(null), changesNothing]),
  ),
  values('E40, what it was exchanged for', FORMATS, (target) => [
    on('without onBehalfOf'),
    exchanged(target),
    send(({ kept }) => ({ subject_token: kept.accessToken })),
    refusedToken('malformed'),
  ]),
  values('E84, expired', { '1 s': 1 }, (expiresIn) => [
    passes(0),
    issuedWith({ expiresIn }),
    ready,
    passes(2),
    send(({ id }) => ({ subject_token: mintToken(id) })),
    refusedToken('unknown'),
  ]),
]

const OTHERS = Array.from({ length: 6 }, (_, index) => `https://${index}.example.com`)
const renamed: FindAccount = async () => ({ accountId: 'alice-2', claims: () => ({ sub: 'alice-2' }) })
/** While the claims function runs. */
const inTheMeantime =
  (step: Step): Step =>
  async (scene) => {
    const getCustomJwtClaims = async () => {
      await step(scene)
      return {}
    }
    functions({ getCustomJwtClaims })(scene)
  }

const subjects = [
  values('E40, for another client', { 'in another case': 'SPA' }, (clientId) => [
    stored(publicClient({ client_id: clientId })),
    issuedWith({ clientId }),
    send(),
    refusedToken('bound to another client'),
  ]),
  values('E40, for several resources', { first: OPAQUE_API, last: API }, (resource) => [
    issuedWith({ resource: [OPAQUE_API, ...OTHERS, API] }),
    send({ resource }),
    succeeds(),
    recordSays({ resource }),
  ]),
  values('E40, for several resources, and', { 'none of them': OPAQUE_API }, (resource) => [
    issuedWith({ resource: [API, 'https://elsewhere.example.com'] }),
    send({ resource }),
    refusedToken('bound to another resource'),
    send(),
    succeeds(),
    spent,
  ]),
  values<readonly [object, Of<Parameters>, Sender]>(
    'E40, where it belongs',
    {
      'to another client': [{ clientId: 'web' }, {}, { client: webClient() }],
      'with its actor': [{ actorId: 'bob' }, actedBy(), {}],
      'to its resource': [{ resource: OPAQUE_API }, { resource: OPAQUE_API }, {}],
    },
    ([members, changes, sender]) => [
      issuedWith({ ...members }),
      send(),
      send(changes, sender),
      succeeds(),
      spent,
    ],
  ),
  values('E40, of a user', { 'whose account has another id': renamed }, (findAccount) => [
    ready,
    functions({ findAccount }),
    send(),
    refusedToken('the user is gone or disabled'),
  ]),
  values('E40, a second before it expires', { '60 s': 60 }, (expiresIn) => [
    passes(0),
    issuedWith({ expiresIn }),
    ready,
    passes(expiresIn - 1),
    send(),
    succeeds(),
    spent,
  ]),
  values('E40, it expires in the meantime', { '60 s': 60 }, (expiresIn) => [
    passes(0),
    issuedWith({ expiresIn }),
    inTheMeantime(passes(expiresIn)),
    send(),
    refusedToken('expired'),
  ]),
  values('E40, it is revoked in the meantime', FORMATS, (target) => [
    inTheMeantime(({ setting, id }) => revoke(setting, id)),
    send(target),
    REPLAYED,
    ({ events }) => expect(events.at(-1)?.payload).to.include({ reason: 'revoked' }),
    recordSays({ state: 'revoked', usedBy: undefined }),
  ]),
  values('E40, not spent, and no one knows why', { consume: false }, (won) => [
    ({ setting }) => void setting.instead.set('store.consume', async () => won),
    send(),
    refusedToken('could not be spent'),
  ]),
]

/** Longer than a column, and no text that could be stored. */
const UNSTORABLE = {
  'with a NUL': 'bob\0',
  'a NUL': '\0',
  'of 256 characters': 'b'.repeat(256),
  'of 256 characters beyond the basic plane': '🎭'.repeat(256),
  'of 8,000 characters': 'b'.repeat(8000),
  'with half a character': 'bob\ud800',
}
const LONGEST = [`${'🎭'.repeat(254)}x`, '🎭'.repeat(255), `y${'🎭'.repeat(254)}`] as const
const asActor = borneAs('an actor token, JWT')
/** Refused, and never looked up: another actor may act. */
const unheardOf = (name: string, reason: string): Steps => [
  ready,
  ({ setting }) => {
    const asked: string[] = []
    setting.functions = {
      async findAccount(_ctx, id) {
        asked.push(id)
        expect(asked).not.to.include(name)
        return { accountId: id, claims: () => ({ sub: id }) }
      },
    }
  },
  sends(),
  tokenRefused(reason),
  send(actedBy('carol')),
  succeeds(),
  spent,
]
const NAME = 'a name that cannot be stored'

const names = [
  ...Object.entries({
    'who acts': (sub: string) => ({ sub }),
    'who acted before': (sub: string) => ({ act: { sub } }),
    'who acted first': (sub: string) => ({ act: { sub: 'dave', act: { sub } } }),
  }).map(([title, claims]) =>
    values(`E67, ${title}`, UNSTORABLE, (name) => [asActor, token(claims(name)), unheardOf(name, NAME)]),
  ),
  values('E67, who acts by an opaque token', UNSTORABLE, (name) => [
    borneAs('an actor token, opaque'),
    token({ sub: name }),
    unheardOf(name, NAME),
  ]),
  values('E67, a client of an actor', { 'of 256 characters': 'c'.repeat(256) }, (client_id) => [
    stored(publicClient({ client_id })),
    asActor,
    token({ client_id }),
    sends(),
    tokenRefused(NAME),
  ]),
  values('E67, of 255 characters', { 'beyond the basic plane': LONGEST }, ([first, newest, userId]) => [
    issuedWith({ userId }),
    asActor,
    token({ sub: newest, act: { sub: first } }),
    sends(),
    succeeds(),
    recordSays({ userId, actor: { sub: newest, act: { sub: first }, clientId: 'spa' } }),
  ]),
]

/** Where the status of an actor token could be. */
const listed =
  (changes: object) =>
  ({ setting: { baseUrl } }: Scene) => ({
    status_list: { idx: 1, uri: `${baseUrl}/api/status-lists/0`, ...changes },
  })
const under = (rest: string) => (scene: Scene) =>
  listed({ uri: `${scene.setting.baseUrl}/api/status-lists${rest}` })(scene)
const IN_NO_LIST = 'its status is in no list of ours'
const HOST_STATUS = { status_list: { idx: 1, uri: 'https://lists.example.com/1' } }

const statuses = [
  values<(scene: Scene) => unknown>(
    'E61, a status',
    {
      'at an address that begins like ours': under('x/0'),
      'at an address with a query': under('/0?x'),
      'at an address with a path behind': under('/0/'),
      'at an address with an escape': under('/%30'),
      'at the base': under(''),
      'in no number': under('/'),
      'in a number that no database has': under(`/${'9'.repeat(40)}`),
      'below 0': listed({ idx: -1 }),
      'of half an index': listed({ idx: 0.5 }),
      'of a text': listed({ idx: '1' }),
      'without an index': listed({ idx: undefined }),
      'without an address': listed({ uri: undefined }),
      'of another kind': () => ({ other: {} }),
      null: () => null,
      'that is a text': () => 'valid',
      'that is a list': () => [],
      'with a list of null': () => ({ status_list: null }),
    },
    (status) => [asActor, token((scene) => ({ status: status(scene) })), sends(), tokenRefused(IN_NO_LIST)],
  ),
  values('E62, no record', { 'in a list that is not there yet': 'status-lists/1' }, (_) => [
    asActor,
    token((scene) => ({ status: statusAt(scene.setting, 1, '1') })),
    sends(),
    tokenRefused('its status has no record'),
  ]),
  values('E62, a record', { 'that was not used': 'active' }, (state) => [
    ready,
    asActor,
    token(async (scene) => ({ status: statusAt(scene.setting, await scene.index()) })),
    sends(),
    tokenRefused('its status is of a token that was not exchanged'),
    recordSays({ state }),
  ]),
  bearers('E62, it acts until it is stopped', {
    ...actors([impersonated, sends(), succeeds(), spent]),
    'a received token, JWT': 'E62, revoked',
    'a received token, opaque': 'E62, revoked',
  }),
  ...(['opaque', 'JWT'] as const).map((format) =>
    values(`E61, an ${format} of a host with lists of its own`, { theirs: HOST_STATUS }, (status) => [
      borneAs(`an actor token, ${format}`),
      functions({
        extraTokenClaims: (_ctx: unknown, { gty }: { gty?: string }) =>
          gty === 'authorization_code' ? { status } : undefined,
      } as never),
      send(async ({ setting }) =>
        withActor(await actorToken(setting, { format: format === 'JWT' ? 'jwt' : 'opaque' })),
      ),
      invalidRequest('actor_token is invalid', IN_NO_LIST),
    ]),
  ),
  values('E54, the look-up of an actor', { 'its status': 'store.findByStatusIndex' }, (call) => [
    asActor,
    impersonated,
    fails(call),
    sends(),
    answers(503, 'temporarily_unavailable', 'the service is temporarily unavailable'),
    changesNothing,
    works(call),
    sends(),
    succeeds(),
    spent,
  ]),
  values('E64, without status lists', { 'a JWT of an exchange acts': 'dave' }, (userId) => [
    on('without status lists'),
    asActor,
    impersonated,
    issuedWith({ userId }),
    sends(),
    tokenSays({ act: { sub: 'alice', act: { sub: 'bob' } } }),
    spent,
  ]),
]

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A member of the header that no one knows, and whose name a library quotes: a token, and a new line in a log. */
async function withHostileHeader(scene: Scene, jwt: string): Promise<string> {
  await ready(scene)
  scene.secrets.add('signed in')
  const name = `x\r\n2026-11-21 admin signed in ${scene.subjectToken}`
  const [header = '', ...rest] = jwt.split('.')
  const members = JSON.parse(Buffer.from(header, 'base64url').toString())
  return [encode({ ...members, crit: [name], [name]: name }), ...rest].join('.')
}
const quoting = (value: unknown): string => `unknown: ${String(value)}\nadmin signed in`
const hostQuotes: Step = (scene) => {
  scene.hostQuotes = true
}
const isQuotedInNoEvent: Step = (scene) => {
  expect(scene.events).to.have.length(1)
  for (const text of ['signed in', scene.subjectToken])
    expect(JSON.stringify(scene.events)).not.to.include(text)
}
const backend = machineClient({ client_id: 'stored-backend' })

const quotes = [
  values<readonly [changes: Of<Parameters>, sender?: Of<Sender>]>(
    'E55, what a caller wrote in the header of',
    {
      'an actor token': [
        async (scene) => withActor(await withHostileHeader(scene, await actorJwt(scene.setting))),
      ],
      'a proof': [
        {},
        async (scene) => ({
          headers: { dpop: await withHostileHeader(scene, (await proven(scene)).headers.dpop) },
        }),
      ],
    },
    ([changes, sender]) => [
      ready,
      send(changes, sender),
      ({ response }) => expect(response.text).not.to.include('signed in'),
      because('ERR_JOSE_NOT_SUPPORTED'),
      answers(400, sender ? 'invalid_dpop_proof' : 'invalid_request'),
      changesNothing,
    ],
  ),
  values<(scene: Scene) => object>(
    'E55, an error of findAccount that quotes',
    {
      'in its message': () => ({}),
      'in its code and its name': ({ subjectToken }) => ({ code: subjectToken, name: quoting(subjectToken) }),
    },
    (members) => [
      ready,
      hostQuotes,
      (scene) => {
        const error = Object.assign(new Error(quoting(scene.subjectToken)), members(scene))
        functions({ findAccount: () => Promise.reject(error) })(scene)
      },
      send(),
      serverError('Error'),
      isQuotedInNoEvent,
    ],
  ),
  values('E55, an error of getResourceServerInfo that quotes', { InvalidTarget: API }, (resource, reason) => [
    ready,
    hostQuotes,
    functions({
      resourceServer(asked) {
        throw new errors.InvalidTarget(quoting(asked))
      },
    }),
    send(({ subjectToken }) => ({ resource: `${resource}/${subjectToken}` })),
    answers(400, 'invalid_target'),
    because(reason),
    isQuotedInNoEvent,
    changesNothing,
  ]),
  values('E55, an error of the adapter that quotes', { E_ADAPTER: 'AccessToken.find' }, (call, code) => [
    ready,
    hostQuotes,
    (scene) => fails(call, Object.assign(new Error(quoting(scene.subjectToken)), { code }))(scene),
    send(actedBy()),
    serverError(code),
    isQuotedInNoEvent,
  ]),
  values('E55, an error of the store that quotes', { E_STORE: 'store.find' }, (call, code) => [
    ready,
    (scene) => {
      scene.secrets.add('signed in')
      fails(call, Object.assign(new Error(quoting(scene.subjectToken)), { code }))(scene)
    },
    send(),
    answers(503, 'temporarily_unavailable'),
    because(code),
    ({ setting }) => expect(setting.logged.at(-1)).to.have.property('error_detail', code),
    changesNothing,
  ]),
  values('V2, what a caller wrote in the header of', { 'a management token': 401 }, (status) => [
    ready,
    async (scene) => {
      const token = await withHostileHeader(scene, await keptToken(scene.setting))
      await manages(scene, { method: 'GET', path: '', token })
      expect(scene.response.text).not.to.include('signed in')
    },
    answers(status, 'invalid_token'),
    because(null),
    changesNothing,
  ]),
  values('M149, an error of the adapter that quotes', { TypeError: 'Client.find' }, (call, name) => [
    stored(backend),
    ready,
    async (scene) => {
      const token = await managementToken(scene.setting, { client: backend })
      scene.secrets.add('signed in')
      fails(call, new TypeError(quoting(scene.subjectToken)))(scene)
      await manages(scene, { method: 'GET', path: '', token })
    },
    answers(503, 'temporarily_unavailable'),
    ({ setting }) => expect(setting.errors.at(-1)).to.have.property('error_detail', name),
    changesNothing,
  ]),
]

/** An error as http-errors makes it, and as `ctx.throw(400)` of Koa does. */
const EXPOSED = Object.assign(new Error('gone'), { status: 400, statusCode: 400, expose: true })
const UNPROMISED: Named<unknown> = {
  'an error of a driver': new Error('private: lost'),
  'a failure that may have taken effect': new StoreFailure('private: lost'),
  'an error that only looks like a failure': Object.assign(new Error('private: lost'), { tookEffect: false }),
  'no error': { tookEffect: false },
}
const isNoMoreThan =
  (reason: string): Step =>
  ({ events, response }) => {
    expect(events.at(-1)?.payload).to.include({ check: 'issue', reason })
    expect(response.text).not.to.include('private')
  }

const failures = [
  values('E53, what promises nothing', UNPROMISED, (error) => [
    ready,
    fails('store.consume', error as Error),
    send(),
    answers(503, 'temporarily_unavailable', 'request a new subject token'),
    ({ events, response }) => {
      expect(response.headers.get('retry-after')).to.equal(null)
      expect(events[0]?.payload).to.include({ check: 'storage', error: 'temporarily_unavailable' })
      expect(Object(events[0]?.payload).reason).to.match(/^the outcome of the spend is unknown: /)
    },
    changesNothing,
  ]),
  values('E53, the Grant of', { 'an opaque token': OPAQUE_API }, (resource) => [
    ready,
    fails('store.consume'),
    send({ resource }),
    answers(503, 'temporarily_unavailable'),
    ({ calls }) =>
      expect(calls.filter((call) => call.startsWith('Grant.'))).to.deep.equal([
        'Grant.upsert',
        'Grant.destroy',
      ]),
    works('store.consume'),
    send({ resource }),
    succeeds(),
    spent,
  ]),
  values('E47, what only the host may show', { findAccount: EXPOSED }, (error) => [
    ready,
    functions({ findAccount: () => Promise.reject(error) }),
    // A response that is not ours, and that openapi.json does not describe.
    (scene) => scene.request(() => exchange(scene.setting, { subject_token: scene.subjectToken })),
    answers(400, 'gone'),
    ({ events }) => expect(events[0]?.payload).to.include({ error: 'server_error', check: 'server_error' }),
    changesNothing,
  ]),
  values('E47, getResourceServerInfo throws', { 'an error': new Error('private') }, (error) => [
    ready,
    functions({
      resourceServer() {
        throw error
      },
    }),
    send(),
    serverError('Error'),
    ({ events }) => expect(events[0]?.payload).to.include({ check: 'server_error' }),
  ]),
  ...(['extraTokenClaims', 'formats'] as const).map((replaced) =>
    values(`T15, ${replaced} was replaced`, FORMATS, (target) => [
      on(`where ${replaced} was replaced`),
      send(target),
      isNoMoreThan(`${replaced} was replaced after impersonation.configure()`),
      isServerError,
      changesNothing,
    ]),
  ),
  values('E71, resources that bypass', { configure: API }, (resource) => [
    on('where resources bypass configure'),
    send({ resource }),
    isNoMoreThan('the provider was not built from impersonation.configure()'),
    isServerError,
    changesNothing,
  ]),
  values('T3, no pairwiseIdentifier', { 'of a pairwise client': { client: pairwise } }, (sender) => [
    on('without pairwiseIdentifier'),
    send({}, sender),
    isNoMoreThan('pairwiseIdentifier is not configured'),
    isServerError,
    changesNothing,
  ]),
  values<unknown>(
    'T3, a pairwiseIdentifier of',
    { 'an empty text': '', 'a number': 7, nothing: undefined },
    (identifier) => [
      ready,
      functions({ pairwiseIdentifier: async () => identifier as string }),
      send({}, { client: pairwise }),
      isNoMoreThan('pairwiseIdentifier must return a non-empty string'),
      isServerError,
      changesNothing,
    ],
  ),
  values('T7, it would have ended in the meantime', { '600 s': 600 }, (seconds) => [
    passes(0),
    issuedWith({ expiresIn: 3600 }),
    inTheMeantime(passes(seconds)),
    send(),
    isNoMoreThan('the access token ended before it was issued'),
    isServerError,
    changesNothing,
    functions({ getCustomJwtClaims: () => ({}) }),
    send(),
    succeeds(),
    spent,
  ]),
]

declareCells('E, tokens', [...forms, ...subjects, ...names, ...statuses, ...quotes, ...failures])
