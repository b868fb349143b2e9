/** What may happen in a walk. Numbers are taken modulo what there is to choose from, so that every walk makes sense. */
import fc from 'fast-check'

const pick = fc.nat(1000)
const issuer = fc.constantFrom(0 as const, 0 as const, 1 as const)
/** In one of so many cases. */
const oneIn = <Value>(count: number, value: fc.Arbitrary<Value>) =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: count - 1 }, { arbitrary: value, weight: 1 })
const maybe = <Value>(value: fc.Arbitrary<Value>) => oneIn(2, value)
const seldom = <Value>(value: fc.Arbitrary<Value>) => oneIn(5, value)

const SCOPES = ['orders:read', 'orders:write', 'openid', 'offline_access', 'profile', 'unknown']
const scope = fc
  .uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1, maxLength: 4 })
  .map((names) => names.join(' '))

/** What the deployment's functions do is written in it: see `optionsFor`. */
interface Context {
  readonly reason?: string | null
  readonly ticketId?: unknown
  readonly issuance?: string
  readonly exchange?: string
  readonly claims?: string
  readonly onBehalfOf?: string
  readonly onward?: string
  readonly extra?: unknown
}
const fails = fc.constantFrom('deny', 'throw')
const claimsFail = fc.constantFrom('deny', 'throw', 'reserved')
const usual: fc.Arbitrary<Context> = fc.constantFrom<Context>(
  { reason: 'asked' },
  { reason: 'asked', ticketId: 'T-1' },
  { reason: 'asked', ticketId: 'T-2' },
)
const context: fc.Arbitrary<Context> = fc.record(
  {
    reason: fc.constantFrom('asked', 'SUP-1', ' ', null),
    /** Those that are no names are stored, and found by no list. */
    ticketId: fc.constantFrom<unknown>('T-1', 't-1', 'T-1 ', '', 7, 'T'.repeat(256)),
    issuance: fails,
    exchange: fails,
    claims: claimsFail,
    extra: fc.jsonValue({ maxDepth: 2 }),
  },
  { requiredKeys: [] },
)
/** What fails only when an API passes the user on. */
const onward: fc.Arbitrary<Context> = fc.record(
  { reason: fc.constant('asked'), onBehalfOf: fails, onward: claimsFail, extra: fc.constant('€') },
  { requiredKeys: ['reason'] },
)

const issue = fc.record({
  kind: fc.constant('issue'),
  issuer,
  user: pick,
  alias: fc.boolean(),
  actor: seldom(pick),
  client: seldom(pick),
  resource: seldom(pick),
  scope: seldom(scope),
  expiresIn: maybe(fc.constantFrom(1, 2, 60, 600, 3600)),
  context: fc.oneof(
    { arbitrary: usual, weight: 6 },
    { arbitrary: context, weight: 2 },
    { arbitrary: onward, weight: 1 },
  ),
})

const proof = maybe(fc.constantFrom('fresh', 'used', 'garbage'))
/** At another issuer than the one that it belongs to. */
const astray = oneIn(10, fc.constant(true))
/** Revoked through the management API at the same moment. */
const revoked = oneIn(6, fc.constant(true))

/** An API exchanges an access token that it received, so many times at once. */
const pass = fc.record({
  kind: fc.constant('pass'),
  received: pick,
  astray,
  api: pick,
  resource: pick,
  scope: maybe(scope),
  /** With an actor token. */
  actor: oneIn(20, fc.constant(true)),
  proof,
  times: fc.constantFrom(1, 1, 1, 3),
  revoked,
  /** How often the next API passes on what this one was given. */
  onward: fc.constantFrom<number>(0, 0, 1, 2),
})

/** An exchange. With `race`, as many at once. */
const exchange = fc.record({
  kind: fc.constant('exchange'),
  token: pick,
  astray,
  client: pick,
  resource: pick,
  scope: maybe(scope),
  actor: maybe(pick),
  proof,
  race: fc.constantFrom(1, 1, 1, 1, 1, 2, 5),
  revoked,
  /** What an API does with the access token. */
  pass: oneIn(3, pass),
})

/** The access token of a person. */
const login = fc.record({
  kind: fc.constant('login'),
  issuer,
  person: pick,
  client: pick,
  format: fc.constantFrom('jwt' as const, 'opaque' as const),
  scope: fc.constantFrom('openid', 'openid orders:read', 'openid orders:read profile', 'orders:read'),
  /** Whether an opaque one is for a resource. */
  received: fc.boolean(),
})

const show = fc.record({ kind: fc.constant('show'), token: pick, astray: fc.boolean() })
/** Introspection of an access token. */
const look = fc.record({ kind: fc.constant('look'), held: pick })
/** The revocation endpoint of the provider, by the client of the access token or by another one. */
const end = fc.record({ kind: fc.constant('end'), held: pick, client: pick })

