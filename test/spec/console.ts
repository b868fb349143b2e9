/** The console (docs/protocol.md §9). */
import { expect } from 'chai'
import { tooLate } from '../../fixtures/clock.ts'
import { DORA } from '../../fixtures/console.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { postRevocation, revoke, show } from '../../fixtures/management.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { actedBy, exchanged, made, type Of } from './exchanging.ts'
import { changesNothing, recordSays, tokenHasEnded } from './expectations.ts'
import { fails, functions, issuedWith, on, onADayOfItsOwn, passes } from './given.ts'
import { acknowledges, isIssued, replayOf } from './managing.ts'
import { answer, each, rowsOf, type Step, type Steps, texts, values } from './rule.ts'
import type { Scene } from './scene.ts'
import type { Functions } from './settings.ts'
import { issuedAgain, issuedAlone, used } from './stopping.ts'
import {
  type Changes,
  can,
  everyPost,
  everyRoute,
  forgetErrors,
  hasHeaders,
  isAnswered,
  isPost,
  isRefused,
  itsLink,
  leadsTo,
  NAMES,
  notAsked,
  opens,
  REASON,
  RECORD,
  reports,
  routeOf,
  SAME_ORIGIN,
  searches,
  shows,
  showsNot,
  type Text,
  visits,
} from './visiting.ts'

/** Of an alice of its own, in which someone acts. */
const isViewed: Steps = [isIssued, exchanged(actedBy())]
/** What each route can do its work on: an alarm where that is marked as seen. */
const givenFor = (name: string): Steps => (name === 'POST /acknowledge' ? [isIssued, exchanged()] : isViewed)
const isSeen: Step = recordSays({
  state: 'consumed',
  acknowledged: ([seen]: readonly { by: string; note: string }[]) =>
    seen?.by === 'dora' && seen.note === REASON,
})
const useAgain: Step = (scene) => exchange(scene.setting, { subject_token: scene.subjectToken })
/** The page, or where a stop leads. */
const succeeds = (name: string): Steps =>
  isPost(name)
    ? [
        isAnswered(303),
        name === 'POST /acknowledge'
          ? isSeen
          : recordSays({ state: 'revoked', revocation: { cause: 'console', by: 'dora', reason: REASON } }),
      ]
    : [isAnswered(200), changesNothing]
const isAlarm: Steps = [isIssued, exchanged()]
const isUsedAgain: Steps = [isViewed, useAgain]
/** It is on the page, or it is not. */
const showsIt = (isThere: boolean): Steps => [
  isAnswered(200),
  isThere ? shows(itsLink) : showsNot(itsLink),
  changesNothing,
]
/** It was stopped through the management API, for this reason. */
const saysWhy =
  (body: object): Step =>
  async ({ setting, id }) => {
    const { status, text } = await postRevocation(setting, { id, ...body })
    expect(status, text).to.equal(200)
  }
/** It was stopped, and its JWT has no `status`. */
const isKept: Steps = [on('without status lists'), isViewed, saysWhy({})]
/** A day of UTC, so many days from today. */
const day = (later: number) => new Date(Date.now() + later * 86_400_000).toISOString().slice(0, 10)

/** The methods of the path of a route. */
const allowedAt = (name: string): string => {
  if (name.endsWith('/stop-all')) return 'GET, HEAD, POST'
  return isPost(name) ? 'POST' : 'GET, HEAD'
}

const RIGHTS = ['see', 'stop', 'stopAll', 'none'] as const
const byRight = NAMES.map((name) =>
  rowsOf(RIGHTS)(
    `${routeOf(name).id}, ${name}`,
    each(RIGHTS, (right) => [
      givenFor(name),
      right === 'none' ? can() : can(right),
      visits(name),
      right === routeOf(name).right ? succeeds(name) : isRefused(403),
    ]),
  ),
)

