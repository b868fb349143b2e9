/** The console (docs/protocol.md §9). */
import { expect } from 'chai'
import { tooLate } from '../../fixtures/clock.ts'
import { DORA } from '../../fixtures/console.ts'
import { form, type HttpResponse, type Parameters } from '../../fixtures/http.ts'
import { postRevocation, revoke, show } from '../../fixtures/management.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import type { ConsoleRight } from '../../src/console/index.ts'
import { actedBy, exchanged, made, type Of } from './exchanging.ts'
import { changesNothing, recordSays, tokenHasEnded } from './expectations.ts'
import { fails, functions, issuedWith, on, onADayOfItsOwn, passes } from './given.ts'
import { acknowledges, isIssued } from './managing.ts'
import { answer, type Cell, each, type Rule, rowsOf, type Step, type Steps } from './rule.ts'
import type { Scene } from './scene.ts'
import type { Functions } from './settings.ts'
import { issuedAgain, issuedAlone, used } from './stopping.ts'

const REASON = 'wrong customer'

interface Visit {
  readonly method: string
  /** What follows the prefix. */
  readonly path: string
  readonly fields?: Parameters
}
interface Route {
  readonly right: ConsoleRight
  readonly visit: (scene: Scene) => Visit
}

const pageOf = (method: string, path: (scene: Scene) => string, right: ConsoleRight = 'see'): Route => ({
  right,
  visit: (scene) => ({ method, path: path(scene) }),
})
/** The same page by both methods. */
const PAGES: Readonly<
  Record<string, readonly [id: string, path: (scene: Scene) => string, right?: ConsoleRight]>
> = {
  '{prefix}': ['C1', () => ''],
  '/history': ['C2', ({ people }) => `/history?userId=${people.userId}`],
  '/history.csv': ['C3', ({ people }) => `/history.csv?userId=${people.userId}`],
  '/alarms': ['C4', () => '/alarms'],
  '/search': ['C24', ({ people }) => `/search?q=no-${people.userId}`],
  '/{id}': ['C5', ({ id }) => `/${id}`],
  '/stop-all': ['C7', ({ people }) => `/stop-all?userId=${people.userId}`, 'stopAll'],
}
const ROUTES: Readonly<Record<string, Route & { readonly id: string }>> = {
  ...Object.fromEntries(
    Object.entries(PAGES).flatMap(([name, [id, path, right]]) =>
      ['GET', 'HEAD'].map((method) => [`${method} ${name}`, { id, ...pageOf(method, path, right) }]),
    ),
  ),
  'POST /stop': {
    id: 'C6',
    right: 'stop',
    visit: ({ id }) => ({ method: 'POST', path: '/stop', fields: { id, reason: REASON } }),
  },
  'POST /acknowledge': {
    id: 'C25',
    right: 'stop',
    visit: ({ id }) => ({
      method: 'POST',
      path: '/acknowledge',
      fields: { id, replayedAt: '', note: REASON },
    }),
  },
  'POST /stop-all': {
    id: 'C8',
    right: 'stopAll',
    visit: ({ people: { userId } }) => ({
      method: 'POST',
      path: '/stop-all',
      fields: { userId, confirm: userId, reason: REASON },
    }),
  },
}
const NAMES = Object.keys(ROUTES)
const routeOf = (name: string) => ROUTES[name] ?? expect.fail(name)
const isPost = (name: string) => name.startsWith('POST')

const routes = rowsOf(NAMES)
const everyRoute = (title: string, cellOf: (name: string) => Cell): Rule => routes(title, each(NAMES, cellOf))

const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

