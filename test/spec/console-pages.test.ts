/** What the pages of the console show of each record and of each list (docs/protocol.md §9). */
import { expect } from 'chai'
import { now } from '../../fixtures/clock.ts'
import type { Written } from '../../fixtures/console.ts'
import { API } from '../../fixtures/deployment.ts'
import { unique } from '../../fixtures/unique.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { changesNothing, recordSays } from './expectations.ts'
import { fails, functions, on, passes } from './given.ts'
import { acknowledges } from './managing.ts'
import { declareCells } from './matrix.ts'
import { answer, type Named, rowsOf, type Step, type Steps, texts, values } from './rule.ts'
import type { Scene } from './scene.ts'
import {
  can,
  HISTORY,
  itsLink,
  lists,
  NEXT,
  NOTHING,
  ofUser,
  opens,
  pagesHide,
  pagesShow,
  REASON,
  RECORD,
  searches,
  shows,
  showsNot,
  type Text,
  USE,
  used,
  visits,
  withOptions,
  written,
} from './visiting.ts'

const NOON = Date.UTC(2029, 10, 21, 12) / 1000
const atNoon: Step = (scene) => scene.stopClockAt(NOON * 1000)
/** The page, with times as people read them, and without what is of this record alone. */
const plain = ({ response, id, people }: Scene): string =>
  response.text
    .replaceAll(/<time datetime="[^"]{20}">(.*?)<\/time>/g, '$1')
    .replaceAll(/ data-until="\d+"/g, ' data-until')
    .replaceAll(id, 'ID')
    .replaceAll(people.userId, 'USER')
const known = (names: Named<string | { readonly name: string; readonly url?: string }>): Step =>
  functions({ nameOf: () => new Map(Object.entries(names)) })

const UNUSED: Written = { createdAt: NOON - 300, expiresAt: NOON + 300 }
/** It ends so many seconds after noon. */
const usedFor = (life: number, kept = {}, use: Written['use'] = USE): Written => ({
  ...UNUSED,
  use: { at: NOON - 120, accessToken: { format: 'jwt', expiresAt: NOON + life, ...kept }, ...use },
})
const LIVE = usedFor(184)
const KEPT = usedFor(184, { kept: true })
const sessionFor = (life: number, logout: 'pending' | 'unsupported' = 'pending'): Written => ({
  ...usedFor(life, { format: 'session' }, { ...USE, session: { logout } }),
  purpose: 'session',
})
const settled =
  (logout: 'confirmed' | 'gaveUp'): Step =>
  async ({ setting, id }) => {
    const { sessions } = createSubjectTokenStore(setting.database.sequelize)
    await sessions?.settle(setting.issuer, id, { mark: null, logout, at: now() })
  }
const stopped = (record: Written, revocation: Written['revocation']): Step =>
  written({ ...record, revocation })
const BY_DORA = { cause: 'console', by: 'dora', reason: REASON } as const
const BY_API = { cause: 'api', client: 'desk' } as const
const THROUGH_API = 'stopped through the management API (<code>desk</code>)'

/** Its pill, what stands beside it, and what has happened since it was issued: the tone of each, if it has one, and the text. */
type State = readonly [given: Step | Steps, pill: string, beside: string, ...happened: string[]]
const jwtFor = (life: string) =>
  `exchanged by <code>spa</code> for <bdi>sam</bdi>: a JWT <code>ID</code>, valid for ${life}`
const openedFor = (life: string) =>
  `opened by <code>spa</code> for <bdi>sam</bdi>: a session, valid for ${life}`
const JWT = jwtFor('5:04')
const WILL_END = 'future: will end: the access token expires'
const SESSION_WILL_END = 'future: will end: the session expires'
const STOPPED_BY_DORA = 'stopped: Stopped by <bdi>Dora Dorn</bdi>'
const DORA_DORN = '<bdi>Dora Dorn</bdi> <code>dora</code>'
const IN_CONSOLE = `stopped: stopped by ${DORA_DORN} in the console: “<bdi>wrong customer</bdi>”`
const LASTED = '<small>2:00</small>'
const LEFT = '<small data-until>2:04</small>'
const CANNOT = '<small>cannot be ended, expires at 12:03:04</small>'
const cannotEnd = (text: string) => `${text}. <b class="alarm">It cannot be ended, expires at 12:03:04</b>`
const SESSION = ' <small>session</small>'
const CHANGES = ' <b class="changes">Can change things</b>'
const READS = ' <small>Read only</small>'
/** Once, and not the other. */
const says = (said: string): Step =>
  answer(({ response }) => {
    expect(response.text.match(/Can change things|Read only/g)).to.have.length(1)
    expect(response.text).to.include(said)
  })