const TICKET = issuedWith({ context: { ticketId: 'T-2' } })
const pages = [
  values<readonly [given: Steps, isThere: boolean]>(
    'C1, what is live',
    {
      live: [isViewed, true],
      'not used': [[isIssued], false],
      stopped: [[isViewed, ({ setting, id }) => revoke(setting, id)], false],
    },
    ([steps, isThere]) => [steps, opens(''), showsIt(isThere)],
  ),
  values<readonly [finds: string, leavesOut?: string]>(
    'C2, selects by',
    {
      userId: ['userId=USER', 'userId=no-one'],
      actorId: ['actorId=ACTOR', 'actorId=no-one'],
      clientId: ['userId=USER&clientId=spa', 'userId=USER&clientId=web'],
      createdBy: ['createdBy=BACKEND', 'createdBy=backend'],
      ticketId: ['userId=USER&ticketId=T-2', 'ticketId=T-22'],
      state: ['userId=USER&state=consumed', 'state=active'],
      live: ['userId=USER&state=live', 'state=revoked'],
      from: [`userId=USER&from=${day(0)}`, `from=${day(1)}`],
      to: [`userId=USER&to=${day(0)}`, `to=${day(-1)}`],
      'what is not blank': ['userId=USER&actorId=&state=&from=&to=&clientId=&createdBy=&ticketId='],
    },
    (queries) => [
      TICKET,
      issuedAlone,
      used('a JWT'),
      queries.map((query = '', place) => {
        const named = ({ people }: Scene) =>
          query
            .replace('USER', people.userId)
            .replace('ACTOR', people.actorId)
            .replace('BACKEND', people.createdBy)
        return [
          opens((scene) => `/history?${named(scene)}`),
          showsIt(place === 0),
          opens((scene) => `/history.csv?${named(scene)}`),
          answer(({ response, id }) => expect(response.text.includes(id)).to.equal(place === 0)),
        ]
      }),
    ],
  ),
  values<readonly [given: Steps, query: string, isThere: boolean]>(
    'C4',
    {
      'used again': [isUsedAgain, '', true],
      'without anyone': [isAlarm, '', true],
      'with someone': [isViewed, '', false],
      'used again, and looked into': [[isUsedAgain, acknowledges()], '', false],
      'without anyone, and looked into': [[isAlarm, acknowledges()], '', false],
      'all that were used again': [[isUsedAgain, acknowledges()], '?show=replayed', true],
      'all without anyone': [[isAlarm, acknowledges()], '?show=withoutActor', true],
      'with someone, among all': [isViewed, '?show=withoutActor', false],
    },
    ([steps, query, isThere]) => [steps, opens(`/alarms${query}`), showsIt(isThere)],
  ),
  texts('C22', ['GET {prefix}', 'GET /history', 'GET /{id}'], (name) => [
    passes(0),
    isKept,
    visits(name),
    shows('cannot be ended, expires at', name === 'GET /{id}' ? '<h1>' : itsLink),
    passes(600),
    visits(name),
    showsNot('cannot be ended'),
    changesNothing,
  ]),
  rowsOf(['GET'])('C23, the numbers', {
    GET: [
      onADayOfItsOwn,
      ...[{ cause: 'self' }, { cause: 'self' }, {}].map((body): Steps => [isViewed, saysWhy(body)]),
      // Counted once they are asked for: those of another day are shown until then.
      async ({ setting }) => {
        for (let page = ''; !page.includes(`<tbody><tr><th>${day(0).slice(5)}<td>`); )
          page = (await setting.get()).text
      },
      visits('GET {prefix}'),
      shows('<td>3<td>3<td>0<td>2<td>1<td>0'),
      changesNothing,
    ],
  }),
  rowsOf(['of a used one'])('C6, a stop', {
    'of a used one': [
      issuedAlone,
      used('an opaque token'),
      visits('POST /stop'),
      leadsTo(({ id }) => `/${id}`),
      recordSays({ state: 'revoked' }),
      tokenHasEnded,
    ],
  }),
  values('C8', { userId: 'userId', actorId: 'actorId', createdBy: 'createdBy' } as const, (name) => [
    issuedAlone,
    opens(({ people }) => `/stop-all?${name}=${people[name]}`),
    shows('<strong>1 impersonation</strong>'),
    changesNothing,
    visits('POST /stop-all', ({ people }) => ({
      fields: { [name]: people[name], confirm: people[name], reason: REASON },
    })),
    answer(({ response, people }) =>
      expect(response.headers.get('location')).to.match(
        new RegExp(`^/impersonations/stop-all\\?${name}=${people[name]}&stopped=\\d+$`),
      ),
    ),
    opens(({ response }) => response.headers.get('location')?.replace('/impersonations', '') ?? ''),
    shows('<strong>1 impersonation</strong> stopped at', itsLink),
    recordSays({ state: 'revoked', revocation: { cause: 'console', by: 'dora', reason: REASON } }),
  ]),
]