interface Changes {
  readonly method?: string
  readonly path?: string
  readonly fields?: Parameters | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A request to the console, from a page of its own unless the headers say otherwise. */
const visits =
  (name: string, changes: Of<Changes> = {}): Step =>
  async (scene) => {
    const given: Visit & Changes = { ...routeOf(name).visit(scene), ...(await made(changes, scene)) }
    await scene.request(() => visit(scene, given))
  }

async function visit(
  { setting }: Scene,
  { method, path, fields, ...given }: Visit & Changes,
): Promise<HttpResponse> {
  const { headers = SAME_ORIGIN, body = fields && form(fields) } = given
  const init = { method, headers, redirect: 'manual', ...(body !== undefined && { body }) } as const
  const {
    status,
    headers: received,
    ...response
  } = await fetch(setting.url + path, init).then(async (sent) => ({
    status: sent.status,
    headers: sent.headers,
    text: await sent.text(),
  }))
  return { status, headers: received, body: undefined, ...response }
}

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
const can = (...rights: readonly ConsoleRight[]): Step =>
  functions({ authorize: () => ({ id: 'dora', can: rights }) })

const isAnswered = (status: number): Step =>
  answer(({ response }) => expect(response.status, response.text).to.equal(status))
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
const isRefused = (status: number): Steps => [isAnswered(status), changesNothing]
const shows = (text: Of<{ readonly text: string }>): Step =>
  answer(async (scene) => expect(scene.response.text).to.include((await made(text, scene)).text))
const showsNot = (text: Of<{ readonly text: string }>): Step =>
  answer(async (scene) => expect(scene.response.text).not.to.include((await made(text, scene)).text))
const itsLink = ({ id }: Scene) => ({ text: `/impersonations/${id}` })

const finds = (query: (scene: Scene) => string): Steps => [
  issuedAlone,
  used('a JWT'),
  visits('GET /history', (scene) => ({ path: `/history?${query(scene)}` })),
  shows(itsLink),
  changesNothing,
]
const leavesOut = (query: (scene: Scene) => string): Steps => [
  issuedAlone,
  used('a JWT'),
  visits('GET /history', (scene) => ({ path: `/history?${query(scene)}` })),
  isAnswered(200),
  showsNot(itsLink),
  changesNothing,
]
/** It was stopped through the management API, for this reason. */
const saysWhy =
  (body: Of<Readonly<Record<string, unknown>>>): Step =>
  async (scene) => {
    const { status, text } = await postRevocation(scene.setting, {
      id: scene.id,
      ...(await made(body, scene)),
    })
    expect(status, text).to.equal(200)
  }
/** It was stopped, and its JWT has no `status`. */
const isKept: Steps = [on('without status lists'), isViewed, saysWhy({})]
/** What was stopped like that is called so on its page, in its row and in the CSV. */
const calls = (body: Of<Readonly<Record<string, unknown>>>, word: string, state: string): Steps => [
  isViewed,
  async (scene) => {
    scene.kept.other = (await issue(scene.setting, { userId: scene.people.userId })).id
  },
  saysWhy(body),
  visits('GET /{id}'),
  shows({ text: `<span>${word} ` }),
  visits('GET /history', ({ people }) => ({ path: `/history?state=revoked&userId=${people.userId}` })),
  shows({ text: `>${state}</b>` }),
  visits('GET /history.csv'),
  shows({ text: `"${state.toLowerCase()}"` }),
  changesNothing,
]
/** A day of UTC, so many days from today. */
const day = (later: number) => new Date(Date.now() + later * 86_400_000).toISOString().slice(0, 10)

/** A cell that a spreadsheet takes for a formula begins like this. */
const FORMULA = /(^|;)[\s"]*[=+\-@]/
const hasNoFormula = (context: object): Steps => [
  issuedWith({ context }),
  isViewed,
  visits('GET /history.csv'),
  answer(({ response }) => {
    const cells = [...response.text.matchAll(/"((?:[^"]|"")*)"/g)].map(([, cell = '']) => cell)
    expect(cells.length).to.be.greaterThan(30)
    for (const cell of cells) expect(cell).not.to.match(FORMULA)
  }),
  changesNothing,
]

const STAGES = ['origin', 'authorize', 'path', 'input'] as const
/** A stop of all in which everything is wrong from one stage on. */
const wrongFrom =
  (first: (typeof STAGES)[number]): Step =>
  async (scene) => {
    const wrong = (stage: (typeof STAGES)[number]) => STAGES.indexOf(stage) >= STAGES.indexOf(first)
    scene.setting.functions = { authorize: () => (wrong('authorize') ? undefined : DORA) }
    await visits('POST /stop-all', {
      ...(wrong('origin') && { headers: {} }),
      ...(wrong('path') && { path: '/nothing' }),
      fields: { reason: '' },
    })(scene)
  }

const hasHeaders: Step = ({ response: { headers } }) => {
  expect(headers.get('cache-control')).to.equal('no-store')
  const policy = (headers.get('content-security-policy') ?? '').split('; ')
  expect(policy).to.include.members([
    "default-src 'none'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
  ])
  for (const named of [
    /^script-src 'sha256-[^' ]+'$/,
    /^style-src 'sha256-[^' ]+'$/,
    /^trusted-types [\w-]+$/,
  ])
    expect(policy.filter((part) => named.test(part))).to.have.length(1)
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

