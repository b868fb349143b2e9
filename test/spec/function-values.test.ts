/** What the functions of a deployment may return, and what is a failure (docs/protocol.md §5). */
import { expect } from 'chai'
import { errors } from 'oidc-provider'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { tooLate } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { AccessDenied } from '../../src/index.ts'
import { ready, send } from './exchanging.ts'
import {
  answers,
  changesNothing,
  denied,
  isServerError,
  recordSays,
  spent,
  succeeds,
  tokenSays,
  wrongInput,
} from './expectations.ts'
import { calledInOrder, contextHears, forget, granted, listens, policyHears } from './functions.ts'
import { functions, issuedWith, meanwhile, on } from './given.ts'
import { issues } from './managing.ts'
import { declareCells } from './matrix.ts'
import { type Named, type Rule, type Step, type Steps, values } from './rule.ts'
import type { Functions } from './settings.ts'

const CLAIMS = ['getCustomJwtClaims', 'extraTokenClaims'] as const
type Name = (typeof CLAIMS)[number] | 'isAllowed'

function throwing(error: unknown): never {
  throw error
}
const returns = (name: Name, call: () => unknown): Step => functions({ [name]: call } as Functions)

/** One event names the function, and what it has said is for operators. */
const isToldOf =
  (name: Name, reason?: string): Step =>
  ({ events, response }) => {
    expect(events).to.have.lengthOf(1)
    expect(events[0]?.payload).to.deep.include({ check: name, ...(reason && { reason }) })
    expect(response.text).not.to.include('private')
  }
/** The exchange fails while the function does this, spends nothing, and works once it does not. */
const failsWhile = (name: Name, call: () => unknown, reason?: string): Steps => [
  ready,
  returns(name, call),
  send(),
  isServerError,
  isToldOf(name, reason),
  changesNothing,
  forget,
  send(),
  granted,
]
const fails = (title: string, name: Name, calls: Named<() => unknown>, reason?: string): Rule =>
  values(`${title}, ${name}`, calls, (call) => failsWhile(name, call, reason && `${name} ${reason}`))

class WithToJson {
  readonly member = 'own'
  toJSON() {
    return { member: 'json' }
  }
}
class WithUndefined {
  readonly team = undefined
}
const cycle: Record<string, unknown> = {}
cycle.self = cycle

/** Nothing behind these names, the first of them outermost. */
const nested = (names: readonly string[]): object =>
  names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), undefined) as object
const DEEP = [...['a', 'b', 'c'].map((letter) => letter.repeat(64)), 'd'.repeat(61), 'e']