const historyOf =
  (name: 'userId' | 'actorId' | 'createdBy'): Text =>
  ({ people }) =>
    `/history?${name}=${people[name]}`
const two: Steps = [issuedAlone, issuedAgain]
/** The deployment finds these ids, and then that of the user. */
const isFound =
  (...others: readonly string[]): Step =>
  ({ setting, people }) => {
    setting.functions = { find: () => [...others, people.userId] }
  }
const others = (count: number) => Array.from({ length: count }, (_, number) => `no-one-${number}`)
const TICKET_ID = unique('T')
const search = [
  values<readonly [given: Steps, searched: Text, to: Text]>(
    'C24, leads to',
    {
      'the record': [isViewed, ({ id }) => id, RECORD],
      'the record of a child': [isViewed, ({ id }) => `${id}.${'a'.repeat(22)}`, RECORD],
      'the record, with spaces around': [isViewed, ({ id }) => ` ${id}\n`, RECORD],
      'the one record of a backend': [[issuedAlone], ({ people }) => people.createdBy, RECORD],
      'the one record of a ticket': [
        [issuedWith({ context: { ticketId: TICKET_ID } }), isIssued],
        TICKET_ID,
        RECORD,
      ],
      'the history of a user': [two, ({ people }) => people.userId, historyOf('userId')],
      'the history of an engineer': [two, ({ people }) => people.actorId, historyOf('actorId')],
      'the history of a backend': [two, ({ people }) => people.createdBy, historyOf('createdBy')],
      'the history of a name': [[two, isFound()], 'Alice', historyOf('userId')],
      'the last of twenty': [[two, isFound(...others(19))], 'Alice', historyOf('userId')],
      'what can be an id': [[two, isFound('', 'x'.repeat(256), 'a\0b')], 'Alice', historyOf('userId')],
    },
    ([steps, searched, to]) => [steps, searches(searched), leadsTo(to), changesNothing],
  ),
  values<readonly [path: string, given?: Step]>(
    'C24, finds nothing',
    {
      nothing: ['?q=no-one'],
      blank: ['?q=+'],
      'too long': [`?q=${'x'.repeat(256)}`],
      absent: [''],
      'the 21st': ['?q=Alice', isFound(...others(20))],
      'someone beside what is no id': ['?q=Alice', isFound(7 as never)],
    },
    ([query, step = []]) => [isViewed, [step].flat(), opens(`/search${query}`), showsIt(false)],
  ),
  values<() => unknown>(
    'C26, find',
    {
      throws: () => expect.fail('private: no directory'),
      rejects: () => Promise.reject(new Error('private: no directory')),
      'takes longer than a second': () => tooLate<never>(1),
      'returns no list': () => 'alice',
      'returns a list of something else': () => [{ id: 'alice' }],
      'returns nothing': () => undefined,
    },
    (find) => [
      issuedAlone,
      functions({ find } as Functions),
      searches(({ people }) => people.userId),
      showsNot('private'),
      leadsTo(RECORD),
      changesNothing,
    ],
  ),
]

/** What someone says that they have seen, with a note. */
const seen = (fields: Of<Parameters> = {}): Step =>
  visits('POST /acknowledge', async (scene) => ({
    fields: { id: scene.id, replayedAt: '', note: REASON, ...(await made(fields, scene)) },
  }))
const many =
  (count: number) =>
  ({ id }: Scene) => ({
    id: Array(count).fill(id),
    replayedAt: Array(count).fill(''),
  })
