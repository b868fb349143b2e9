/** What the management API does, called in the process of the provider (docs/protocol.md §2.6). */
import { expect } from 'chai'
import type { FindAccount } from 'oidc-provider'
import { tooLate } from '../../fixtures/clock.ts'
import { inProcess } from '../../fixtures/records.ts'
import { exchange } from '../../fixtures/requests.ts'
import { uncalledStore } from '../../fixtures/uncalled-store.ts'
import { unique } from '../../fixtures/unique.ts'
import { notFound } from '../../src/base/errors.ts'
import { createImpersonation, type Records } from '../../src/index.ts'
import { changesNothing, notLookedUp, recordSays, recordUnchanged } from './expectations.ts'
import { fails, functions, onADayOfItsOwn, stored, works } from './given.ts'
import { asks, FINDING, isIssued } from './managing.ts'
import { answer, type Named, type Rule, record, rowsOf, type Step, type Steps, values } from './rule.ts'
import type { Scene } from './scene.ts'

/** Calls a function. What it issues becomes the record of the scene. */
const calls =
  (call: (records: Records, scene: Scene) => Promise<unknown>): Step =>
  async (scene) => {
    const response = await scene.request(() => inProcess(scene.setting, (records) => call(records, scene)))
    if (response.body?.subjectToken) Object.assign(scene, response.body)
  }
/** Some members are wrong, so the types are left aside. */
const issues = (changes: object = {}): Step =>
  calls((records) => records.issue({ userId: 'alice', createdBy: 'host', ...changes }))
const returns = (check: (body: Scene['response']['body'], scene: Scene) => void): Step =>
  answer((scene) => {
    expect(scene.response.status, scene.response.text).to.equal(200)
    check(scene.response.body, scene)
  })
/** A refusal as the route would respond, with the member that is wrong. */
const isRefused = (field: string | undefined, status: number, error: string, text: string): Steps => [
  answer(({ response }) => {
    const told = { error, error_description: text, ...(field !== undefined && { field }) }
    expect([response.status, response.body]).to.deep.equal([status, told])
  }),
  changesNothing,
]
const notExchanging = isRefused(
  'clientId',
  400,
  'invalid_request',
  'clientId must be a client that may exchange subject tokens',
)
const lists = (one: number) =>
  returns((body, { id }) =>
    expect(body.items.map((item: { id: string }) => item.id)).to.deep.equal(one ? [id] : []),
  )
/** Exchanged without an actor. */
const isAlarming: Steps = [
  isIssued,
  ({ setting, subjectToken }) => exchange(setting, { subject_token: subjectToken }),
]

const functionsOf = rowsOf(['issue', 'list', 'get', 'summary', 'stop', 'stopAll', 'acknowledge'])
const UNKNOWN = '0'.repeat(32)
const DOWN = ['insert', 'find', 'list', 'revoke', 'revokeWhere'].map((name) =>
  fails(`store.${name}`, new Error('private: lost')),
)
const LIMIT = 'limit must be a whole number from 1 to 100'
const DAYS = 'days must be a whole number from 1 to 90'
const REASON = 'reason must be a string of 1 to 1000 characters, and must not be blank'
/** Not the caller, who finds what the name itself finds. */
const tellsOperator: Step = ({ setting }) => expect(setting.errors.splice(0)).not.to.deep.equal([])
const UNAVAILABLE = isRefused(
  undefined,
  503,
  'temporarily_unavailable',
  'the service is temporarily unavailable',
)