const pages = [
  rowsOf(['live', 'not used', 'stopped'])('C1, what is live', {
    live: [isViewed, visits('GET {prefix}'), shows(itsLink), changesNothing],
    'not used': [isIssued, visits('GET {prefix}'), showsNot(itsLink), changesNothing],
    stopped: [
      isViewed,
      ({ setting, id }) => revoke(setting, id),
      visits('GET {prefix}'),
      showsNot(itsLink),
      changesNothing,
    ],
  }),
  rowsOf(['userId', 'actorId', 'clientId', 'createdBy', 'ticketId', 'state', 'live', 'from', 'to'])(
    'C2, finds',
    {
      ticketId: [
        issuedWith({ context: { ticketId: 'T-2' } }),
        finds(({ people }) => `ticketId=T-2&userId=${people.userId}`),
      ],
      userId: finds(({ people }) => `userId=${people.userId}`),
      actorId: finds(({ people }) => `actorId=${people.actorId}`),
      clientId: finds(({ people }) => `clientId=spa&userId=${people.userId}`),
      createdBy: finds(({ people }) => `createdBy=${people.createdBy}`),
      state: finds(({ people }) => `state=consumed&userId=${people.userId}`),
      live: finds(({ people }) => `state=live&userId=${people.userId}`),
      from: finds(({ people }) => `from=${day(0)}&userId=${people.userId}`),
      to: finds(({ people }) => `to=${day(0)}&userId=${people.userId}`),
    },
  ),
  rowsOf(['userId', 'actorId', 'clientId', 'createdBy', 'ticketId', 'state', 'from', 'to'])(
    'C2, leaves out',
    {
      ticketId: [
        issuedWith({ context: { ticketId: 'T-2' } }),
        leavesOut(({ people }) => `ticketId=T-22&userId=${people.userId}`),
      ],
      userId: leavesOut(() => 'userId=no-one'),
      actorId: leavesOut(({ people }) => `actorId=no-one&userId=${people.userId}`),
      clientId: leavesOut(({ people }) => `clientId=web&userId=${people.userId}`),
      createdBy: leavesOut(({ people }) => `createdBy=backend&userId=${people.userId}`),
      state: leavesOut(({ people }) => `state=active&userId=${people.userId}`),
      from: leavesOut(({ people }) => `from=${day(1)}&userId=${people.userId}`),
      to: leavesOut(({ people }) => `to=${day(-1)}&userId=${people.userId}`),
    },
  ),
  rowsOf(['blank', 'unknown', 'malformed'])('C2, parameters', {
    blank: finds(
      ({ people }) => `userId=${people.userId}&actorId=&state=&from=&to=&clientId=&createdBy=&ticketId=`,
    ),
    unknown: [isIssued, visits('GET /history', { path: '/history?x=1' }), isRefused(400)],
    malformed: [isIssued, visits('GET /history', { path: '/history?from=2026-02-31' }), isRefused(400)],
  }),
  rowsOf(['GET'])('C3, a row', {
    GET: [
      isViewed,
      visits('GET /history.csv'),
      answer(({ response, id }) => {
        const [head = '', row = '', ...rest] = response.text.split('\r\n')
        expect(rest).to.deep.equal([''])
        expect(head).to.match(/^"started","engineer","user",/)
        expect(row).to.include(`"${id}"`).and.to.include('"bob"')
        expect(response.headers.get('content-type')).to.equal('text/csv; charset=utf-8')
      }),
      changesNothing,
    ],
  }),
  rowsOf(['used again', 'without anyone', 'with someone'])('C4, to look into', {
    'used again': [isViewed, useAgain, visits('GET /alarms'), shows(itsLink), changesNothing],
    'without anyone': [isIssued, exchanged(), visits('GET /alarms'), shows(itsLink), changesNothing],
    'with someone': [isViewed, visits('GET /alarms'), showsNot(itsLink), changesNothing],
  }),
  rowsOf(['used again', 'without anyone'])('C4, looked into', {
    'used again': [
      isViewed,
      useAgain,
      acknowledges(),
      visits('GET /alarms'),
      showsNot(itsLink),
      changesNothing,
    ],
    'without anyone': [
      isIssued,
      exchanged(),
      acknowledges(),
      visits('GET /alarms'),
      showsNot(itsLink),
      changesNothing,
    ],
  }),
  rowsOf(['used again', 'without anyone', 'with someone'])('C4, all alarms', {
    'used again': [
      isViewed,
      useAgain,
      acknowledges(),
      visits('GET /alarms', { path: '/alarms?show=replayed' }),
      shows(itsLink),
      changesNothing,
    ],
    'without anyone': [
      isIssued,
      exchanged(),
      visits('GET /alarms', { path: '/alarms?show=withoutActor' }),
      shows(itsLink),
      changesNothing,
    ],
    'with someone': [
      isViewed,
      visits('GET /alarms', { path: '/alarms?show=withoutActor' }),
      showsNot(itsLink),
      changesNothing,
    ],
  }),
  rowsOf(['GET'])('C5, the record', {
    GET: [
      issuedWith({ context: { ticketId: 'T-4711', reason: 'Order is missing' } }),
      isViewed,
      visits('GET /{id}'),
      shows({ text: 'T-4711' }),
      shows({ text: 'Order is missing' }),
      changesNothing,
    ],
  }),
  rowsOf(['GET'])('C5, what was found out', {
    GET: [
      isIssued,
      exchanged(),
      acknowledges({ note: 'a job of ours' }),
      visits('GET /{id}'),
      shows({ text: 'looked into by <bdi>dora</bdi>: “<bdi>a job of ours</bdi>”' }),
      changesNothing,
    ],
  }),
  ...(['GET {prefix}', 'GET /history', 'GET /{id}'] as const).map((name) =>
    rowsOf(['kept', 'ended', 'expired'])(`C22, ${name}`, {
      kept: [
        isKept,
        visits(name),
        shows({ text: 'cannot be ended, expires at' }),
        shows(name === 'GET /{id}' ? { text: '<h1>' } : itsLink),
        changesNothing,
      ],
      ended: [
        isViewed,
        ({ setting, id }) => revoke(setting, id),
        visits(name),
        showsNot({ text: 'cannot be ended' }),
        changesNothing,
      ],
      expired: [
        passes(0),
        isKept,
        passes(600),
        visits(name),
        showsNot({ text: 'cannot be ended' }),
        changesNothing,
      ],
    }),
  ),
  rowsOf(['self', 'continued', 'api', 'a replay'])('C23', {
    self: calls({ cause: 'self' }, 'ended', 'Ended by the engineer'),
    continued: calls(({ kept }) => ({ cause: 'continued', continuedBy: kept.other }), 'ended', 'Continued'),
    api: calls({}, 'stopped', 'Stopped'),
    'a replay': [
      isViewed,
      (scene) => exchange(scene.setting, { subject_token: scene.subjectToken }),
      visits('GET /{id}'),
      shows({ text: '<span>stopped because the subject token was used again' }),
      changesNothing,
    ],
  }),
  rowsOf(['GET'])('C23, the numbers', {
    GET: [
      onADayOfItsOwn,
      ...[{ cause: 'self' }, { cause: 'self' }, {}].map((body): Steps => [isViewed, saysWhy(body)]),
      // Counted once they are asked for.
      async ({ setting }) => {
        for (let page = ''; !page.includes('<table class="numbers">'); ) page = (await setting.get()).text
      },
      visits('GET {prefix}'),
      shows({ text: '<td>3<td>3<td>0<td>2<td>1<td>0' }),
      changesNothing,
    ],
  }),
  rowsOf(['leads to the record', 'a used one', 'unknown', 'no id'])('C6, a stop', {
    'leads to the record': [
      isIssued,
      visits('POST /stop'),
      answer(({ response, id }) =>
        expect(response.headers.get('location')).to.equal(`/impersonations/${id}`),
      ),
      recordSays({ state: 'revoked' }),
    ],
    'a used one': [
      issuedAlone,
      used('an opaque token'),
      visits('POST /stop'),
      isAnswered(303),
      recordSays({ state: 'revoked' }),
      tokenHasEnded,
    ],
    unknown: [
      isIssued,
      visits('POST /stop', { fields: { id: '0'.repeat(32), reason: REASON } }),
      isRefused(404),
    ],
    'no id': [isIssued, visits('POST /stop', { fields: { reason: REASON } }), isRefused(400)],
  }),
  rowsOf(['userId', 'actorId', 'createdBy', 'both', 'neither', 'another'])('C7, whom', {
    userId: [
      issuedAlone,
      visits('GET /stop-all'),
      shows({ text: '<strong>1 impersonation</strong>' }),
      changesNothing,
    ],
    actorId: [
      issuedAlone,
      visits('GET /stop-all', ({ people }) => ({ path: `/stop-all?actorId=${people.actorId}` })),
      shows({ text: '<strong>1 impersonation</strong>' }),
      changesNothing,
    ],
    both: [isIssued, visits('GET /stop-all', { path: '/stop-all?userId=a&actorId=b' }), isRefused(400)],
    neither: [isIssued, visits('GET /stop-all', { path: '/stop-all' }), isRefused(400)],
    createdBy: [
      issuedAlone,
      visits('GET /stop-all', ({ people }) => ({ path: `/stop-all?createdBy=${people.createdBy}` })),
      shows({ text: '<strong>1 impersonation</strong>' }),
      changesNothing,
    ],
    another: [isIssued, visits('GET /stop-all', { path: '/stop-all?clientId=spa' }), isRefused(400)],
  }),
  rowsOf(['leads to what was stopped', 'of an actor', 'of a backend', 'not confirmed', 'both'])('C8, whom', {
    'leads to what was stopped': [
      isIssued,
      visits('POST /stop-all'),
      answer(({ response, people }) =>
        expect(response.headers.get('location')).to.match(
          new RegExp(`^/impersonations/stop-all\\?userId=${people.userId}&stopped=\\d+$`),
        ),
      ),
      visits('GET /stop-all', ({ people }) => ({ path: `/stop-all?userId=${people.userId}&stopped=0` })),
      shows({ text: '<strong>1 impersonation</strong> stopped at' }),
      shows(itsLink),
      recordSays({ state: 'revoked' }),
    ],
    'of an actor': [
      issuedAlone,
      visits('POST /stop-all', ({ people: { actorId } }) => ({
        fields: { actorId, confirm: actorId, reason: REASON },
      })),
      isAnswered(303),
      recordSays({ state: 'revoked' }),
    ],
    'of a backend': [
      issuedAlone,
      visits('POST /stop-all', ({ people: { createdBy } }) => ({
        fields: { createdBy, confirm: createdBy, reason: REASON },
      })),
      isAnswered(303),
      recordSays({ state: 'revoked', revocation: { cause: 'console', by: 'dora', reason: REASON } }),
    ],
    'not confirmed': [
      isIssued,
      visits('POST /stop-all', ({ people: { userId } }) => ({
        fields: { userId, confirm: `${userId} `, reason: REASON },
      })),
      isRefused(400),
    ],
    both: [
      isIssued,
      visits('POST /stop-all', ({ people: { userId } }) => ({
        fields: { userId, actorId: userId, confirm: userId, reason: REASON },
      })),
      isRefused(400),
    ],
  }),
]