/** A record that was used, and stopped at noon. */
const STOPS: Named<readonly [Written['revocation'], pill: string, happened: string]> = {
  'stopped by someone': [BY_DORA, STOPPED_BY_DORA, IN_CONSOLE],
  'stopped by the host': [
    { cause: 'host', by: 'nightly' },
    'stopped: Stopped by <bdi>nightly</bdi>',
    'stopped: stopped by <bdi>nightly</bdi> by a call in the provider',
  ],
  'stopped through the API': [BY_API, 'stopped: Stopped', `stopped: ${THROUGH_API}`],
  'stopped by the command line': [
    { cause: 'command' },
    'stopped: Stopped',
    'stopped: stopped by the command line',
  ],
  'stopped somehow': [
    { cause: 'unknown' },
    'stopped: Stopped',
    'stopped: stopped in a way that cannot be read',
  ],
  'stopped by the engineer': [
    { cause: 'self', client: 'desk', by: 'sam', reason: 'done' },
    'ended: Stopped by the engineer',
    'stopped by <bdi>sam</bdi> for the engineer (<code>desk</code>): “<bdi>done</bdi>”',
  ],
  continued: [
    { cause: 'continued', client: 'desk', continuedBy: NEXT },
    'ended: Continued',
    `ended <a href="/impersonations/${NEXT}">because another one goes on</a> (<code>desk</code>)`,
  ],
  'signed out': [{ cause: 'signedOut' }, 'ended: Signed out', 'ended at the end of the session'],
}
const STATES: Named<State> = {
  ...Object.fromEntries(
    Object.entries(STOPS).map(([title, [revocation, pill, happened]]) => [
      title,
      [stopped(LIVE, revocation), pill, LASTED, JWT, happened],
    ]),
  ),
  'not used': [
    written(UNUSED),
    'ended: Not used yet',
    '<small>until 12:05:00</small>',
    'future: expires if it is not used',
  ],
  'never used': [
    written({ createdAt: NOON - 600, expiresAt: NOON }),
    'ended: Never used',
    '',
    'expired without being used',
  ],
  live: [written(LIVE), 'live: Live', LEFT, JWT, WILL_END],
  'expired, and looked into': [
    written({
      ...usedFor(-60, { format: 'opaque' }, { grantId: 'a-grant' }),
      acknowledgement: { by: 'dora', note: 'ours' },
    }),
    'ended: Expired',
    '<small>1:00</small>',
    'exchanged by <code>spa</code> without an engineer: an opaque access token, valid for 1:00',
    'ended: the access token expires',
    `looked into by ${DORA_DORN}: “<bdi>ours</bdi>”`,
  ],
  'stopped before it was used': [stopped(UNUSED, BY_DORA), STOPPED_BY_DORA, '', IN_CONSOLE],
  'used again': [
    written({ ...LIVE, replayedBy: 'thief' }),
    'alarm: Reused token',
    LASTED,
    JWT,
    'alarm: used again by <code>thief</code>, and refused',
    'alarm: stopped because the subject token was used again',
  ],
  'stopped, and nothing could end it': [
    stopped(KEPT, BY_API),
    'alarm: Stopped, still live',
    CANNOT,
    JWT,
    `stopped: ${cannotEnd(THROUGH_API)}`,
    WILL_END,
  ],
  'stopped by the engineer, and nothing could end it': [
    stopped(KEPT, { cause: 'self' }),
    'alarm: Stopped, still live',
    CANNOT,
    JWT,
    cannotEnd('stopped for the engineer'),
    WILL_END,
  ],
  'used again, and nothing could end it': [
    stopped(KEPT, { cause: 'replay' }),
    'alarm: Reused token',
    CANNOT,
    JWT,
    `alarm: ${cannotEnd('stopped because the subject token was used again')}`,
    WILL_END,
  ],
  'stopped without effect, and expired since': [
    stopped(usedFor(30, { kept: true }), BY_API),
    'stopped: Stopped',
    '<small>2:30</small>',
    jwtFor('2:30'),
    `stopped: ${THROUGH_API}`,
  ],
  'a session': [written(sessionFor(184)), 'live: Live', LEFT + SESSION, openedFor('5:04'), SESSION_WILL_END],
  'a session whose application cannot be told': [
    written(sessionFor(184, 'unsupported')),
    'live: Live',
    `${LEFT} <b class="alarm">session, cannot be told</b>`,
    openedFor('5:04'),
    SESSION_WILL_END,
    'alarm: <code>spa</code> cannot be told that it ends: its own session may last longer',
  ],
  'a session that was stopped': [
    stopped(sessionFor(184), BY_DORA),
    STOPPED_BY_DORA,
    LASTED + SESSION,
    openedFor('5:04'),
    IN_CONSOLE,
    'stopped: not confirmed by <code>spa</code> yet: it is told again',
  ],
  'a session that its application has confirmed': [
    [written(sessionFor(0)), settled('confirmed')],
    'ended: Expired',
    LASTED + SESSION,
    openedFor('2:00'),
    'ended: the session expires',
    'confirmed by <code>spa</code>: its own session has ended',
  ],
  'a session that its application did not confirm': [
    [written(sessionFor(0)), settled('gaveUp')],
    'ended: Expired',
    `${LASTED} <b class="alarm">session, not confirmed</b>`,
    openedFor('2:00'),
    'ended: the session expires',
    'alarm: not confirmed by <code>spa</code> within an hour: its own session may last longer',
  ],
}