export const inProcessRules: readonly Rule[] = [
  rowsOf(['no client', 'one that may not exchange'])('M25, in the process', {
    'no client': [issues({ clientId: 'no-one' }), notExchanging],
    'one that may not exchange': [issues({ clientId: 'orders-api' }), notExchanging],
  }),
  functionsOf('M178', {
    issue: [
      issues({ context: { ticketId: 'T-1' }, expiresIn: 60 }),
      returns((body) =>
        expect(body).to.include({ expiresIn: 60 }).and.have.all.keys('id', 'subjectToken', 'expiresIn'),
      ),
      ({ events }) => expect(events.map(({ name }) => name)).to.deep.equal(['subject_token.issued']),
      recordSays({ userId: 'alice', createdBy: 'host', context: { ticketId: 'T-1' }, state: 'active' }),
    ],
    list: [
      isIssued,
      calls((records, { people }) =>
        records.list({ userId: people.userId, live: false, createdAfter: 0, limit: 1 }),
      ),
      lists(1),
      changesNothing,
    ],
    get: [
      isIssued,
      asks('GET /subject-tokens/{id}'),
      ({ response, kept }) => void Object.assign(kept, { shown: response.text }),
      calls((records, { id }) => records.get(id)),
      returns((body, { kept }) => expect(JSON.stringify(body)).to.equal(kept.shown)),
      changesNothing,
    ],
    summary: [
      isIssued,
      calls((records) => records.summary({ days: 2 })),
      returns((body) => expect(body.days).to.have.length(2)),
      changesNothing,
    ],
    stop: [
      isIssued,
      calls((records, { id }) => records.stop({ id })),
      returns((body) => expect(body).to.deep.equal({ revoked: 1 })),
      ({ events }) => expect(events.map(({ name }) => name)).to.deep.equal(['subject_token.revoked']),
      recordSays({ state: 'revoked' }),
    ],
    stopAll: [
      isIssued,
      calls((records, { people }) => records.stopAll({ userId: people.userId })),
      returns((body) => expect(body).to.deep.equal({ revoked: 1 })),
      recordSays({ state: 'revoked' }),
    ],
    acknowledge: [
      isAlarming,
      calls((records, { id }) => records.acknowledge({ id, ...FINDING })),
      answer(({ response }) => expect([response.status, response.text]).to.deep.equal([200, ''])),
      recordSays({ acknowledged: (all: readonly { by: string }[]) => all[0]?.by === FINDING.by }),
    ],
  }),
  rowsOf(['issue'])('M178, the policy', {
    issue: [
      functions({ isAllowed: () => false }),
      issues(),
      isRefused(undefined, 403, 'access_denied', 'the request was denied by policy'),
      ({ events }) => expect(events[0]?.payload).to.include({ stage: 'issuance', clientId: 'host' }),
    ],
  }),
  ...(['issue', 'list', 'summary', 'stop', 'stopAll', 'acknowledge'] as const).map((name) =>
    values<unknown>(
      `M178, what is no plain object, ${name}`,
      {
        null: null,
        'a list': [],
        'a query': new URLSearchParams('userId=a'),
        inherited: Object.create({ id: 'a' }),
      },
      (given) => [
        calls((records) => records[name](given as never)),
        isRefused(undefined, 400, 'invalid_request', 'the argument must be a plain object'),
      ],
    ),
  ),
  values<() => [given: object, change: () => unknown, kept: object]>(
    'M178, the context is kept as it was given',
    {
      'whatever happens to the object': () => {
        const context = { ticketId: 'T-1' }
        return [
          context,
          () => Object.assign(context, { ticketId: '', more: 'x'.repeat(9000) }),
          { ticketId: 'T-1' },
        ]
      },
      'whatever it says the second time': () => {
        let read = 0
        const list = Object.assign(['short'], { toJSON: () => (read++ ? 'x'.repeat(9000) : 'short') })
        return [{ list }, () => {}, { list: 'short' }]
      },
    },
    (making) => [
      (scene) => {
        const [context, change, kept] = making()
        scene.kept.context = JSON.stringify(kept)
        const isAllowed = () => {
          change()
          return true
        }
        return [functions({ isAllowed }), issues({ context })].reduce<Promise<unknown>>(
          (before, step) => before.then(() => step(scene)),
          Promise.resolve(),
        )
      },
      returns((body) => expect(body.subjectToken).to.be.a('string')),
      recordSays(({ kept }) => ({ context: JSON.parse(kept.context ?? '') })),
    ],
  ),
  rowsOf(['the id of a client whose metadata is not valid'])('M179, broken', {
    'the id of a client whose metadata is not valid': [
      stored({ client_id: 'broken-host', redirect_uris: ['none'] }),
      issues({ createdBy: 'broken-host' }),
      isRefused('createdBy', 400, 'invalid_request', 'createdBy must not be the id of a client'),
    ],
  }),
  rowsOf(['missing', 'too long', 'the id of a client', 'that of one who may not issue'])('M179', {
    missing: [
      issues({ createdBy: undefined }),
      isRefused('createdBy', 400, 'invalid_request', 'createdBy is required'),
    ],
    'too long': [
      issues({ createdBy: 'x'.repeat(256) }),
      isRefused('createdBy', 400, 'invalid_request', 'createdBy must be a string of 1 to 255 characters'),
    ],
    'the id of a client': [
      issues({ createdBy: 'backend' }),
      isRefused('createdBy', 400, 'invalid_request', 'createdBy must not be the id of a client'),
    ],
    'that of one who may not issue': [
      issues({ createdBy: 'spa' }),
      isRefused('createdBy', 400, 'invalid_request', 'createdBy must not be the id of a client'),
    ],
  }),
  rowsOf(['stop', 'stopAll', 'self', 'continued'])('M180', {
    stop: [
      isIssued,
      calls((records, { id }) => records.stop({ id, by: 'dora' })),
      returns((body) => expect(body.revoked).to.equal(1)),
      recordSays({ revocation: { cause: 'host', by: 'dora' } }),
    ],
    stopAll: [
      isIssued,
      calls((records, { people }) => records.stopAll({ userId: people.userId, reason: 'a test' })),
      returns((body) => expect(body.revoked).to.equal(1)),
      recordSays({ revocation: { cause: 'host', reason: 'a test' } }),
    ],
    self: [
      isIssued,
      calls((records, { id }) => records.stop({ id, cause: 'self' })),
      returns((body) => expect(body.revoked).to.equal(1)),
      recordSays({ revocation: { cause: 'self' } }),
    ],
    continued: [
      isIssued,
      calls(async (records, { id, people: { userId } }) => {
        const next = await records.issue({ userId, createdBy: unique('host') })
        return records.stop({ id, cause: 'continued', continuedBy: next.id })
      }),
      returns((body) => expect(body.revoked).to.equal(1)),
      recordSays({
        revocation: ({ cause, client }: Record<string, unknown>) => cause === 'continued' && !client,
      }),
    ],
  }),
  functionsOf('M181, a member', {
    issue: [issues({ user: 'x' }), isRefused('user', 400, 'invalid_request', 'unknown member: user')],
    list: [
      calls((records) => records.list({ user: 'x' } as never)),
      isRefused('user', 400, 'invalid_request', 'unknown member: user'),
    ],
    get: 'it takes an id, and finds nothing by anything else',
    summary: [
      calls((records) => records.summary({ days: 91 })),
      isRefused('days', 400, 'invalid_request', 'days must be a whole number from 1 to 90'),
    ],
    stop: [
      calls((records) => records.stop({} as never)),
      isRefused('id', 400, 'invalid_request', 'id is required'),
    ],
    stopAll: [
      calls((records) => records.stopAll({ userId: 'a', actorId: 'b' })),
      isRefused('actorId', 400, 'invalid_request', 'actorId must not come with userId'),
    ],
    acknowledge: [
      calls((records) => records.acknowledge({ id: UNKNOWN, by: 'dora', note: ' ' })),
      isRefused(
        'note',
        400,
        'invalid_request',
        'note must be a string of 1 to 1000 characters, and must not be blank',
      ),
    ],
  }),
  ...Object.entries<Named<readonly [given: object, text: string]>>({
    issue: {
      'no user': [{ userId: undefined }, 'userId is required'],
      'no time': [{ expiresIn: 0 }, 'expiresIn must be whole seconds from 1 to 3600'],
      // Which a schema takes for a URI.
      'no host': [
        { resource: 'https://' },
        'resource must be an absolute URI without fragment, or a list of 1 to 8 different ones',
      ],
    },
    list: {
      'a text for a boolean': [{ live: 'true' }, 'live must be true or false'],
      'false for true': [{ unacknowledged: false }, 'unacknowledged must be true'],
      'a fraction': [{ createdAfter: 1.5 }, 'createdAfter must be whole seconds since the epoch'],
      'a text for a time': [{ createdBefore: '1' }, 'createdBefore must be whole seconds since the epoch'],
      'no limit': [{ limit: 0 }, LIMIT],
      'beyond the limit': [{ limit: 101 }, LIMIT],
      'a text for a number': [{ limit: '50' }, LIMIT],
      'a state': [{ state: 'live' }, 'state must be one of active, expired, consumed, revoked'],
      'a number for an id': [{ cursor: 7 }, 'cursor must be the id of a subject token'],
      'a list for a name': [{ userId: ['alice'] }, 'userId must be a string of 1 to 255 characters'],
    },
    summary: { 'no day': [{ days: 0 }, DAYS], 'a text for a number': [{ days: '2' }, DAYS] },
    stop: {
      cause: [{ id: UNKNOWN, cause: 'api' }, 'cause must be self or continued'],
      continuedBy: [{ id: UNKNOWN, continuedBy: 'x' }, 'continuedBy must come with the cause continued'],
      reason: [{ id: UNKNOWN, reason: ' ' }, REASON],
      userId: [{ id: UNKNOWN, userId: 'a' }, 'unknown member: userId'],
    },
    stopAll: {
      'no one': [{}, 'userId, actorId or createdBy is required'],
      cause: [{ userId: 'a', cause: 'self' }, 'unknown member: cause'],
      id: [{ id: UNKNOWN }, 'unknown member: id'],
    },
    acknowledge: {
      id: [{ id: undefined }, 'id is required'],
      by: [{ by: undefined }, 'by is required'],
      note: [{ note: undefined }, 'note is required'],
    },
  }).map(([name, wrong]) =>
    values(`M181, ${name}`, wrong, ([given, text]) => [
      name === 'issue'
        ? issues(given)
        : calls((records) =>
            Reflect.apply(Reflect.get(records, name), records, [
              { ...(name === 'acknowledge' && { id: UNKNOWN, ...FINDING }), ...given },
            ]),
          ),
      isRefused(Object.keys(given).at(-1), 400, 'invalid_request', text),
    ]),
  ),
  functionsOf('M181, unknown', {
    issue: [issues({ userId: 'no-one' }), isRefused(undefined, 404, 'not_found', 'user not found')],
    list: [calls((records) => records.list({ jti: 'x' })), lists(0), notLookedUp, changesNothing],
    get: [
      isIssued,
      [() => UNKNOWN, () => 'x', ({ id }: Scene) => [id]].map((idOf) => [
        calls((records, scene) => records.get(idOf(scene) as string)),
        answer(({ response }) => expect([response.status, response.text]).to.deep.equal([200, ''])),
      ]),
      changesNothing,
    ],
    summary: 'it names no record',
    stop: [
      calls((records) => records.stop({ id: UNKNOWN })),
      isRefused(undefined, 404, 'not_found', 'subject token not found'),
    ],
    stopAll: [
      calls((records) => records.stopAll({ userId: unique('user') })),
      returns((body) => expect(body).to.deep.equal({ revoked: 0 })),
      changesNothing,
    ],
    acknowledge: [
      calls((records) => records.acknowledge({ id: UNKNOWN, ...FINDING })),
      isRefused(undefined, 404, 'not_found', 'subject token not found'),
    ],
  }),
  functionsOf('M181, storage', {
    issue: [DOWN, issues(), UNAVAILABLE],
    list: [DOWN, calls((records) => records.list()), UNAVAILABLE],
    get: [DOWN, calls((records) => records.get(UNKNOWN)), UNAVAILABLE],
    summary: 'counts that were kept need no storage: the route has the cell',
    stop: [DOWN, calls((records) => records.stop({ id: UNKNOWN })), UNAVAILABLE],
    stopAll: [DOWN, calls((records) => records.stopAll({ userId: 'alice' })), UNAVAILABLE],
    acknowledge: [DOWN, calls((records) => records.acknowledge({ id: UNKNOWN, ...FINDING })), UNAVAILABLE],
  }),
  ...Object.entries({
    throws: () => Promise.reject(new Error('private: no directory')),
    'takes too long': () => tooLate<never>(1),
  }).map(([title, findAccount]) =>
    rowsOf(['list', 'stopAll'])(`M181, a findAccount that ${title}`, {
      list: [
        functions({ findAccount }),
        calls((records) => records.list({ userId: unique('user') })),
        lists(0),
        tellsOperator,
        changesNothing,
      ],
      stopAll: [
        functions({ findAccount }),
        calls((records) => records.stopAll({ userId: unique('user') })),
        returns((body) => expect(body).to.deep.equal({ revoked: 0 })),
        tellsOperator,
        recordUnchanged,
      ],
    }),
  ),
  ...Object.entries<Named<readonly [name: string, asked: number]>>({
    list: { unknown: ['no-one', 1], 'its own': ['alice', 1], 'of another one': ['alias:alice', 1] },
    revokeWhere: { unknown: ['no-one', 1], 'its own': ['alice', 1], 'of another one': ['alias:alice', 2] },
  }).map(([method, names]) =>
    values(`M181, a name asked of store.${method}`, names, ([userId, asked]) => [
      calls((records) => (method === 'list' ? records.list({ userId }) : records.stopAll({ userId }))),
      returns(() => {}),
      ({ calls: made }) => expect(made.filter((call) => call === `store.${method}`)).to.have.length(asked),
      recordUnchanged,
    ]),
  ),
  rowsOf(['a context of the provider'])('M181, findAccount', {
    'a context of the provider': [
      ({ setting, kept }) => {
        const findAccount: FindAccount = (ctx, accountId) => {
          expect(ctx.oidc.provider).to.equal(setting.provider)
          kept.headers = JSON.stringify(ctx.headers)
          return { accountId, claims: () => ({ sub: accountId }) }
        }
        setting.functions = { findAccount }
      },
      issues(),
      returns((_body, { kept }) => expect(kept.headers).to.equal('{}')),
      recordSays({ userId: 'alice' }),
    ],
  }),
  rowsOf(['summary'])('M93, other work runs between slices', {
    summary: [
      onADayOfItsOwn,
      ({ setting: { instead }, kept }) => {
        kept.order = ''
        const other = () => {
          kept.order += 'o'
          if (instead.size > 0) setImmediate(other)
        }
        const slices = (slice: unknown) =>
          async function* () {
            for (let count = 0; count < 3; count += 1) {
              kept.order += 's'
              yield slice
            }
          }
        instead.set('store.countLive', slices(1))
        const counts = { issued: 1, exchanged: 1, withoutActor: 1, revoked: 0, ended: 0, replayed: 0 }
        instead.set('store.summarize', slices(counts))
        setImmediate(other)
      },
      calls((records) => records.summary({ days: 1 })),
      returns(({ live, days }, { kept }) => {
        expect([live, days[0].issued]).to.deep.equal([3, 3])
        expect(kept.order?.replaceAll('o', '')).to.have.length(6)
        expect(kept.order).not.to.include('ss')
      }),
      works('store.countLive'),
      works('store.summarize'),
      changesNothing,
    ],
  }),
  rowsOf(['records'])('M178, before attach', {
    records: [
      answer(async () => {
        const error = await createImpersonation({ store: uncalledStore })
          .records.list()
          .catch((thrown: unknown) => thrown)
        expect(error).to.be.instanceOf(TypeError)
        expect(error).to.have.property('message', 'call attach(provider) before using records')
      }),
      record(() => {}),
    ],
  }),
  rowsOf(['isAllowed', 'findAccount', 'findAccount, with a RecordError'])('M182', {
    isAllowed: [
      functions({ isAllowed: () => Promise.reject(new Error('private')) }),
      issues(),
      answer(({ response }) => expect(response.body.thrown).to.equal('Error: isAllowed failed')),
      recordUnchanged,
    ],
    findAccount: [
      functions({ findAccount: () => Promise.reject(new Error('no directory')) }),
      issues(),
      answer(({ response }) => expect(response.body.thrown).to.equal('Error: findAccount failed')),
      recordUnchanged,
    ],
    'findAccount, with a RecordError': [
      functions({ findAccount: () => Promise.reject(notFound({ public: 'private' })) }),
      issues(),
      answer(({ response }) => expect(response.body.thrown).to.equal('Error: findAccount failed')),
      recordUnchanged,
    ],
  }),
]