const leadsTo = (address: Of<{ readonly to: string }>): Step =>
  answer(async (scene) => {
    const { status, headers } = scene.response
    expect(status, scene.response.text).to.equal(303)
    expect(headers.get('location')).to.equal(`/impersonations${(await made(address, scene)).to}`)
  })
const searches = (text: (scene: Scene) => string): Step =>
  visits('GET /search', (scene) => ({ path: `/search?${new URLSearchParams({ q: text(scene) })}` }))
const LEADS_TO_HISTORY = {
  user: ['userId', ({ people }: Scene) => people.userId],
  engineer: ['actorId', ({ people }: Scene) => people.actorId],
  backend: ['createdBy', ({ people }: Scene) => people.createdBy],
} as const
const search = [
  rowsOf(['record', 'jti', 'of a child', 'one record', 'spaces around'])('C24, leads to the record', {
    record: [isViewed, searches(({ id }) => id), leadsTo(({ id }) => ({ to: `/${id}` })), changesNothing],
    jti: [isViewed, searches(({ id }) => id), leadsTo(({ id }) => ({ to: `/${id}` })), changesNothing],
    'of a child': [
      isViewed,
      searches(({ id }) => `${id}.${'a'.repeat(22)}`),
      leadsTo(({ id }) => ({ to: `/${id}` })),
      changesNothing,
    ],
    'one record': [
      issuedAlone,
      searches(({ people }) => people.createdBy),
      leadsTo(({ id }) => ({ to: `/${id}` })),
      changesNothing,
    ],
    'spaces around': [
      isViewed,
      searches(({ id }) => ` ${id}\n`),
      leadsTo(({ id }) => ({ to: `/${id}` })),
      changesNothing,
    ],
  }),
  rowsOf(['user', 'engineer', 'backend', 'a name'])('C24, leads to the history', {
    ...each(['user', 'engineer', 'backend'], (whose) => {
      const [parameter, idOf] = LEADS_TO_HISTORY[whose]
      return [
        issuedAlone,
        issuedAgain,
        searches(idOf),
        leadsTo((scene) => ({ to: `/history?${parameter}=${idOf(scene)}` })),
        changesNothing,
      ]
    }),
    'a name': [
      issuedAlone,
      issuedAgain,
      async (scene) => {
        scene.setting.functions = { find: () => [scene.people.userId] }
      },
      searches(() => 'Alice'),
      leadsTo(({ people }) => ({ to: `/history?userId=${people.userId}` })),
      changesNothing,
    ],
  }),
  rowsOf(['nothing', 'blank', 'too long', 'absent'])('C24, finds nothing', {
    nothing: [isViewed, searches(() => 'no-one'), isAnswered(200), showsNot(itsLink), changesNothing],
    blank: [isViewed, searches(() => ' '), isAnswered(200), showsNot(itsLink), changesNothing],
    'too long': [
      isViewed,
      searches(() => 'x'.repeat(256)),
      isAnswered(200),
      showsNot(itsLink),
      changesNothing,
    ],
    absent: [
      isViewed,
      visits('GET /search', { path: '/search' }),
      isAnswered(200),
      showsNot(itsLink),
      changesNothing,
    ],
  }),
  ...Object.entries<() => unknown>({
    throws: () => {
      throw new Error('private: no directory')
    },
    rejects: () => Promise.reject(new Error('private: no directory')),
    'takes longer than a second': () => tooLate<never>(1),
    'returns no list': () => 'alice',
    'returns a list of something else': () => [{ id: 'alice' }],
    'returns nothing': () => undefined,
  }).map(([title, find]) =>
    rowsOf(['GET'])(`C26, find ${title}`, {
      GET: [
        issuedAlone,
        functions({ find } as Functions),
        searches(({ people }) => people.userId),
        showsNot({ text: 'private' }),
        leadsTo(({ id }) => ({ to: `/${id}` })),
        changesNothing,
      ],
    }),
  ),
  rowsOf(['the 20th', 'the 21st'])('C26, find returns many', {
    ...each(['the 20th', 'the 21st'], (place) => [
      issuedAlone,
      async (scene) => {
        const others = Array.from(
          { length: place === 'the 20th' ? 19 : 20 },
          (_, number) => `no-one-${number}`,
        )
        scene.setting.functions = { find: () => [...others, scene.people.userId] }
      },
      searches(() => 'Alice'),
      place === 'the 20th' ? leadsTo(({ id }) => ({ to: `/${id}` })) : isAnswered(200),
      changesNothing,
    ]),
  }),
]