const another: Step = async ({ setting, kept }) => {
  const { id, subjectToken } = await issue(setting)
  await exchange(setting, { subject_token: subjectToken })
  kept.other = id
}
const acknowledgements = [
  values<readonly [given: Steps, ...fields: Of<Parameters>[]]>(
    'C25, looked into',
    {
      'used again': [isUsedAgain, async (scene) => ({ replayedAt: String(await replayOf(scene)) })],
      'without anyone': [isAlarm, {}],
      'the most': [isAlarm, many(100)],
      repeated: [isAlarm, {}, {}],
    },
    ([steps, ...fields]) => [
      steps,
      fields.map((one) => [seen(one), leadsTo('/alarms')]),
      recordSays({
        acknowledged: ([one, ...others]: readonly { by: string; note: string }[]) =>
          one?.by === 'dora' && one.note === REASON && others.length === 0,
      }),
    ],
  ),
  rowsOf(['none seen', 'another seen', 'one of two'])('C27', {
    ...each(['none seen', 'another seen'], (what) => [
      isUsedAgain,
      seen({ replayedAt: what === 'none seen' ? '' : '1' }),
      shows('role="alert">What was not marked has changed since this page was made', `value="${REASON}"`),
      isRefused(409),
    ]),
    'one of two': [
      isUsedAgain,
      another,
      seen(({ id, kept: { other = '' } }) => ({ id: [id, other], replayedAt: ['', ''] })),
      isAnswered(409),
      async ({ setting, kept: { other = '' } }) =>
        expect((await show(setting, other)).body.acknowledged).to.have.length(1),
      recordSays({ state: 'revoked', acknowledged: undefined }),
    ],
  }),
  values<readonly [status: number, fields: Of<Parameters>]>(
    'C25, refused',
    {
      'no note': [400, { note: undefined }],
      'a blank note': [400, { note: ' ' }],
      'a note that is too long': [400, { note: 'x'.repeat(1001) }],
      'two notes': [400, { note: ['a', 'b'] }],
      'no id': [400, { id: undefined, replayedAt: undefined }],
      'no replayedAt': [400, { replayedAt: undefined }],
      'more replays than ids': [400, { replayedAt: ['', ''] }],
      'a replay that is no time': [400, { replayedAt: '1.5' }],
      'another field': [400, { by: 'robin' }],
      '101 of them': [400, many(101)],
      unknown: [404, { id: '0'.repeat(32) }],
      'one unknown': [404, ({ id }) => ({ id: [id, '0'.repeat(32)], replayedAt: ['', ''] })],
    },
    ([status, fields]) => [isAlarm, seen(fields), isRefused(status)],
  ),
  rowsOf(['no alarm'])('C25, refused', { 'no alarm': [isViewed, seen(), isRefused(409)] }),
  rowsOf(['leads to a refusal', 'a wrong input'])('C11, what was seen', {
    'leads to a refusal': [
      isAlarm,
      can('stop'),
      seen(),
      visits('GET /alarms'),
      shows('So was a note.'),
      showsNot(itsLink),
      isAnswered(403),
      isSeen,
    ],
    'a wrong input': [isAlarm, can('stop'), seen({ note: ' ' }), showsNot(itsLink), isRefused(400)],
  }),
]

/** The form of the route, with another reason. */
const withReason =
  (name: string, reason: string | readonly string[] | undefined) =>
  (scene: Scene): Changes => {
    const { reason: _, ...fields } = routeOf(name).visit(scene).fields ?? {}
    return { fields: { ...fields, ...(reason !== undefined && { reason }) } }
  }