const states = [
  values('C23, a state', STATES, ([given, pill, beside, ...happened]) => {
    const [, tone = '', word = ''] = /^(\w+): (.*)/.exec(pill) ?? []
    const cell = `<b class="pill ${tone}">${word}</b> ${beside}${CHANGES}`
    const mayChange = happened.some((text) => text.startsWith('future'))
    return [
      atNoon,
      known({ dora: 'Dora Dorn' }),
      [given].flat(),
      passes(60),
      opens(RECORD),
      answer((scene) => {
        const text = plain(scene)
        expect(text).to.include(`<p>${cell}</p>`)
        const lines = text.matchAll(/<li class="(\w*)">[^<]+ <span>(.*?)<\/span><\/li>/g)
        expect([...lines].map(([, kind, line]) => (kind === '' ? line : `${kind}: ${line}`))).to.deep.equal([
          'issued by <code>backend</code>, to be used within 10:00',
          ...happened,
        ])
        // What may become another state is looked at again.
        expect(text.includes('data-refresh="15"')).to.equal(mayChange)
        expect(text.includes('Stop this impersonation')).to.equal(/: (Live|Not used)/.test(pill))
      }),
      opens(HISTORY),
      answer((scene) => expect(plain(scene)).to.include(`<td>${cell}`)),
      visits('GET /history.csv'),
      shows(`"${word.replace(/ by <.*/, '').toLowerCase()}"`),
      changesNothing,
    ]
  }),
  values<readonly [record: Written, said: string]>(
    'R12',
    {
      'not used': [UNUSED, CHANGES],
      live: [LIVE, CHANGES],
      'not used, and read-only': [{ ...UNUSED, readOnly: true }, READS],
      'live, and read-only': [{ ...LIVE, readOnly: true }, READS],
      'a session that is read-only': [{ ...sessionFor(184), readOnly: true }, READS],
    },
    ([record, said]) => [
      atNoon,
      written(record),
      [RECORD, HISTORY].map((path) => [opens(path), says(said)]),
      changesNothing,
    ],
  ),
]

/** Details of a record beside its user, backend and id. */
type Details = readonly [record: Written, details: Named<string>, given?: Step]
const code = (text: string) => `<code>${text}</code>`
const SPA = { Application: code('spa'), Resource: code(API) }
const APIS = [API, 'https://billing.example.com']
const BOUND: Written = { actorId: 'sam', clientId: 'spa', scope: 'orders:read', resource: API }
const SAID = { reason: 'A teapot is missing', ticketId: 'T-1' }
const granted = { ...USE, clientId: 'spa', scope: 'orders:read', resource: API }
const IN_USE: Written['use'] = { accessToken: { format: 'opaque', expiresAt: NOON + 60 } }
const BY_SAM = { Engineer: '<bdi>sam</bdi>', ...SPA }
const A_JWT = { 'Token id (jti)': code('ID'), 'Access token': 'JWT' }
const ORDER = { ...SAID, order: 7 }
const DETAILS: Named<Details> = {
  'not used': [{}, {}],
  'an opaque token': [{ use: IN_USE }, { ...SPA, 'Access token': 'opaque' }],
  'a JWT': [{ use: USE }, { ...BY_SAM, ...A_JWT }],
  'what was allowed beside what was granted': [
    { resource: APIS, scope: 'orders:read orders:write', use: { ...USE, scope: 'orders:read' } },
    {
      ...BY_SAM,
      ...A_JWT,
      'Allowed resources': code(APIS.join(', ')),
      Scopes: code('orders:read'),
      'Allowed scopes': code('orders:read orders:write'),
    },
  ],
  'what is allowed': [{ resource: APIS }, { Resource: code(APIS.join(', ')) }],
  'what it was bound to, if it became that': [
    { ...BOUND, context: SAID, use: granted },
    { ...BY_SAM, ...A_JWT, Scopes: code('orders:read') },
  ],
  'what it was bound to, if it became something else': [
    {
      ...BOUND,
      context: ORDER,
      use: { ...granted, actor: { sub: 'robin' }, clientId: 'desk', scope: 'orders:write' },
    },
    {
      ...SPA,
      ...A_JWT,
      Engineer: '<bdi>robin</bdi>',
      'Bound to engineer': '<bdi>sam</bdi>',
      Application: code('desk'),
      'Bound to application': code('spa'),
      Scopes: code('orders:write'),
      'Allowed scopes': code('orders:read'),
      Context: `<pre>${JSON.stringify(ORDER, null, 2).replaceAll('"', '&quot;')}</pre>`,
    },
  ],
  'names with the ids behind them': [
    { actorId: 'sam' },
    {
      User: '<a href="https://people.example/a"><bdi>Alice</bdi></a> <code>alice</code>',
      'Bound to engineer': '<bdi>sam</bdi>',
    },
    known({ alice: { name: 'Alice', url: 'https://people.example/a' } }),
  ],
}