const NO_OBJECT = {
  null: () => null,
  'a number': () => 7,
  'a boolean': () => true,
  'a list': () => [{ team: 'support' }],
  'a list, later': async () => [],
  'a Map': () => new Map([['team', 'support']]),
  'a Set': () => new Set(),
  'a Date': () => new Date(),
  'an Error': () => new Error('x'),
  'a function': () => () => ({}),
  'an object of a class': () => new WithToJson(),
  'an object that inherits': () => Object.create({ team: 'inherited' }),
}
const NO_JSON = {
  'a function': () => ({ team: () => 'support' }),
  'a symbol': () => ({ team: Symbol('x') }),
  'a name that is a symbol': () => ({ [Symbol('team')]: 'support' }),
  'a BigInt': () => ({ level: 1n }),
  NaN: () => ({ level: Number.NaN }),
  Infinity: () => ({ level: Number.POSITIVE_INFINITY }),
  'a Map': () => ({ roles: new Map() }),
  'an object of a class': () => ({ user: new WithToJson() }),
  'an object of a class further in': () => ({ list: [{ user: new WithToJson() }] }),
  'a Boolean object': () => ({ on: Object(true) }),
  bytes: () => ({ key: new Uint8Array(2) }),
  'half a character': () => ({ name: '\ud800' }),
  'half a character in a name': () => ({ '\ud800': 1 }),
  'a cycle': () => cycle,
  'undefined too deep to name': () => nested(DEEP.with(3, 'd'.repeat(62))),
  'undefined in an object of a class': () => ({ nothing: null, user: new WithUndefined() }),
  'a promise': () => ({ team: Promise.resolve('support') }),
  'a getter that throws': () => ({
    get team() {
      return throwing(new Error('private'))
    },
  }),
  'a getter, which is not read': () => ({
    get team() {
      return undefined
    },
  }),
}
const RESERVED = {
  // The provider's own check of extraTokenClaims reads it, and runs after the spend.
  constructor: () => ({ constructor: 'x' }),
  'even when undefined': () => ({ sub: undefined }),
  __proto__: () => JSON.parse('{"__proto__":{"admin":true}}'),
  'behind a getter': () => Object.defineProperty({}, 'sub', { get: () => 'mallory', enumerable: true }),
  'not enumerable': () => Object.defineProperty({}, 'sub', { value: 'mallory' }),
}
/** By the name that the operator reads of the member. */
const UNDEFINED: Named<() => object> = {
  team: () => ({ team: undefined }),
  'impersonation.ticket_id': () => ({ impersonation: { reason: 'help', ticket_id: undefined } }),
  'roles[1].name': () => ({ roles: [{ name: 'a' }, { name: undefined }] }),
  'list[0]': () => ({ list: new Array(2) }),
  '["https://example.com/team"]': () => ({ 'https://example.com/team': undefined }),
  'a["x\\ny"]': () => ({ a: { 'x\ny': undefined } }),
  [`${'x'.repeat(64)}…`]: () => ({ ['x'.repeat(10_000)]: undefined }),
  more: () => ({ cycle, again: [cycle, cycle], more: undefined }),
  ['y'.repeat(64)]: () => ({ ['y'.repeat(64)]: undefined }),
  // The path to it has 256 characters; one more, and it is not named.
  [DEEP.join('.')]: () => nested(DEEP),
}
const THROWN = {
  'no error': () => throwing('private'),
  undefined: () => throwing(undefined),
  // biome-ignore lint/suspicious/noThenProperty: that is the test
  'by then': () => ({ then: () => throwing(new Error('private')) }),
  'the error of the provider': () => throwing(new errors.AccessDenied('private')),
}

const failures = [
  ...CLAIMS.flatMap((name) => [
    fails('P24, no object', name, NO_OBJECT, 'must return a plain object'),
    fails('P24, not JSON', name, NO_JSON, 'must return plain JSON'),
    fails('P24, reserved', name, RESERVED),
    values(`P24, undefined, ${name}`, UNDEFINED, (call, path) =>
      failsWhile(name, call, `${name} must not return undefined for the member ${path}`),
    ),
    fails('P6, thrown', name, THROWN),
  ]),
  fails('P24, nothing at all', 'getCustomJwtClaims', { undefined: () => undefined }),
  fails('P6, thrown', 'isAllowed', THROWN),
  ...(['issuance', 'exchange'] as const).map((stage) =>
    values<unknown>(
      `P21, neither true nor false, at ${stage}`,
      { undefined, null: null, one: 1, text: 'true', object: { allowed: true }, boxed: Object(true) },
      (value) =>
        stage === 'exchange'
          ? failsWhile('isAllowed', () => value)
          : [
              returns('isAllowed', () => value),
              issues(),
              answers(500, 'server_error', 'something went wrong'),
              isToldOf('isAllowed'),
              changesNothing,
            ],
    ),
  ),
  values('P6, too late, and rejects then', { unhandled: 'late' }, (message) => {
    const { promise, reject } = Promise.withResolvers<never>()
    const unhandled: unknown[] = []
    const listen = (error: unknown) => void unhandled.push(error)
    return [
      ({ undo }) => {
        process.on('unhandledRejection', listen)
        undo.push(() => process.off('unhandledRejection', listen))
      },
      failsWhile('getCustomJwtClaims', () => tooLate(1, promise)),
      async () => {
        reject(new Error(message))
        await new Promise(setImmediate)
        expect(unhandled).to.deep.equal([])
      },
    ]
  }),
]

