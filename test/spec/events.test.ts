/** Events (docs/protocol.md §6): exactly one for each occurrence, and nothing in them that must not be there. */
import type { EventEmitter } from 'node:events'
import { format } from 'node:util'
import { expect } from 'chai'
import debug from 'debug'
import { decodeJwt } from 'jose'
import { publicClient, webClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { manage } from '../../fixtures/management.ts'
import { BILLING } from '../../fixtures/on-behalf-of.ts'
import { inProcess } from '../../fixtures/records.ts'
import { askList } from '../../fixtures/status-lists.ts'
import { UNKNOWN_TOKEN } from '../../fixtures/subject-tokens.ts'
import { EVENTS, type ImpersonationEvents } from '../../src/events.ts'
import {
  actedBy,
  at,
  DOORS,
  everyDoor,
  everyPassed,
  exchanged,
  made,
  type Of,
  own,
  ready,
  received,
  send,
} from './exchanging.ts'
import {
  answers,
  because,
  changesNothing,
  denied,
  expectMembers,
  forbidden,
  invalidRequest,
  invalidTarget,
  isServerError,
  lookAgain,
  nothingToGrant,
  recordSays,
  recordUnchanged,
  refused,
  refusedToken,
  spent,
  succeeds,
  tokenHasEnded,
} from './expectations.ts'
import { fails, functions, issuedWith, on, passes, stored } from './given.ts'
import { issues, requests } from './managing.ts'
import { declareCells } from './matrix.ts'
import { answer, each, rowsOf, type Step } from './rule.ts'
import type { Scene } from './scene.ts'
import {
  cutShort,
  everyStop,
  everyStopOfOne,
  everyWay,
  issuedAlone,
  sendStop,
  tellsFailure,
  used,
} from './stopping.ts'

type Members = Readonly<Record<string, unknown>>

const isFrozen = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isFrozen))

/** The one event since the request, with exactly these members. */
const tells =
  (name: keyof ImpersonationEvents, members: Of<Members>): Step =>
  async (scene) => {
    const { events } = scene
    expect(events.map((event) => event.name)).to.deep.equal([name])
    const payload = events[0]?.payload
    const expected = await made(members, scene)
    expect(Object.keys(payload ?? {})).to.have.members(Object.keys(expected))
    expectMembers(payload, expected)
    expect(isFrozen(payload)).to.equal(true)
  }

const jtiOf = ({ response }: Scene) => decodeJwt(response.body.access_token).jti
const OCCASIONS = ['issuance', ...DOORS] as const
const occasions = rowsOf(OCCASIONS)

/** The names of the events since the request. */
const names =
  (...expected: readonly string[]): Step =>
  ({ events }) =>
    expect(events.map(({ name }) => name)).to.deep.equal(expected)

/** The event of a use seven seconds after the exchange. */
const replay =
  (format: 'a JWT' | 'an opaque token', clientId: string, outcome: Members) =>
  ({ id, people, kept: { accessToken = '' } }: Scene): Members => ({
    id,
    userId: people.userId,
    clientId,
    usedBy: 'spa',
    usedAt: now() - 7,
    secondsAfter: 7,
    actor: { sub: people.actorId, clientId: 'spa' },
    resource: format === 'a JWT' ? API : OPAQUE_API,
    ...(format === 'a JWT' && { jti: decodeJwt(accessToken).jti }),
    ...outcome,
  })

const FAULTY = {
  throws() {
    throw new Error('private: a listener')
  },
  rejects: () => Promise.reject(new Error('private: a listener')),
  'never settles': () => new Promise<never>(() => {}),
}
/** Every event is heard by this listener, too. */
const heardBy =
  (listener: () => unknown): Step =>
  ({ setting, undo }) => {
    const provider: EventEmitter = setting.provider
    for (const event of EVENTS) {
      provider.prependListener(event, listener)
      undo.push(() => provider.removeListener(event, listener))
    }
  }