const AGAIN_BY = (replayedBy: string, after: number): Written => ({
  ...UNUSED,
  use: { actor: { sub: 'sam' }, clientId: 'desk', at: NOON - after },
  replayedBy,
})
const TO_DO = '<h3>What to do now</h3><ol><li>'
/** The part of a record that is about its alarm. */
const alarmSays = (title: string, ...texts: readonly string[]): Step =>
  answer((scene) => {
    const [, section = ''] = /<section class="card"><h2>(Alarm.*?)<\/section>/s.exec(plain(scene)) ?? []
    expect(section).to.match(new RegExp(`^${title}</h2>`))
    for (const text of texts) expect(section).to.include(text)
    expect(section.includes(TO_DO) && section.includes('Mark as seen')).to.equal(title === 'Alarm')
  })
const records = [
  values('C5, the details', DETAILS, ([record, details, given = []]) => [
    atNoon,
    [given].flat(),
    written({ ...record, userId: 'alice' }),
    opens(RECORD),
    answer(({ response, id }) => {
      const rows = response.text
        .replaceAll(id, 'ID')
        .matchAll(/<div><dt>([^<]*)<\/dt><dd>(.*?)<\/dd><\/div>/gs)
      expect(Object.fromEntries([...rows].map((row) => row.slice(1)))).to.deep.equal({
        User: '<bdi>alice</bdi>',
        Backend: code('backend'),
        Record: code('ID'),
        ...details,
      })
    }),
    changesNothing,
  ]),
  values<readonly [record: Written, ...said: string[]]>(
    'C5, the alarm',
    {
      stopped: [
        AGAIN_BY('app', 0),
        'Sent again by another application, <code>app</code>, within a second: someone may have a copy.',
        'Nothing is open: it was stopped at 12:00:00',
        'Every API refuses it from 12:00:32',
        'href="/impersonations/history?clientId=app"',
        'href="/impersonations/history?createdBy=backend"',
      ],
      'by the same application at once': [
        AGAIN_BY('desk', 1),
        'Sent again by the same application one second later: most likely a repeated request.',
      ],
      'by the same application, later': [
        AGAIN_BY('desk', 61),
        'Sent again by the same application 1 minute later: someone may have a copy.',
      ],
      'still open': [usedFor(184, {}, {}), 'Still open: the access token can be used until 12:03:04'],
      expired: [usedFor(0, {}, {}), 'Nothing is open: the access token expired at 12:00:00'],
    },
    ([record, ...said]) => [
      atNoon,
      written(record),
      opens(RECORD),
      alarmSays('Alarm', ...said),
      acknowledges(),
      passes(3),
      opens(RECORD),
      alarmSays('Alarm, looked into', ...said),
      changesNothing,
    ],
  ),
  pagesHide('C5, no alarm', { 'used by someone': [[used()], RECORD, '<h2>Alarm'] }),
]

/** The form of the history, with what was typed. */
const formWith = (typed: Named<string> = {}): string[] =>
  Object.entries({
    userId: ['User'],
    actorId: ['Engineer'],
    clientId: ['Application'],
    createdBy: ['Backend'],
    ticketId: ['Ticket'],
    from: ['From (UTC)', ' type="date"'],
    to: ['To', ' type="date"'],
  }).map(
    ([name, [label, attributes = '']]) =>
      `<label>${label}<input name="${name}" value="${typed[name] ?? ''}"${attributes}></label>`,
  )
const optionsWith = (state: string): string =>
  Object.entries({
    '': 'Any state',
    live: 'Live now',
    active: 'Not used yet',
    consumed: 'Used, not stopped',
    expired: 'Never used',
    revoked: 'Stopped or ended',
  })
    .map(([name, text]) => `<option value="${name}"${name === state ? ' selected' : ''}>${text}</option>`)
    .join('')
const at = (place: string) => [`aria-current="page">${place}`, `<title>${place} · Impersonation</title>`]
const empty = (text: string) => `<p class="card empty">${text}</p>`
const FILTER = {
  userId: 'alice',
  actorId: 'sam',
  clientId: 'desk',
  createdBy: 'backend',
  ticketId: 'T-1',
  from: '1970-01-01',
  to: '1970-01-01',
}
const KINDS = [
  ['', 'Open', 'No alarms to review.'],
  ['?show=replayed', 'Reused token', 'No subject token has been used again.'],
  ['?show=withoutActor', 'No engineer named', 'Every exchange named an engineer.'],
] as const
const tabs = (current: string): string =>
  KINDS.map(
    ([query, name]) =>
      `<a href="/impersonations/alarms${query}"${query === current ? ' aria-current="true"' : ''}>${name}</a>`,
  ).join('')