const ANY_JSON = {
  list: [1, [2], { b: null }],
  t: true,
  f: 0.5,
  s: '',
  o: {},
  toString: 'x',
  hasOwnProperty: 1,
}
const OWN = ['iss', 'aud', 'sub', 'exp', 'iat', 'client_id', 'jti', 'status']
const FORMATS = { 'a JWT': API, 'an opaque token': OPAQUE_API }

const results = [
  values('P24, any JSON', FORMATS, (resource) => [
    functions({ getCustomJwtClaims: () => Object.assign(Object.create(null), ANY_JSON) }),
    send({ resource }),
    tokenSays(ANY_JSON),
    spent,
  ]),
  values('P24, nothing', { 'no member': {} }, (claims) => [
    functions({ getCustomJwtClaims: () => claims }),
    send(),
    tokenSays(() => ({ team: undefined })),
    ({ response }) => {
      const payload = JSON.parse(
        Buffer.from(response.body.access_token.split('.')[1], 'base64url').toString(),
      )
      expect(payload).to.have.all.keys(OWN)
    },
    spent,
  ]),
  values('P24, changed later', FORMATS, (resource) => {
    const claims = { team: { name: 'support' } }
    return [
      ready,
      functions({ getCustomJwtClaims: () => claims }),
      meanwhile('store.consume', () => Object.assign(claims.team, { name: 'changed' })),
      send({ resource }),
      tokenSays({ team: { name: 'support' } }),
      spent,
    ]
  }),
  values<object>(
    'P26, any JSON',
    {
      prototypes: JSON.parse('{"__proto__":{"admin":true},"inner":{"__proto__":1},"constructor":"x"}'),
      values: {
        n: [0, -1.5, 1e21, 5e-324],
        t: ['', '🎫 \u2028 \u007f', '\u00e9', 'e\u0301'],
        x: [null, true, {}],
      },
    },
    (context) => [
      issuedWith({ context }),
      listens,
      send(),
      contextHears({
        grant: ({ subjectTokenContext: heard }: { subjectTokenContext: object }) =>
          JSON.stringify(heard) === JSON.stringify(context) &&
          Object.getPrototypeOf(heard) === Object.prototype,
      }),
      () => expect(Reflect.get({}, 'admin')).to.equal(undefined),
      granted,
    ],
  ),
  values('P31, asked once where there is no claim at all', FORMATS, (resource) => [
    on('without status lists'),
    ready,
    send({ resource }),
    calledInOrder('isAllowed at exchange', 'extraTokenClaims', 'getCustomJwtClaims', 'store.consume'),
    granted,
  ]),
  values('P31, what it sees', FORMATS, (resource, format) => [
    ready,
    (scene) =>
      functions({
        extraTokenClaims(ctx, token) {
          const { accountId, aud, scope, clientId, grantId } = Object(token)
          const { client, entities } = ctx.oidc
          const seen = { accountId, aud, scope, clientId, of: client?.clientId }
          scene.kept.seen = JSON.stringify({ ...seen, user: entities.Account?.accountId })
          scene.kept.grantId = grantId
          return {}
        },
      })(scene),
    send({ resource, scope: 'orders:read' }),
    ({ kept }) => {
      expect(JSON.parse(kept.seen ?? '')).to.deep.equal({
        accountId: 'alice',
        aud: resource,
        scope: 'orders:read',
        clientId: 'spa',
        of: 'spa',
        user: 'alice',
      })
      expect(kept.grantId).to.match(format === 'a JWT' ? /^$/ : /^[\w-]{43}$/)
    },
    granted,
  ]),
  values('P31, nothing', { undefined }, () => [
    functions({ extraTokenClaims: () => undefined }),
    send(),
    granted,
  ]),
]

