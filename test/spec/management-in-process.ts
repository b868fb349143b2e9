/** What the management API does, called in the process of the provider (docs/protocol.md §2.6). */
import { expect } from 'chai'
import { inProcess } from '../../fixtures/records.ts'
import { exchange } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { notFound } from '../../src/http/errors.ts'
import type { Records } from '../../src/index.ts'
import { changesNothing, recordSays, recordUnchanged } from './expectations.ts'
import { fails, functions } from './given.ts'
import { FINDING, isIssued } from './managing.ts'
import { answer, type Rule, rowsOf, type Step, type Steps } from './rule.ts'
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
      calls((records, { id }) => records.get(id)),
      returns((body, { id }) => expect(body).to.include({ id, state: 'active' })),
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
    ],
  }),
  rowsOf(['list'])('M178, of another kind', {
    list: [
      calls((records) => records.list(new URLSearchParams({ userId: 'alice' }) as never)),
      isRefused(undefined, 400, 'invalid_request', 'the argument must be a plain object'),
    ],
  }),
  rowsOf(['a number', 'a boolean'])('M178, as text', {
    'a number': [
      calls((records) => records.list({ limit: '1' as never })),
      isRefused('limit', 400, 'invalid_request', 'limit must be a whole number from 1 to 100'),
    ],
    'a boolean': [
      calls((records) => records.list({ live: 'true' as never })),
      isRefused('live', 400, 'invalid_request', 'live must be true or false'),
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
  functionsOf('M181, unknown', {
    issue: [issues({ userId: 'no-one' }), isRefused(undefined, 404, 'not_found', 'user not found')],
    list: [calls((records) => records.list({ jti: 'x' })), lists(0), changesNothing],
    get: [
      calls((records) => records.get(UNKNOWN)),
      answer(({ response }) => expect([response.status, response.text]).to.deep.equal([200, ''])),
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