const seen =
  (fields: Of<Parameters>): Step =>
  async (scene) =>
    visits('POST /acknowledge', { fields: await made(fields, scene) })(scene)
/** The replay of the record, as the page sends it. */
async function replayOf({ setting, id }: Scene): Promise<string> {
  return String((await show(setting, id)).body.replay?.at ?? '')
}
const many =
  (count: number) =>
  ({ id }: Scene) => ({
    id: Array(count).fill(id),
    replayedAt: Array(count).fill(''),
    note: REASON,
  })
const acknowledgements = [
  rowsOf(['used again', 'without anyone', 'the most', 'repeated'])('C25', {
    'used again': [
      isViewed,
      useAgain,
      seen(async (scene) => ({ id: scene.id, replayedAt: await replayOf(scene), note: REASON })),
      leadsTo({ to: '/alarms' }),
      recordSays({
        state: 'revoked',
        acknowledged: ([one]: readonly { by: string; note: string }[]) =>
          one?.by === 'dora' && one.note === REASON,
      }),
    ],
    'without anyone': [
      isIssued,
      exchanged(),
      seen(({ id }) => ({ id, replayedAt: '', note: REASON })),
      leadsTo({ to: '/alarms' }),
      isSeen,
    ],
    'the most': [isIssued, exchanged(), seen(many(100)), leadsTo({ to: '/alarms' }), isSeen],
    repeated: [
      isIssued,
      exchanged(),
      visits('POST /acknowledge'),
      visits('POST /acknowledge'),
      leadsTo({ to: '/alarms' }),
      recordSays({ acknowledged: (all: readonly unknown[]) => all.length === 1 }),
    ],
  }),
  rowsOf(['none seen', 'another seen', 'one of two'])('C27', {
    'none seen': [
      isViewed,
      useAgain,
      seen(({ id }) => ({ id, replayedAt: '', note: REASON })),
      shows({ text: 'has changed since' }),
      isRefused(409),
    ],
    'another seen': [
      isViewed,
      useAgain,
      seen(({ id }) => ({ id, replayedAt: '1', note: REASON })),
      shows({ text: `value="${REASON}"` }),
      isRefused(409),
    ],
    'one of two': [
      isViewed,
      useAgain,
      async (scene) => {
        const other = await issue(scene.setting)
        await exchange(scene.setting, { subject_token: other.subjectToken })
        scene.kept.other = other.id
      },
      seen(({ id, kept: { other = '' } }) => ({ id: [id, other], replayedAt: ['', ''], note: REASON })),
      isAnswered(409),
      async ({ setting, kept: { other = '' } }) =>
        expect((await show(setting, other)).body.acknowledged).to.have.length(1),
      recordSays({ state: 'revoked', acknowledged: undefined }),
    ],
  }),
  ...Object.entries<Of<Parameters>>({
    'no note': ({ id }) => ({ id, replayedAt: '' }),
    'a blank note': ({ id }) => ({ id, replayedAt: '', note: ' ' }),
    'a note that is too long': ({ id }) => ({ id, replayedAt: '', note: 'x'.repeat(1001) }),
    'two notes': ({ id }) => ({ id, replayedAt: '', note: ['a', 'b'] }),
    'no id': () => ({ note: REASON }),
    'no replayedAt': ({ id }) => ({ id, note: REASON }),
    'more replays than ids': ({ id }) => ({ id, replayedAt: ['', ''], note: REASON }),
    'a replay that is no time': ({ id }) => ({ id, replayedAt: '1.5', note: REASON }),
    'another field': ({ id }) => ({ id, replayedAt: '', note: REASON, by: 'robin' }),
    '101 of them': many(101),
  }).map(([title, fields]) =>
    rowsOf(['POST'])(`C25, ${title}`, { POST: [isIssued, exchanged(), seen(fields), isRefused(400)] }),
  ),
  rowsOf(['no alarm', 'unknown', 'one unknown'])('C25, what', {
    'no alarm': [isViewed, visits('POST /acknowledge'), isRefused(409)],
    unknown: [
      isIssued,
      exchanged(),
      seen(() => ({ id: '0'.repeat(32), replayedAt: '', note: REASON })),
      isRefused(404),
    ],
    'one unknown': [
      isIssued,
      exchanged(),
      seen(({ id }) => ({ id: [id, '0'.repeat(32)], replayedAt: ['', ''], note: REASON })),
      isRefused(404),
    ],
  }),
  rowsOf(['leads to a refusal', 'a wrong input'])('C11, what was seen', {
    'leads to a refusal': [
      isIssued,
      exchanged(),
      can('stop'),
      visits('POST /acknowledge'),
      visits('GET /alarms'),
      shows({ text: 'So was a note.' }),
      showsNot(itsLink),
      isAnswered(403),
      isSeen,
    ],
    'a wrong input': [
      isIssued,
      exchanged(),
      can('stop'),
      seen(({ id }) => ({ id, replayedAt: '', note: ' ' })),
      showsNot(itsLink),
      isRefused(400),
    ],
  }),
]