/** An actor token that is stored with these audiences. */
const storedActor =
  (aud: unknown): Step =>
  async (scene) => {
    const { provider } = scene.setting
    const client = await provider.Client.find('spa')
    const members = { accountId: 'bob', client, gty: 'authorization_code', scope: 'openid', aud }
    scene.kept.actor = await new provider.AccessToken(members as never).save()
  }
const signedActor =
  (aud?: unknown): Step =>
  async (scene) => {
    scene.kept.actor = await actorJwt(scene.setting, { ...(aud !== undefined && { aud }) })
  }
const TWO = [API, 'urn:elsewhere']

const policies = [
  values<readonly [given: Step, audiences: readonly string[]]>(
    'P11, the audiences',
    {
      'two of a JWT': [signedActor(TWO), TWO],
      'one of a JWT': [signedActor(), [API]],
      'two that are stored': [storedActor(TWO), TWO],
      'none that is stored': [
        async (scene) => void Object.assign(scene.kept, { actor: await actorToken(scene.setting) }),
        [],
      ],
    },
    ([given, audiences]) => [
      ready,
      given,
      listens,
      send(({ kept }) => withActor(kept.actor ?? '')),
      policyHears({ actor: (actor: { audiences: unknown }) => `${actor.audiences}` === `${audiences}` }),
      granted,
    ],
  ),
  values('P21, for operators', { AccessDenied: 'not on duty' }, (reason) => [
    functions({ isAllowed: () => throwing(new AccessDenied(reason)) }),
    issues(),
    answers(403, 'access_denied', 'the request was denied by policy'),
    isToldOf('isAllowed', reason),
    ({ setting }) => expect(setting.errors.map(String).join()).not.to.include(reason),
    changesNothing,
  ]),
  values<unknown>('P23, there', { zero: 0, false: false, list: [], object: {} }, (ticketId) => [
    on('with required context'),
    issues({ context: { ticketId } }),
    succeeds({}, 201),
    recordSays({ context: { ticketId } }),
  ]),
  values<object>(
    'P23, missing',
    {
      'a hard space': { ticketId: ' \t\n\u00a0' },
      'another case': { ticketid: 'T-1' },
      'further in': { inner: { ticketId: 'T-1' } },
    },
    (context) => [
      on('with required context'),
      issues({ context, userId: 'no-one', actorId: 'no-one' }),
      wrongInput('context.ticketId is required, and must not be blank'),
      calledInOrder(),
    ],
  ),
  values('P23, of a prototype', { toString: {} }, (context) => [
    on('with a context that every object has'),
    issues({ context }),
    wrongInput('context.toString is required, and must not be blank'),
  ]),
  values('P23, after the fields', { expiresIn: 0 }, (expiresIn) => [
    on('with required context'),
    issues({ expiresIn }),
    wrongInput('expiresIn must be whole seconds from 1 to 3600'),
  ]),
]

/** What can be awaited, and is no promise. */
const thenable = (promise: Promise<unknown>): object => ({
  // biome-ignore lint/suspicious/noThenProperty: that is the test
  then: promise.then.bind(promise),
})
const awaited = [
  values('P1, no promise', { 'says yes': true }, (decision) => [
    ready,
    returns('isAllowed', () => thenable(Promise.resolve(decision))),
    send(),
    granted,
  ]),
  fails('P1, no promise', 'isAllowed', { 'too late': () => thenable(tooLate(1)) }, 'took more than 1 s'),
  values('P5, no promise', { AccessDenied: 'not on Sundays' }, (reason) => [
    ready,
    returns('isAllowed', () => thenable(Promise.reject(new AccessDenied(reason)))),
    send(),
    denied(reason),
  ]),
]

declareCells('P, values', [...failures, ...results, ...policies, ...awaited])