const forms = [
  ...Object.entries({
    none: undefined,
    blank: ' \n',
    'too long': 'x'.repeat(1001),
    NUL: 'a\0',
    'two of them': ['a', 'b'],
    large: `typed${'x'.repeat(60_000)}`,
  }).map(([title, reason = '']) =>
    everyPost(`C19, reason: ${title}`, (name) => [
      isIssued,
      visits(name, withReason(name, title === 'none' ? undefined : reason)),
      // With what was typed.
      shows('role="alert"', `name="reason" value="${[reason].flat()[0]}"`),
      isRefused(400),
    ]),
  ),
  everyPost('C9, reason: the longest', (name) => [
    isIssued,
    visits(name, withReason(name, '🎫'.repeat(1000))),
    isAnswered(303),
    recordSays({ revocation: { cause: 'console', by: 'dora', reason: '🎫'.repeat(1000) } }),
  ]),
  ...['application/json', 'text/plain', 'multipart/form-data; boundary=x'].map((type) =>
    everyPost(`C9, ${type}`, (name) => [
      isIssued,
      visits(name, { headers: { ...SAME_ORIGIN, 'content-type': type } }),
      isRefused(400),
    ]),
  ),
  everyPost('C9, too large', (name) => [
    isIssued,
    visits(name, withReason(name, 'x'.repeat(70_000))),
    isRefused(400),
  ]),
  everyPost('C10', (name) => [
    isIssued,
    functions({ authorize: () => ({ ...DORA, id: 'robin' }) }),
    visits(name),
    isAnswered(303),
    recordSays({ state: 'revoked', revocation: { cause: 'console', by: 'robin', reason: REASON } }),
  ]),
  rowsOf(['a stop', 'a stop of all', 'a wrong input'])('C11', {
    'a stop': [
      isViewed,
      can('stop'),
      visits('POST /stop'),
      leadsTo(RECORD),
      visits('GET /{id}'),
      shows('A stop that led here was carried out.'),
      showsNot(({ people }) => people.userId),
      isAnswered(403),
      recordSays({ state: 'revoked' }),
    ],
    'a stop of all': [
      isViewed,
      can('stopAll'),
      visits('POST /stop-all'),
      leadsTo(({ people }) => `/stop-all?userId=${people.userId}`),
      visits('GET /stop-all', ({ people }) => ({ path: `/stop-all?userId=${people.userId}&stopped=0` })),
      shows('<strong>0 impersonations</strong> of the user'),
      showsNot(({ id }) => id),
      recordSays({ state: 'revoked' }),
    ],
    'a wrong input': [
      issuedWith({ context: { reason: 'for auditors alone' } }),
      isViewed,
      can('stop'),
      visits('POST /stop', ({ id }) => ({ fields: { id } })),
      shows('Reason'),
      showsNot('for auditors alone', ({ people }) => people.userId, 'Back to the console'),
      isRefused(400),
    ],
  }),
  ...Object.entries<readonly [nameOf: () => unknown, error: RegExp]>({
    throws: [() => expect.fail('private: no directory'), /private/],
    rejects: [() => Promise.reject(new Error('private: no directory')), /private/],
    'takes longer than a second': [() => tooLate<never>(1), /./],
    'returns no Map': [() => ({ bob: 'Bob' }), /^TypeError: nameOf must return a Map$/],
    'returns nothing': [() => undefined, /^TypeError: nameOf must return a Map$/],
  }).map(([title, [nameOf, error]]) =>
    everyRoute(`C14, nameOf ${title}`, (name) =>
      name.startsWith('GET') && !name.endsWith('csv')
        ? [
            isViewed,
            functions({ nameOf } as Functions),
            forgetErrors,
            visits(name),
            reports(error),
            shows('<bdi>dora</bdi>'),
            showsNot('private'),
            succeeds(name),
          ]
        : 'it shows no one by name',
    ),
  ),
  everyRoute('C15', (name) =>
    name.startsWith('GET') && !name.endsWith('csv')
      ? [
          isViewed,
          visits(name),
          answer(({ response }) => {
            const actions = [...response.text.matchAll(/<form[^>]* action="([^"]*)"/g)].map(
              ([, action]) => action,
            )
            for (const action of actions) expect(action).to.match(/^\/impersonations(\/|$)/)
          }),
          changesNothing,
        ]
      : 'it has no form',
  ),
]