const UNKNOWN = 'No one is known by the account id <bdi>Sam Sawyer</bdi>'
const BY_NAME = '/history?actorId=Sam+Sawyer'
const FOUND_BY = '/history?userId=alice&ticketId=T-1&state=live'
const chip = (query: string, text: string) =>
  `<a class="chip" href="/impersonations/history?${query}">${text} <span`

const aroundLists = [
  pagesShow('C2, around the list', {
    'nothing yet': [
      [NOTHING],
      '/history',
      ...at('History'),
      ...formWith(),
      optionsWith(''),
      empty('No one has been impersonated yet.'),
      'href="/impersonations/history.csv" download',
      '<button>Filter</button>',
    ],
    'what it selects': [
      [known({ alice: 'Alice', sam: 'Sam' })],
      `/history?${new URLSearchParams({ ...FILTER, state: 'expired' })}`,
      ...formWith(FILTER),
      optionsWith('expired'),
      empty('No record matches this filter.'),
      '<a class="button" href="/impersonations/history">Clear</a>',
    ],
    'each part, to be taken away': [
      [known({ alice: 'Alice Archer' })],
      FOUND_BY,
      chip('ticketId=T-1&amp;state=live', 'User: <bdi>Alice Archer</bdi>'),
      chip('userId=alice&amp;state=live', 'Ticket: <bdi>T-1</bdi>'),
      chip('userId=alice&amp;ticketId=T-1', 'State: <bdi>Live now</bdi>'),
    ],
    'a page that is empty': [
      [lists(0, NEXT)],
      '/history?state=active',
      empty('None on this page. There may be older ones.'),
      `<a class="button" href="/impersonations/history?state=active&amp;cursor=${NEXT}&amp;skipped=0" rel="next">Older</a>`,
    ],
    'no one of this name': [
      [known({ sam: 'Sam' })],
      BY_NAME,
      UNKNOWN,
      'href="/impersonations/search?q=Sam+Sawyer"',
    ],
    'who stops all of a user': [[], '/history?userId=ian', 'href="/impersonations/stop-all?userId=ian"'],
    'who stops all of an engineer': [
      [],
      '/history?actorId=sam',
      'href="/impersonations/stop-all?actorId=sam"',
    ],
  }),
  pagesHide('C2, not around the list', {
    'no one, where someone is known': [[known({ sam: 'Sam' })], '/history?actorId=sam', 'No one is known'],
    'no one, where no one can be known': [[withOptions({ nameOf: undefined })], BY_NAME, 'No one is known'],
    'no one, where names fail': [
      [functions({ nameOf: () => Promise.reject(new Error('private')) })],
      BY_NAME,
      'No one is known',
    ],
    'who stops all of an application': [[], '/history?clientId=desk', '/stop-all?'],
  }),
  pagesShow(
    'C4, the kinds of alarms',
    Object.fromEntries(
      KINDS.map(([query, name, none]) => [
        name,
        [
          [NOTHING],
          `/alarms${query}`,
          ...at('Alarms'),
          `<nav class="line tabs" aria-label="Kinds of alarms">${tabs(query)}</nav>`,
          empty(none),
        ],
      ]),
    ),
  ),
  values<Step>(
    'C1, before there are numbers',
    {
      'none can be counted': fails('store.summarize'),
      'they are being counted': ({ setting }) =>
        void setting.instead.set('store.summarize', () => ({
          [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
        })),
    },
    (counting) => [
      // Of which no other cell has counted anything.
      on('one person deep'),
      used(),
      counting,
      opens(''),
      shows(itsLink, 'Counting …', 'data-refresh="2"'),
      changesNothing,
    ],
  ),
]

/** An alias of one tenant is not that of another. */
const aliasOf: Step = ({ setting, people }) => {
  setting.functions = {
    findAccount(ctx, name) {
      const accountId = name === 'alias' && ctx.get('x-tenant') === 'blue' ? people.userId : name
      return { accountId, claims: () => ({ sub: accountId }) }
    },
  }
}
const SEARCH =
  '<form class="search" action="/impersonations/search" role="search"><input name="q" type="search"'
const everywhere = [
  texts(
    'C24, on every page',
    ['', '/history', '/alarms', '/search?q=x', '/stop-all?userId=alice'],
    (path) => [opens(path), shows(SEARCH), changesNothing],
  ),
  rowsOf(['of the tenant'])('C2, an alias', {
    'of the tenant': [
      written(),
      aliasOf,
      visits('GET /history', { path: '/history?userId=alias', headers: { 'x-tenant': 'blue' } }),
      shows(itsLink),
      changesNothing,
    ],
  }),
  pagesHide('C24, not', {
    'for who may not see': [[can('stopAll')], '/stop-all?userId=alice', 'role="search"'],
  }),
]

/** The cells of the one row of a user: engineer, user, ticket, why, state, and maybe what stops it. */
const rowIs = (...cells: readonly string[]): Steps => [
  opens(HISTORY),
  answer((scene) => {
    const [, row = ''] = /<tbody><tr><th>(.*)<\/table>/s.exec(plain(scene)) ?? []
    const [when, ...found] = row.split('<td>').map((cell) => cell.trim())
    expect(when).to.equal('<a href="/impersonations/ID">11:55:00</a>')
    expect(found).to.deep.equal(cells)
  }),
  changesNothing,
]
const personLink = (name: string, id: string, text = id) =>
  `<a href="/impersonations/history?${name}=${id}">${text}</a>`
const stopLink = (who: string) =>
  `<a class="danger" href="/impersonations/ID#stop" aria-label="Stop ${who} viewing USER">Stop</a>`
const USER = personLink('userId', 'USER')
const LIVE_CELL = `<b class="pill live">Live</b> <small data-until>3:04</small>${CHANGES}`
/** A ticket, the reason, and how the row shows them. */
type Said = readonly [context: Written['context'], ticket: string, why: string, given?: Step]
const TO_TICKET = 'https://tickets.example.com/1'
const rows = [
  values<readonly [record: Written, cells: readonly string[], given: Steps]>(
    'C2, a row',
    {
      'of someone who acts': [
        LIVE,
        [
          personLink('actorId', 'sam', 'Sam &quot;S&quot;'),
          USER,
          '',
          '',
          LIVE_CELL,
          stopLink('Sam &quot;S&quot;'),
        ],
        [known({ sam: 'Sam "S"' })],
      ],
      'without an engineer': [
        usedFor(184, {}, {}),
        ['<em>not named</em>', USER, '', '', LIVE_CELL, stopLink('someone')],
        [],
      ],
      'of someone who may not stop': [
        LIVE,
        [personLink('actorId', 'sam'), USER, '', '', LIVE_CELL],
        [can('see')],
      ],
    },
    ([record, cells, given]) => [atNoon, given, written(record), rowIs(...cells)],
  ),
  values<Said>(
    'C2, the ticket and the reason',
    {
      'the first that is not blank': [
        { ticketId: ' ', ticket_id: '', ticket: 4711, reason: '\n' },
        '4711',
        '',
      ],
      'a ticket that the context does not name': [
        { reason: 'a reason' },
        `<a href="${TO_TICKET}">Ticket</a>`,
        'a reason',
        functions({ ticketUrl: () => TO_TICKET }),
      ],
      'another context as JSON': [{ order: 7 }, '', '{&quot;order&quot;:7}'],
      'an empty context': [{}, '', ''],
      'a reason of 120 characters': [{ reason: '🎫'.repeat(120) }, '', '🎫'.repeat(120)],
      'a longer one': [{ reason: '🎫'.repeat(121) }, '', `${'🎫'.repeat(120)}…`],
    },
    ([context, ticket, why, given = []]) => [
      atNoon,
      [given].flat(),
      written({ ...UNUSED, context: context ?? {} }),
      opens(HISTORY),
      answer((scene) => expect(plain(scene)).to.include(`<td>${USER}<td>${ticket}<td>${why}<td>`)),
      changesNothing,
    ],
  ),
  values<readonly [characters: number, isLinked: boolean]>(
    'C2, the address of a person',
    { 'of 120 characters': [120, true], longer: [121, false] },
    ([characters, isLinked]) => [
      async (scene) => {
        const userId = unique('u').padEnd(characters - '/impersonations/history?userId='.length, 'u')
        await written({ userId })(scene)
      },
      opens(HISTORY),
      answer((scene) =>
        expect(plain(scene).includes('<a href="/impersonations/history?userId=USER">')).to.equal(isLinked),
      ),
      changesNothing,
    ],
  ),
  values<readonly [length: number, path: Text, isLinked: boolean]>(
    'C13, the address of a ticket',
    {
      'in a row': [120, HISTORY, true],
      'too long for a row': [121, HISTORY, false],
      'on a record': [1_000, RECORD, true],
      'too long for a record': [1_001, RECORD, false],
    },
    ([length, path, isLinked]) => [
      written({ context: { ticketId: 'T-1' } }),
      functions({ ticketUrl: () => 'https://tickets.example.com/'.padEnd(length, 'x') }),
      opens(path),
      answer(({ response }) => expect(/<a href="https:[^"]*">T-1</.test(response.text)).to.equal(isLinked)),
      shows('T-1'),
      changesNothing,
    ],
  ),
]

/** A list of one user, page by page, from this one on. */
const walks = (path: Text): Step =>
  answer(async (scene) => {
    const seen: string[] = []
    const counts: string[] = []
    let next: string | undefined = typeof path === 'function' ? path(scene) : path
    while (next !== undefined) {
      await opens(next)(scene)
      const { text } = scene.response
      expect(text.includes('>Newest</a>'), next).to.equal(counts.length > 0)
      seen.push(...[...text.matchAll(/<th><a href="[^"]*\/(\w{32})"/g)].map(([, id = '']) => id))
      counts.push(/<span>([^<]* of [^<]*)</.exec(text)?.[1] ?? '')
      next = /href="\/impersonations([^"]*)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&')
      if (next) expect(next).to.match(/userId=[\w-]+&from=2026-01-01&cursor=\w{32}&skipped=\d+$/)
    }
    expect(new Set(seen).size).to.equal(seen.length)
    scene.kept.counts = counts.join(', ')
  })
const manyOf =
  (count: number, record: Written = {}): Step =>
  async (scene) => {
    const userId = unique('user')
    for (let number = 0; number < count; number += 1) await written({ ...record, userId })(scene)
  }
const FROM: Text = (scene) => `${ofUser('/history')(scene)}&from=2026-01-01&clientId=`
const longLists = [
  values<readonly [records: number, counts: string]>(
    'C2, pages',
    {
      'a hundred': [100, '1–25 of 100, 26–50 of 100, 51–75 of 100, 76–100 of 100'],
      'one more': [101, '1–25 of 100 or more, 26–50 of 101, 51–75 of 101, 76–100 of 101, 101 of 101'],
    },
    ([records, counts]) => [
      manyOf(records),
      walks(FROM),
      ({ kept }) => expect(kept.counts).to.equal(counts),
      changesNothing,
    ],
  ),
  texts('C2, skipped', ['-1', 'x', '1e3', '12345678', ''], (skipped) => [
    written(),
    opens((scene) => `${HISTORY(scene)}&cursor=${NEXT}&skipped=${skipped}`),
    shows('<span>1 of 1</span>'),
    changesNothing,
  ]),
  values<readonly [live: number, count: string]>(
    'C7, how many',
    {
      'one less': [0, '<strong>99 impersonations</strong>'],
      'a hundred': [1, '<strong>100 or more impersonations</strong>'],
    },
    ([live, count]) => [
      manyOf(99),
      live === 1 ? ({ setting, people }) => setting.keep({ userId: people.userId, use: {} }) : [],
      visits('GET /stop-all'),
      shows(count),
      changesNothing,
    ],
  ),
  rowsOf(['what it stops'])('C8', {
    'what it stops': [
      atNoon,
      manyOf(3),
      ...[{ use: {} }, { expiresAt: NOON - 1, createdAt: NOON - 2 }, { revocation: BY_API }].map(
        (record): Step =>
          async ({ setting, people, kept }) => {
            kept.last = await setting.keep({ userId: people.userId, ...record })
          },
      ),
      visits('GET /stop-all'),
      shows(
        /<strong>4 impersonations<\/strong> of the user .*: 3 that can still be used, and 1 in which someone acts right now/,
      ),
      visits('POST /stop-all'),
      opens(({ response }) => response.headers.get('location')?.replace('/impersonations', '') ?? ''),
      answer((scene) =>
        expect(plain(scene)).to.match(
          /<strong>4 impersonations<\/strong> stopped at 12:00:00 .* Every API refuses it from 12:00:32/,
        ),
      ),
      shows(itsLink),
      showsNot(({ kept }) => kept.last ?? ''),
      opens(({ people }) => `/stop-all?userId=${people.userId}&stopped=${NOON + 1}`),
      shows('<strong>0 impersonations</strong>'),
      recordSays({ state: 'revoked' }),
    ],
  }),
  pagesShow('C7, the page', {
    'as far as storage was read': [
      [lists(0, NEXT)],
      '/stop-all?userId=x',
      '<strong>at least 0 impersonations</strong>',
    ],
    'what it asks for': [
      [],
      '/stop-all?userId=ian',
      /<label>Reason<input name="reason" value="" required maxlength="1000"/,
      /Type <code>ian<\/code> to confirm<input name="confirm" value="" required/,
      '<a class="button" href="/impersonations">Cancel</a>',
    ],
  }),
]

/** Of the console, and of the pages of this package. */
const OWN = /^(\/impersonations([/?].*)?|#main)$/
const NO_ADDRESSES = [
  ...['javascript:alert(1)', ' javascript:alert(1)', 'JAVASCRIPT:alert(1)', 'java\nscript:alert(1)'],
  ...[
    'data:text/html,x',
    'vbscript:x',
    '//evil.example',
    '/relative',
    'ftp://x',
    'https://',
    '',
    'no address',
  ],
  ...[undefined, null, 7, {}],
]
const askedFor: (readonly string[])[] = []
const names = [
  values<() => unknown>(
    'C13, no address',
    {
      ...Object.fromEntries(NO_ADDRESSES.map((url) => [JSON.stringify(url) ?? 'undefined', () => url])),
      'a promise': () => Promise.resolve('https://x.example'),
      'a rejection': () => Promise.reject(new Error('private')),
    },
    (url) => [
      used({ context: { ticketId: 'T-1' } }),
      functions({
        nameOf: (ids) => new Map(ids.map((id) => [id, { name: 'Some One', url: url() as string }])),
        ticketUrl: () => url() as string,
      }),
      [HISTORY, RECORD].map((path) => [
        opens(path),
        shows('T-1', 'Some One'),
        answer(({ response }) => {
          const links = [...response.text.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, link = '']) => link)
          expect(links.filter((link) => !OWN.test(link))).to.deep.equal([])
        }),
      ]),
      changesNothing,
    ],
  ),
  texts(
    'C14, no name',
    ['7', 'null', '[7]', '""', '" \\n"', '{"name":7}', '{"name":" "}', '{"url":"https://x"}'],
    (name) => [
      used(),
      functions({ nameOf: (ids) => new Map(ids.map((id) => [id, JSON.parse(name)])) }),
      opens(RECORD),
      shows('<bdi>sam</bdi>'),
      changesNothing,
    ],
  ),
  values('C14, who is asked for', { 'once, each once': undefined }, () => [
    manyOf(2, { use: USE, revocation: BY_DORA }),
    functions({
      nameOf(ids) {
        askedFor.push(ids)
        return new Map()
      },
    }),
    opens(HISTORY),
    answer(({ people }) =>
      expect(askedFor.splice(0).map((ids) => ids.toSorted())).to.deep.equal([
        ['dora', 'sam', people.userId].toSorted(),
      ]),
    ),
    changesNothing,
  ]),
]

/** A text that two records and a backend bear. */
const ambiguous: Steps = [
  ({ kept }) => {
    kept.text = unique('T')
  },
  written(({ kept }) => ({ context: { ticketId: kept.text ?? '' } })),
  written(({ kept }) => ({ context: { ticketId: kept.text ?? '' } })),
  written(({ kept }) => ({ createdBy: kept.text ?? '' })),
]
const asked: string[] = []
const searchRows = [
  values('C24, a choice', { 'a ticket and a backend': undefined }, () => [
    ambiguous,
    searches(({ kept }) => kept.text ?? ''),
    answer(({ response, kept }) => {
      const text = response.text.replaceAll(kept.text ?? '', 'T-2')
      const choices = text.matchAll(
        /<li><a href="\/impersonations\/history([^"]*)">(.*?)<\/a>: ([^<]*)<\/li>/g,
      )
      expect([...choices].map((choice) => choice.slice(1))).to.deep.equal([
        ['?ticketId=T-2', 'Ticket <bdi>T-2</bdi>', '2 records'],
        ['?createdBy=T-2', 'Backend <bdi>T-2</bdi>', '1 record'],
      ])
      expect(text.match(/<tr><th><a/g)).to.have.length(3)
    }),
    changesNothing,
  ]),
  values('C24, people of one name', { 'a user and an engineer': undefined }, () => [
    async ({ setting, kept }) => {
      const who = unique('sam')
      kept.who = who
      setting.functions = { nameOf: () => new Map([[who, 'Sam Sawyer']]) }
      await setting.keep({ userId: who })
      for (const userId of ['alice', 'bob']) await setting.keep({ userId, use: { actor: { sub: who } } })
    },
    searches(({ kept }) => kept.who ?? ''),
    shows(
      ({ kept }) => `${personLink('userId', kept.who ?? '', 'User <bdi>Sam Sawyer</bdi>')}: 1 record`,
      ({ kept }) => `${personLink('actorId', kept.who ?? '', 'Engineer <bdi>Sam Sawyer</bdi>')}: 2 records`,
    ),
    changesNothing,
  ]),
  pagesShow('C24, nothing', {
    'with names': [
      [],
      '/search?q=%3Cstranger%3E',
      'Nothing was found for <bdi>&lt;stranger&gt;</bdi>',
      'and no one whose name contains it',
    ],
  }),
  pagesHide('C24, nothing', {
    'without names': [[withOptions({ find: undefined })], '/search?q=no-one', 'whose name contains it'],
  }),
  values('C24, what find is asked', { 'the text, once': undefined }, () => [
    functions({
      find(text) {
        asked.push(text)
        return []
      },
    }),
    searches('  Alice A '),
    searches(' '),
    searches('x'.repeat(256)),
    answer(() => expect(asked.splice(0)).to.deep.equal(['Alice A'])),
    changesNothing,
  ]),
]

declareCells('C, pages', [
  ...states,
  ...records,
  ...aroundLists,
  ...everywhere,
  ...rows,
  ...longLists,
  ...names,
  ...searchRows,
])