/** The lines of the `debug` package, from here on. */
const lines: string[] = []
const debugs: Step = ({ undo }) => {
  const { log } = debug
  lines.length = 0
  debug.enable('oidc-provider:impersonation')
  debug.log = (...values: unknown[]) => void lines.push(format(...values))
  undo.push(() => {
    debug.disable()
    debug.log = log
  })
}
/** For each of these events a line with its name and payload. */
const prints =
  (...events: readonly string[]): Step =>
  (scene) => {
    expect(lines).to.have.length(events.length)
    for (const [index, name] of events.entries()) {
      expect(lines[index]).to.include(name)
      expect(lines[index]).to.include(JSON.stringify(scene.events[index]?.payload))
    }
  }

/** The event of a failure, with exactly these members. */
const tellsOf = (members: Members): Step => tells('impersonation.failed', members)

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`
const HEADERS = {
  'an id': { 'x-request-id': 'a.B_9:z-' },
  'a long id': { 'x-request-id': 'r'.repeat(64) },
  'an id and a trace': { 'x-request-id': 'r1', traceparent },
  'a trace': { traceparent },
  'a trace of a later version': { traceparent: `01-${TRACE}-00f067aa0ba902b7-01-more` },
  'an id that is none, and a trace': { 'x-request-id': 'r'.repeat(65), traceparent },
  nothing: {},
  'an id that is too long': { 'x-request-id': 'r'.repeat(65) },
  'an id with other characters': { 'x-request-id': 'a b' },
  'two ids': { 'x-request-id': 'a, b' },
  'an empty trace': { traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01` },
  'a trace that is none': { traceparent: 'traceparent' },
  'a trace of a version that is none': { traceparent: `ff-${TRACE}-00f067aa0ba902b7-01` },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>
const CALLED = {
  'an id': 'a.B_9:z-',
  'a long id': 'r'.repeat(64),
  'an id and a trace': 'r1',
  'a trace': TRACE,
  'a trace of a later version': TRACE,
  'an id that is none, and a trace': TRACE,
} as const
type Named = keyof typeof CALLED
const REQUESTS = Object.keys(HEADERS) as (keyof typeof HEADERS)[]
const isName = (name: string): name is Named => Object.hasOwn(CALLED, name)
const NAMED = REQUESTS.filter(isName)
const UNNAMED = REQUESTS.filter((name): name is Exclude<keyof typeof HEADERS, Named> => !isName(name))
/** The one event names the request. */
const isNamed: Step = ({ events }) => {
  expect(events).to.have.length(1)
  expect(events[0]?.payload).to.have.property('request', CALLED['an id'])
}

/** A bad subject token, as operators read it. */
const REFUSED = {
  stage: 'exchange',
  error: 'invalid_request',
  check: 'subject_token',
  clientId: 'spa',
} as const
const SUB_OF_CLIENT = 'the sub to be issued is the id of the client'