/** What a backend says of a stop; `undefined`: by DELETE, which says nothing. */
const says = fc.constantFrom(
  undefined,
  undefined,
  {},
  { by: 'dora' },
  { reason: 'a walk' },
  { by: 'dora', reason: 'a walk' },
)
const revoke = fc.record({
  kind: fc.constant('revoke'),
  token: pick,
  says,
  astray: seldom(fc.constant(true)),
})
/** A stop that must be refused, and stop nothing. */
const misrevoke = fc.record({
  kind: fc.constant('misrevoke'),
  token: pick,
  how: fc.constantFrom('nothing', 'two', 'unknown field', 'blank reason', 'no name', 'unknown id', 'query'),
})

/** Someone has looked into the alarms of a record. */
const acknowledge = fc.record({
  kind: fc.constant('acknowledge'),
  token: pick,
  astray,
  by: fc.constantFrom('erin', 'frank'),
  /** The replay that they saw: that of the record, or another one. */
  saw: maybe(fc.constantFrom('its own', 'none', 'another')),
})

const BY = ['userId', 'actorId', 'createdBy'] as const
export type By = (typeof BY)[number]
const named = { by: fc.constantFrom(...BY), name: pick, alias: fc.boolean() }

const kill = fc.record({ kind: fc.constant('kill'), issuer, ...named, says })
const list = fc.record({
  kind: fc.constant('list'),
  issuer,
  ...named,
  state: seldom(fc.constantFrom('active', 'expired', 'consumed', 'revoked')),
  live: seldom(fc.boolean()),
  replayed: seldom(fc.boolean()),
  withoutActor: seldom(fc.boolean()),
  unacknowledged: seldom(fc.constant(true)),
  ticketId: seldom(fc.constantFrom('T-1', 'T-2', 't-1', 'T-1 ')),
  /** Of an access token that is held, or of one that came of it; or of none. */
  jti: seldom(
    fc.record({ held: pick, form: fc.constantFrom('its own', 'of a child', 'unknown', 'garbage') }),
  ),
  client: seldom(pick),
  limit: fc.constantFrom(1, 2, 50, 100),
})

/** The account of a person is disabled, or enabled again. */
const account = fc.record({ kind: fc.constant('account'), person: pick })

const step = fc.oneof(
  { arbitrary: issue, weight: 30 },
  { arbitrary: exchange, weight: 40 },
  { arbitrary: pass, weight: 25 },
  { arbitrary: login, weight: 10 },
  { arbitrary: show, weight: 10 },
  { arbitrary: look, weight: 8 },
  { arbitrary: end, weight: 3 },
  { arbitrary: revoke, weight: 5 },
  { arbitrary: misrevoke, weight: 2 },
  { arbitrary: acknowledge, weight: 6 },
  { arbitrary: kill, weight: 6 },
  { arbitrary: list, weight: 10 },
  { arbitrary: account, weight: 1 },
)

/** How time passes before a round: some seconds, or until just before or just at the next expiry. */
const time = fc.oneof(
  { arbitrary: fc.constantFrom(0, 1, 2, 3, 11), weight: 12 },
  { arbitrary: fc.constantFrom(60, 121, 601), weight: 1 },
  { arbitrary: fc.constantFrom('before' as const, 'at' as const), weight: 3 },
)

type Of<Value> = Value extends fc.Arbitrary<infer Type> ? Type : never
export type Issue = Of<typeof issue>
export type Exchange = Of<typeof exchange>
export type Pass = Of<typeof pass>
export type Login = Of<typeof login>
export type Show = Of<typeof show>
export type Look = Of<typeof look>
export type End = Of<typeof end>
export type Says = Of<typeof says>
export type Revoke = Of<typeof revoke>
export type Misrevoke = Of<typeof misrevoke>
export type Acknowledge = Of<typeof acknowledge>
export type Kill = Of<typeof kill>
export type List = Of<typeof list>
export type AccountChange = Of<typeof account>
export type Step = Of<typeof step>

export const LANES = 4
const round = fc.record({
  time,
  /** Before the steps, `purge` is called with this retention. */
  purge: oneIn(8, fc.constantFrom(0, 60, 600, 3600)),
  /** Before the steps, the summary of so many days is read. */
  summary: oneIn(4, fc.constantFrom(1, 2, 3, 10)),
  steps: fc.array(fc.record({ lane: fc.nat(LANES - 1), step }), { minLength: 1, maxLength: 12 }),
})
export type Round = Of<typeof round>

/**
 * Rounds one after another. In a round the lanes, which share no people, walk at the same time. A walk that is `alone`
 * begins when all earlier records have ended and were purged, so that its records are all there are.
 */
export const courses = fc.record({
  alone: fc.constantFrom(false, false, true),
  rounds: fc.array(round, { minLength: 1, maxLength: 16 }),
})
export type Course = Of<typeof courses>