const POSTS = ['POST /stop', 'POST /stop-all'] as const
const posts = rowsOf(POSTS)
/** The form of the route, with another reason. */
const withReason =
  (name: string, reason: string | readonly string[] | undefined) =>
  (scene: Scene): Changes => {
    const { reason: _, ...fields } = routeOf(name).visit(scene).fields ?? {}
    return { fields: { ...fields, ...(reason !== undefined && { reason }) } }
  }
const everyPost = (title: string, stepsFor: (name: string) => Steps): Rule =>
  posts(title, each(POSTS, stepsFor))

const forms = [
  ...Object.entries({
    none: undefined,
    blank: ' \n',
    'too long': 'x'.repeat(1001),
    NUL: 'a\0',
    'two of them': ['a', 'b'],
  }).map(([title, reason]) =>
    everyPost(`C9, reason: ${title}`, (name) => [
      isIssued,
      visits(name, withReason(name, reason)),
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
  rowsOf(['a stop', 'where it leads', 'a stop of all', 'where that leads', 'a wrong input'])('C11', {
    'a stop': [
      isViewed,
      can('stop'),
      visits('POST /stop'),
      isAnswered(303),
      recordSays({ state: 'revoked' }),
    ],
    'where it leads': [
      isViewed,
      can('stop'),
      visits('POST /stop'),
      visits('GET /{id}'),
      shows({ text: 'A stop that led here was carried out.' }),
      showsNot(({ people }) => ({ text: people.userId })),
      isAnswered(403),
      recordSays({ state: 'revoked' }),
    ],
    'a stop of all': [
      isViewed,
      can('stopAll'),
      visits('POST /stop-all'),
      answer(({ response, people }) =>
        expect(response.headers.get('location')).to.equal(`/impersonations/stop-all?userId=${people.userId}`),
      ),
      recordSays({ state: 'revoked' }),
    ],
    'where that leads': [
      isViewed,
      can('stopAll'),
      visits('POST /stop-all'),
      visits('GET /stop-all'),
      shows({ text: '<strong>0 impersonations</strong>' }),
      recordSays({ state: 'revoked' }),
    ],
    'a wrong input': [
      issuedWith({ context: { reason: 'for auditors alone' } }),
      isViewed,
      can('stop'),
      visits('POST /stop', ({ id }) => ({ fields: { id } })),
      showsNot({ text: 'for auditors alone' }),
      isRefused(400),
    ],
  }),
  ...['=1+1', '+1', '-1', '@SUM(A1)', ' =1', '\t=1', 'a;=1'].map((text) =>
    rowsOf(['reason', 'ticketId'])(`C12, ${JSON.stringify(text)}`, {
      reason: hasNoFormula({ reason: text }),
      ticketId: hasNoFormula({ ticketId: text }),
    }),
  ),
  rowsOf(['nameOf', 'ticketUrl'])('C13, http', {
    nameOf: [
      isViewed,
      functions({ nameOf: () => new Map([['bob', { name: 'Bob', url: 'https://people.example.com/bob' }]]) }),
      visits('GET /{id}'),
      shows({ text: '<a href="https://people.example.com/bob">' }),
      changesNothing,
    ],
    ticketUrl: [
      issuedWith({ context: { ticketId: 'T-1' } }),
      isViewed,
      functions({ ticketUrl: () => 'https://tickets.example.com/T-1' }),
      visits('GET /{id}'),
      shows({ text: '<a href="https://tickets.example.com/T-1">' }),
      changesNothing,
    ],
  }),
  ...['javascript:alert(1)', 'data:text/html,x', '//elsewhere.example.com', 'not an address'].map((url) =>
    rowsOf(['nameOf', 'ticketUrl'])(`C13, ${url}`, {
      nameOf: [
        isViewed,
        functions({ nameOf: () => new Map([['bob', { name: 'Bob', url }]]) }),
        visits('GET /{id}'),
        shows({ text: 'Bob' }),
        showsNot({ text: url }),
        changesNothing,
      ],
      ticketUrl: [
        issuedWith({ context: { ticketId: 'T-1' } }),
        isViewed,
        functions({ ticketUrl: () => url }),
        visits('GET /{id}'),
        shows({ text: 'T-1' }),
        showsNot({ text: url }),
        changesNothing,
      ],
    }),
  ),
  ...Object.entries<() => unknown>({
    throws: () => {
      throw new Error('private: no directory')
    },
    rejects: () => Promise.reject(new Error('private: no directory')),
    'takes longer than a second': () => tooLate<never>(1),
    'returns no Map': () => ({ bob: 'Bob' }),
    'returns nothing': () => undefined,
  }).map(([title, nameOf]) =>
    everyRoute(`C14, nameOf ${title}`, (name) =>
      name.startsWith('GET') && !name.endsWith('csv')
        ? [isViewed, functions({ nameOf } as Functions), visits(name), succeeds(name)]
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
const notAsked: Step = ({ calls }) => {
  expect(calls.filter((call) => call === 'authorize' || call.startsWith('store.'))).to.deep.equal([])
}
const checks = [
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
  ...Object.entries<() => unknown>({
    throws: () => {
      throw new Error('private: no directory')
    },
    rejects: () => Promise.reject(new Error('private: no directory')),
    'takes too long': () => tooLate<never>(1),
    'returns true': () => true,
    'returns an unknown right': () => ({ id: 'dora', can: ['see', 'stop', 'stopAll', 'all'] }),
    'returns no id': () => ({ can: ['see', 'stop', 'stopAll'] }),
  }).map(([title, authorize]) =>
    everyRoute(`C17, ${title}`, (name) => [
      isViewed,
      functions({ authorize } as Functions),
      visits(name),
      showsNot({ text: 'private' }),
      isRefused(500),
    ]),
  ),
  rowsOf(['GET', 'HEAD'])('C18, an unknown page', {
    GET: [isIssued, visits('GET {prefix}', { path: '/nothing' }), isRefused(404)],
    HEAD: [isIssued, visits('HEAD {prefix}', { path: '/nothing' }), isRefused(404)],
  }),
  rowsOf(['GET', 'HEAD'])('C18, an unknown id', {
    GET: [isIssued, visits('GET {prefix}', { path: `/${'0'.repeat(32)}` }), isRefused(404)],
    HEAD: [isIssued, visits('HEAD {prefix}', { path: `/${'0'.repeat(32)}` }), isRefused(404)],
  }),
  everyRoute('C18, another method', (name) => [
    isIssued,
    visits(name, { method: 'PUT', fields: undefined }),
    ({ response }) => expect(response.headers.get('allow')).to.match(/^(GET, HEAD(, POST)?|POST)$/),
    isRefused(405),
  ]),
  rowsOf(['the origin', 'authorize', 'the path', 'the input'])('C18, the order', {
    'the origin': [isIssued, wrongFrom('origin'), notAsked, isRefused(403)],
    authorize: [isIssued, wrongFrom('authorize'), isRefused(403)],
    'the path': [isIssued, wrongFrom('path'), isRefused(404)],
    'the input': [isIssued, wrongFrom('input'), isRefused(400)],
  }),
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
  everyPost('C19, what was typed', (name) => [
    isIssued,
    visits(name, withReason(name, `typed${'x'.repeat(1000)}`)),
    shows({ text: `value="typed${'x'.repeat(1000)}"` }),
    isRefused(400),
  ]),
  everyRoute('C20', (name) => [
    isIssued,
    ...['list', 'find', 'revoke', 'revokeWhere'].map((call) => fails(`store.${call}`)),
    visits(name),
    answer(({ response }) => expect(response.headers.get('retry-after')).to.equal('5')),
    isRefused(503),
  ]),
  everyRoute('C21', (name) => [givenFor(name), visits(name), hasHeaders, succeeds(name)]),
  everyRoute('C21, an error', (name) => [isViewed, can(), visits(name), hasHeaders, isRefused(403)]),
  rowsOf(['a foreign origin', 'an unknown page', 'a failure'])('C21, other errors', {
    'a foreign origin': [isIssued, visits('POST /stop', { headers: {} }), hasHeaders, isRefused(403)],
    'an unknown page': [isIssued, visits('GET {prefix}', { path: '/nothing' }), hasHeaders, isRefused(404)],
    'a failure': [
      isIssued,
      functions({ authorize: () => Promise.reject(new Error('private')) }),
      visits('GET {prefix}'),
      hasHeaders,
      isRefused(500),
    ],
  }),
]

export const consoleRules = [...byRight, ...pages, ...search, ...acknowledgements, ...forms, ...checks]