const told = [
  // That no token is in it, the scene sees after each request.
  occasions('V1 V2, success', {
    issuance: [
      passes(0),
      issues({ clientId: 'web', actorId: 'bob', resource: API, scope: 'orders:read' }),
      succeeds({}, 201),
      tells('subject_token.issued', ({ id }) => ({
        id,
        userId: 'alice',
        createdBy: 'backend',
        clientId: 'web',
        actorId: 'bob',
        resource: API,
        scope: 'orders:read',
        expiresAt: now() + 600,
      })),
      recordSays({ state: 'active' }),
    ],
    'a subject token': [
      passes(0),
      send(async (scene) => ({ scope: 'orders:read', ...(await actedBy()(scene)) })),
      succeeds(),
      tells('subject_token.exchanged', (scene) => ({
        id: scene.id,
        userId: 'alice',
        createdBy: 'backend',
        clientId: 'spa',
        actor: { sub: 'bob', clientId: 'spa' },
        resource: API,
        scope: 'orders:read',
        accessToken: { format: 'jwt', jti: jtiOf(scene), expiresAt: now() + 600 },
      })),
      spent,
    ],
    ...received([
      passes(0),
      send({ scope: 'orders:read' }),
      succeeds(),
      tells('access_token.exchanged', (scene) => ({
        id: scene.id,
        userId: 'alice',
        createdBy: 'backend',
        clientId: 'orders-api',
        actor: { sub: 'bob', clientId: 'spa' },
        through: [],
        ...(scene.door === 'a JWT' && { parentJti: decodeJwt(scene.received).jti }),
        resource: BILLING,
        scope: 'orders:read',
        accessToken: { format: 'jwt', jti: jtiOf(scene), expiresAt: now() + 600 },
      })),
      spent,
    ]),
  }),
  rowsOf(['a subject token'])('V1, an opaque token', {
    'a subject token': [
      passes(0),
      send({ resource: OPAQUE_API }),
      succeeds(),
      tells('subject_token.exchanged', ({ id }) => ({
        id,
        userId: 'alice',
        createdBy: 'backend',
        clientId: 'spa',
        resource: OPAQUE_API,
        accessToken: { format: 'opaque', expiresAt: now() + 600 },
      })),
      spent,
    ],
  }),
  rowsOf(["a user's own JWT", "a user's own opaque token"])(
    'V1, no impersonation',
    own([
      passes(0),
      send(),
      succeeds(),
      tells('access_token.exchanged', (scene) => ({
        userId: 'alice',
        clientId: 'orders-api',
        through: [],
        ...(scene.door.endsWith('JWT') && { parentJti: decodeJwt(scene.received).jti }),
        resource: BILLING,
        accessToken: { format: 'jwt', jti: jtiOf(scene), expiresAt: now() + 600 },
      })),
      changesNothing,
    ]),
  ),
  occasions('V1 V2, a refusal', {
    issuance: [
      functions({ isAllowed: () => false }),
      issues({ actorId: 'bob', resource: API, scope: 'orders:read' }),
      tells('subject_token.refused', {
        stage: 'issuance',
        error: 'access_denied',
        check: 'isAllowed',
        reason: 'isAllowed returned false',
        clientId: 'backend',
        userId: 'alice',
        actor: { sub: 'bob' },
        resource: API,
        scope: 'orders:read',
      }),
      forbidden('isAllowed returned false'),
    ],
    'a subject token': [
      ready,
      functions({ isAllowed: () => false }),
      send(async (scene) => ({ scope: 'orders:read', ...(await actedBy()(scene)) })),
      tells('subject_token.refused', ({ id }) => ({
        stage: 'exchange',
        error: 'access_denied',
        check: 'isAllowed',
        reason: 'isAllowed returned false',
        clientId: 'spa',
        id,
        userId: 'alice',
        actor: { sub: 'bob', clientId: 'spa' },
        resource: API,
        scope: 'orders:read',
      })),
      denied('isAllowed returned false'),
    ],
    ...received([
      ready,
      functions({ isAllowed: () => false }),
      send({ scope: 'orders:read' }),
      tells('access_token.refused', (scene) => ({
        stage: 'onBehalfOf',
        error: 'access_denied',
        check: 'isAllowed',
        reason: 'isAllowed returned false',
        clientId: 'orders-api',
        id: scene.id,
        userId: 'alice',
        actor: { sub: 'bob', clientId: 'spa' },
        through: [],
        ...(scene.door === 'a JWT' && { parentJti: decodeJwt(scene.received).jti }),
        resource: BILLING,
        scope: 'orders:read',
      })),
      denied('isAllowed returned false'),
    ]),
  }),
  rowsOf(['nothing', 'the record', 'the user'])('V1, a refusal, by what was known', {
    nothing: [
      send({ subject_token: UNKNOWN_TOKEN }),
      tells('subject_token.refused', { ...REFUSED, reason: 'unknown' }),
      refusedToken('unknown'),
    ],
    'the record': [
      issuedWith({ userId: 'spa' }),
      send(),
      tells('subject_token.refused', ({ id }) => ({ ...REFUSED, reason: SUB_OF_CLIENT, id, userId: 'spa' })),
      refusedToken(SUB_OF_CLIENT),
    ],
    'the user': [
      send({ resource: 'https://unknown.example.com' }),
      tells('subject_token.refused', ({ id }) => ({
        ...REFUSED,
        error: 'invalid_target',
        check: 'invalid_target',
        reason: 'InvalidTarget',
        id,
        userId: 'alice',
      })),
      invalidTarget('InvalidTarget'),
    ],
  }),
  ...(['a JWT', 'an opaque token'] as const).map((format) =>
    everyStop(`V1, a stop of ${format}`, 'V3', ({ stop, revocation }) => [
      issuedAlone,
      used(format),
      stop(),
      tells('subject_token.revoked', ({ id, people, kept: { accessToken = '' } }) => ({
        id,
        userId: people.userId,
        actorId: people.actorId,
        clientId: 'spa',
        ...('client' in revocation && { revokedBy: 'backend' }),
        revocation,
        ...(format === 'a JWT' && { jti: decodeJwt(accessToken).jti }),
        ended: 'now',
      })),
      recordSays({ state: 'revoked', revocation }),
    ]),
  ),
  everyStop('V1, a stop of what was not used', 'nothing was used', ({ stop, revocation }) => [
    issuedWith({ clientId: 'web' }),
    issuedAlone,
    stop(),
    tells('subject_token.revoked', ({ id, people }) => ({
      id,
      userId: people.userId,
      actorId: people.actorId,
      clientId: 'web',
      ...('client' in revocation && { revokedBy: 'backend' }),
      revocation,
    })),
    recordSays({ state: 'revoked', revocation }),
  ]),
  everyStop('V1, a second stop', 'V3', ({ stop }) => [
    issuedAlone,
    used('an opaque token'),
    stop(),
    stop(0),
    because(null),
    recordUnchanged,
  ]),

  ...(['a JWT', 'an opaque token'] as const).map((format) =>
    rowsOf(['the same client', 'another client', 'a second time'])(`V3, ${format}`, {
      'the same client': [
        passes(0),
        issuedAlone,
        used(format),
        passes(7),
        send(),
        tells('subject_token.replayed', replay(format, 'spa', { sameClient: true, ended: 'now' })),
        answers(400, 'invalid_request', 'subject_token is invalid'),
        recordSays({ state: 'revoked', revocation: { cause: 'replay' } }),
      ],
      'another client': [
        passes(0),
        issuedAlone,
        used(format),
        passes(7),
        send({}, { client: webClient() }),
        tells('subject_token.replayed', replay(format, 'web', { sameClient: false, ended: 'now' })),
        answers(400, 'invalid_request', 'subject_token is invalid'),
        recordSays({ state: 'revoked', revocation: { cause: 'replay' } }),
      ],
      'a second time': [
        passes(0),
        issuedAlone,
        used(format),
        passes(7),
        send(),
        send(),
        tells('subject_token.replayed', replay(format, 'spa', { sameClient: true, ended: 'before' })),
        answers(400, 'invalid_request', 'subject_token is invalid'),
        changesNothing,
      ],
    }),
  ),
  rowsOf(['a wrong field', 'storage is down'])('V4, the management API', {
    'a wrong field': [issues({ userId: 7 }), invalidRequest(undefined, null)],
    'storage is down': [
      fails('store.insert'),
      issues(),
      refused(503, 'temporarily_unavailable', undefined, null),
    ],
  }),
  everyDoor('V4, before the handler', [send({ scope: ['a', 'b'] }), invalidRequest(undefined, null)]),
  everyPassed('V5, a client that may not', [
    send({}, { client: publicClient() }),
    names('access_token.refused'),
    refused(400, 'unauthorized_client', undefined, 'no token_exchange_audiences'),
  ]),
  everyPassed('V5, while it is off', [
    on('without onBehalfOf'),
    send({}, { client: publicClient() }),
    names('subject_token.refused'),
    refusedToken('malformed'),
  ]),
  everyStopOfOne('V6', 'of one record alone', ({ way, stop, revocation }) => [
    issuedAlone,
    used('an opaque token'),
    cutShort,
    (scene) => scene.request(() => sendStop(way, scene)),
    ({ response }) => expect(response.status).to.equal(503),
    tellsFailure(way),
    stop(),
    names('subject_token.revoked'),
    tokenHasEnded,
    recordSays({ state: 'revoked', revocation }),
  ]),
  ...Object.entries(FAULTY).flatMap(([title, listener]) => [
    occasions(`V7, ${title}`, {
      issuance: [heardBy(listener), issues(), succeeds({}, 201), recordSays({ state: 'active' })],
      'a subject token': [heardBy(listener), send(), succeeds(), spent],
      ...received([heardBy(listener), send(), succeeds(), spent]),
    }),
    occasions(`V7, ${title}, a refusal`, {
      issuance: [
        heardBy(listener),
        functions({ isAllowed: () => false }),
        issues(),
        refused(403, 'access_denied', undefined, 'isAllowed returned false'),
      ],
      ...each(DOORS, (door) => [at(door), heardBy(listener), send({ scope: 'unknown' }), nothingToGrant]),
    }),
    everyWay(`V7, ${title}, a stop`, ({ stop, revocation }) => [
      issuedAlone,
      used('an opaque token'),
      heardBy(listener),
      stop(),
      recordSays({ state: 'revoked', revocation }),
      tokenHasEnded,
    ]),
  ]),
  occasions('V8', {
    issuance: [
      debugs,
      functions({ isAllowed: () => false }),
      issues(),
      prints('subject_token.refused'),
      refused(403, 'access_denied', undefined, 'isAllowed returned false'),
    ],
    ...each(DOORS, (door) => [
      at(door),
      debugs,
      send({ scope: 'unknown' }),
      prints(door === 'a subject token' ? 'subject_token.refused' : 'access_token.refused'),
      nothingToGrant,
    ]),
  }),
  rowsOf(['a replay', 'a success', 'no one listens'])('V8, else', {
    'a replay': [
      exchanged(),
      debugs,
      send(),
      prints('subject_token.replayed'),
      answers(400, 'invalid_request'),
      recordSays({ state: 'revoked' }),
    ],
    'a success': [debugs, send(), prints(), succeeds(), spent],
    'no one listens':
      'once in a process, so that it needs one of its own: test/scenarios/provider/notices.test.ts',
  }),
  rowsOf([
    'management',
    'status-lists',
    'a status list as of another time',
    'console',
    'exchange, before the handler',
    'health',
    'session',
  ])('V9', {
    management: [
      fails('store.insert'),
      issues(),
      tellsOf({ door: 'management', status: 503, check: 'storage', reason: 'Error', clientId: 'backend' }),
      answers(503, 'temporarily_unavailable'),
      changesNothing,
    ],
    'status-lists': [
      lookAgain,
      fails('store.findStatusLists'),
      requests(({ setting }) => askList(setting, '/0')),
      tellsOf({ door: 'status-lists', status: 503, check: 'storage', reason: 'Error' }),
      answers(503, 'temporarily_unavailable'),
      changesNothing,
    ],
    'a status list as of another time': [
      lookAgain,
      requests(({ setting }) => askList(setting, '/0?time=1')),
      tellsOf({
        door: 'status-lists',
        status: 501,
        check: 'invalid_request',
        reason: 'time is not supported: only the present list is published',
      }),
      answers(501, 'invalid_request'),
      changesNothing,
    ],
    console: [
      fails('store.list'),
      requests(({ setting }) => setting.get('/history')),
      tellsOf({ door: 'console', status: 503, check: 'storage', reason: 'Error' }),
      answer(({ response }) => expect(response.status).to.equal(503)),
      changesNothing,
    ],
    'exchange, before the handler': [
      stored(webClient({ client_id: 'kept-elsewhere' })),
      ready,
      fails('Client.find'),
      send({}, { client: webClient({ client_id: 'kept-elsewhere' }) }),
      tellsOf({ door: 'exchange', status: 500, check: 'server_error', reason: 'Error' }),
      isServerError,
      changesNothing,
    ],
    health: 'M185',
    session: 'sessions have rules of their own',
  }),
  rowsOf(REQUESTS)('V10', {
    ...each(NAMED, (name) => [
      issues({}, { headers: HEADERS[name] }),
      ({ events }) => expect(events[0]?.payload).to.have.property('request', CALLED[name]),
      succeeds({}, 201),
      recordSays({ state: 'active' }),
    ]),
    ...each(UNNAMED, (name) => [
      issues({}, { headers: HEADERS[name] }),
      ({ events }) => expect(events[0]?.payload).not.to.have.property('request'),
      succeeds({}, 201),
      recordSays({ state: 'active' }),
    ]),
  }),
  occasions('V10, a refusal', {
    issuance: [
      functions({ isAllowed: () => false }),
      issues({}, { headers: HEADERS['an id'] }),
      isNamed,
      forbidden('isAllowed returned false'),
    ],
    ...each(DOORS, (door) => [
      at(door),
      send({ scope: 'unknown' }, { headers: HEADERS['an id'] }),
      isNamed,
      nothingToGrant,
    ]),
  }),
  occasions('V10, success', {
    issuance: 'V10',
    ...each(DOORS, (door) => [at(door), send({}, { headers: HEADERS['an id'] }), isNamed, succeeds(), spent]),
  }),
  rowsOf(['a replay', 'a stop', 'a kill switch', 'in the console', 'a failure', 'in the process'])(
    'V10, else',
    {
      'a replay': [
        exchanged(),
        send({}, { headers: HEADERS['an id'] }),
        isNamed,
        answers(400, 'invalid_request'),
        recordSays({ state: 'revoked' }),
      ],
      'a stop': [
        issuedAlone,
        requests(({ setting, id }) => manage(setting, 'DELETE', `/${id}`, { headers: HEADERS['an id'] })),
        isNamed,
        succeeds({}, 204),
        recordSays({ state: 'revoked' }),
      ],
      'a kill switch': [
        issuedAlone,
        requests(({ setting, people }) =>
          manage(setting, 'DELETE', `?userId=${people.userId}`, { headers: HEADERS['an id'] }),
        ),
        isNamed,
        succeeds(),
        recordSays({ state: 'revoked' }),
      ],
      'in the console': [
        issuedAlone,
        requests(({ setting, id }) =>
          setting.post(
            '/stop',
            { id, reason: 'done' },
            { 'sec-fetch-site': 'same-origin', ...HEADERS['an id'] },
          ),
        ),
        isNamed,
        answer(({ response }) => expect(response.status).to.equal(303)),
        recordSays({ state: 'revoked' }),
      ],
      'a failure': [
        fails('store.insert'),
        issues({}, { headers: HEADERS['an id'] }),
        isNamed,
        answers(503, 'temporarily_unavailable'),
        changesNothing,
      ],
      'in the process': [
        issuedAlone,
        requests(({ setting, id }) => inProcess(setting, (records) => records.stop({ id }))),
        ({ events }) => expect(events[0]?.payload).not.to.have.property('request'),
        succeeds(),
        recordSays({ state: 'revoked' }),
      ],
    },
  ),
]

declareCells('V', told)