const FOREIGN = {
  'another site': { 'sec-fetch-site': 'cross-site' },
  'the same site': { 'sec-fetch-site': 'same-site' },
  'no page': { 'sec-fetch-site': 'none' },
  'an origin of another host': { origin: 'https://elsewhere.example.com' },
  'an opaque origin': { origin: 'null' },
  nothing: {},
}
/** What operators read, where the client reads nothing of it. */
const FAILED = /^Error: authorize failed$/
const WRONG = /^TypeError: authorize must return/
export const consoleChecks = [
  ...Object.entries(FOREIGN).map(([title, headers]) =>
    everyRoute(`C16, ${title}`, (name) =>
      isPost(name)
        ? [isIssued, visits(name, { headers }), notAsked, isRefused(403)]
        : [isIssued, visits(name, { headers }), isAnswered(200), changesNothing],
    ),
  ),
  everyPost('C16, an origin of this host', (name) => [
    isIssued,
    visits(name, ({ setting }) => ({ headers: { origin: setting.baseUrl } })),
    succeeds(name),
  ]),
  ...['PUT', 'DELETE', 'OPTIONS', 'PATCH'].map((method) =>
    everyRoute(`C16, ${method}`, (name) => [
      isIssued,
      visits(name, { method, headers: { 'sec-fetch-site': 'cross-site' }, fields: undefined }),
      notAsked,
      isRefused(403),
    ]),
  ),
  everyRoute('C17, asked for every request', (name) => [
    isViewed,
    visits('GET {prefix}'),
    functions({ authorize: () => undefined }),
    visits(name),
    ({ calls }) => expect(calls.filter((call) => call === 'authorize')).to.have.length(1),
    isRefused(403),
  ]),
  everyRoute('C17, a right that was withdrawn', (name) => [
    isViewed,
    visits(isPost(name) ? 'GET /stop-all' : name),
    can(...(['see', 'stop', 'stopAll'] as const).filter((right) => right !== routeOf(name).right)),
    visits(name),
    isRefused(403),
  ]),
  ...Object.entries<readonly [authorize: () => unknown, error: RegExp]>({
    throws: [() => expect.fail('private: no directory'), FAILED],
    rejects: [() => Promise.reject(new Error('private: no directory')), FAILED],
    'takes too long': [() => tooLate<never>(1), FAILED],
    'returns true': [() => true, WRONG],
    'returns an unknown right': [() => ({ id: 'dora', can: ['see', 'stop', 'stopAll', 'all'] }), WRONG],
    'returns no id': [() => ({ can: ['see', 'stop', 'stopAll'] }), WRONG],
  }).map(([title, [authorize, error]]) =>
    everyRoute(`C17, ${title}`, (name) => [
      isViewed,
      functions({ authorize } as Functions),
      forgetErrors,
      visits(name),
      reports(error),
      showsNot('private'),
      isRefused(500),
    ]),
  ),
  everyRoute('C18, another method', (name) => [
    isIssued,
    visits(name, { method: 'PUT', fields: undefined }),
    ({ response }) => expect(response.headers.get('allow')).to.equal(allowedAt(name)),
    isRefused(405),
  ]),
  ...Object.entries({ unknown: '?x=1', repeated: '?cursor=a&cursor=b' }).map(([title, query]) =>
    everyRoute(`C19, ${title}`, (name) =>
      isPost(name)
        ? 'its input is a form: C9'
        : [
            isIssued,
            visits(name, (scene) => ({
              path: `${routeOf(name).visit(scene).path.replace(/\?.*/, '')}${query}`,
            })),
            isRefused(400),
          ],
    ),
  ),
  everyRoute('C20', (name) => [
    isIssued,
    ...['list', 'find', 'revoke', 'revokeWhere'].map((call) => fails(`store.${call}`)),
    visits(name),
    answer(({ response }) => expect(response.headers.get('retry-after')).to.equal('5')),
    isRefused(503),
  ]),
  everyRoute('C21', (name) => [givenFor(name), visits(name), hasHeaders, succeeds(name)]),
  everyRoute('C21, an error', (name) => [isViewed, can(), visits(name), hasHeaders, isRefused(403)]),
]

export const consoleRules = [...acknowledgements, ...pages, ...search, ...forms, ...byRight]
