/** The values that the console takes, refuses and shows, just within and just beyond each boundary (docs/protocol.md §9). */
import { expect } from 'chai'
import { now } from '../../fixtures/clock.ts'
import type { Written } from '../../fixtures/console.ts'
import { API } from '../../fixtures/deployment.ts'
import { rawRequest } from '../../fixtures/raw-request.ts'
import type { ConsoleRight } from '../../packages/console/src/index.ts'
import { isoOf } from '../../packages/console/src/words.ts'
import { made, type Of } from './exchanging.ts'
import { changesNothing, recordSays } from './expectations.ts'
import { functions, passes } from './given.ts'
import { declareCells } from './matrix.ts'
import { answer, type Named, rowsOf, type Step, type Steps, texts, values } from './rule.ts'
import type { Scene } from './scene.ts'
import type { Functions } from './settings.ts'
import {
  authorized,
  can,
  forgetErrors,
  hasHeaders,
  isAnswered,
  isRefused,
  lists,
  NEXT,
  notAsked,
  opens,
  pagesShow,
  REASON,
  reports,
  SAME_ORIGIN,
  shows,
  showsNot,
  used,
  visits,
  withOptions,
  written,
} from './visiting.ts'

/** Of the store, since the last request. */
const callsOf = ({ calls }: Scene, name: string) => calls.filter((call) => call === `store.${name}`).length
/** A stop without an id, which is a 400 once its origin has passed. `HOST` is that of the console. */
const stopsFrom =
  (lines: string): Step =>
  async (scene) => {
    const { host } = new URL(scene.setting.baseUrl)
    const headers = lines.split('\n').filter((line) => line !== '')
    const head = [
      'POST /impersonations/stop HTTP/1.1',
      ...(lines.startsWith('Host:') ? [] : ['Host: HOST']),
      'Content-Type: application/x-www-form-urlencoded',
      'Content-Length: 0',
      ...headers,
    ]
    await scene.request(async () => {
      const text = await rawRequest(
        scene.setting.baseUrl,
        head.map((line) => line.replaceAll('HOST', host)),
      )
      return { status: Number(text.slice(9, 12)), headers: new Headers(), text, body: undefined }
    })
  }

const origins = [
  texts(
    'C16, passes',
    [
      'Sec-Fetch-Site: same-origin\nOrigin: null',
      'SEC-FETCH-SITE: same-origin',
      'Origin: http://HOST',
      'Host: id.example.com\nOrigin: https://id.example.com',
      'Host: ID.example.com\nOrigin: https://id.example.com',
      'Host: id.example.com:443\nOrigin: https://id.example.com',
      'Host: [::1]:3000\nOrigin: http://[::1]:3000',
    ],
    (headers) => [stopsFrom(headers), isRefused(400)],
  ),
  texts(
    'C16, Sec-Fetch-Site',
    [
      ...['cross-site', 'same-site', 'none', '', 'Same-Origin', 'same-origin2', 'same-origin, cross-site'],
      ...['"same-origin"', '?1', 'same-origin\nSec-Fetch-Site: cross-site'],
      'same-origin\nSec-Fetch-Site: same-origin',
    ],
    (site) => [stopsFrom(`Sec-Fetch-Site: ${site}\nOrigin: http://HOST`), notAsked, isRefused(403)],
  ),
  texts(
    'C16, Origin',
    [
      ...['', 'null', 'http://', 'https://evil.example', 'HOST', '//HOST', 'file://HOST', 'http://HOST/'],
      ...['http://HOST/impersonations', 'http://HOST@evil.example', 'http://evil.example@HOST'],
      ...['http://evil@HOST', 'http://HOST.evil.example', 'http://evil.example/HOST', 'http://HOST\\'],
      ...['http://evil.example#HOST', 'http://evil.example?HOST', 'http://HOST, http://HOST'],
      ...['http://HOST http://evil.example', 'http://HOST0', 'javascript:HOST', 'http://HOST:80'],
      'http://HOST\nOrigin: http://HOST',
    ],
    (origin) => [stopsFrom(`Origin: ${origin}`), notAsked, isRefused(403)],
  ),
  texts(
    'C16, another header',
    [
      ...['Referer', 'X-Forwarded-Origin', 'Forwarded', 'Sec-Fetch-Mode', 'X-Origin'].map(
        (name) => `${name}: http://HOST`,
      ),
      ...[
        'X-Forwarded-Host: evil.example',
        'Forwarded: host=evil.example',
        'X-HTTP-Method-Override: GET',
      ].map((header) => `${header}\nOrigin: https://evil.example`),
    ],
    (headers) => [stopsFrom(headers), notAsked, isRefused(403)],
  ),
  texts(
    'C16, no host',
    ['evil@id.example.com', 'id.example.com/', 'id.example.com?', 'id.example.com#x'],
    (host) => [stopsFrom(`Host: ${host}\nOrigin: https://id.example.com`), notAsked, isRefused(403)],
  ),
]

const authorizes = (authorize: () => unknown): Step => functions({ authorize } as Functions)
const UNSEEN = 'You may not see this console.'
const STOPPABLE_ALL = '/stop-all?userId=alice'
const sees = { id: 'dora', can: ['see'] }

const administrators = [
  values(
    'C17, no one',
    { undefined: undefined, null: null, false: false, later: Promise.resolve(undefined) },
    (no) => [
      written(),
      authorizes(() => no),
      forgetErrors,
      visits('POST /stop'),
      ({ calls }) => expect(calls.filter((call) => call !== 'authorize')).to.deep.equal([]),
      reports(),
      isRefused(403),
    ],
  ),
  values<unknown>(
    'C17, what must not be returned',
    {
      'an id alone': 'dora',
      'no rights': { id: 'dora' },
      'rights that are a text': { id: 'dora', can: 'see' },
      'an empty id': { id: '', can: ['see'] },
      'an id that is a number': { id: 7, can: ['see'] },
      'an id that is too long': { id: 'd'.repeat(256), can: ['see'] },
      'an id with NUL': { id: 'd\0', can: ['see'] },
      'an array': [sees],
    },
    (wrong) => [
      authorizes(() => wrong),
      forgetErrors,
      opens(''),
      reports(/^TypeError: authorize must return/),
      isRefused(500),
    ],
  ),
  rowsOf(['GET'])('C17, what it is given', {
    GET: [
      functions({ authorize: (ctx) => ({ id: ctx.get('X-Who'), can: ['see'] }) }),
      visits('GET {prefix}', { headers: { 'x-who': 'robin' } }),
      shows('<span class="who"><bdi>robin</bdi></span>'),
      changesNothing,
    ],
  }),
  values<readonly [readonly ConsoleRight[] | undefined, string, ...string[]]>(
    'C17, what a refusal says',
    {
      'no one': [undefined, '', `<p>${UNSEEN}</p>`, 'You are not signed in as someone who may'],
      'who may stop': [['stop'], '', `<p>${UNSEEN} A stop that led here`],
      'who may stop all': [['stopAll'], '', `<p>${UNSEEN}</p>`],
      'a stop': [['see'], '/stop', '<p>You may not stop impersonations.</p>', '>Back to the console</a>'],
      'a stop of all': [
        ['see', 'stop'],
        STOPPABLE_ALL,
        '<p>You may not stop all impersonations of a person or of a backend.</p>',
      ],
      'who, whom to ask, and where to go': [
        ['see'],
        STOPPABLE_ALL,
        'You are signed in as <code>dora</code>. Those who run Support &lt;at&gt; Example decide',
        '<title>Not allowed · Support &lt;at&gt; Example</title>',
        '<a href="/impersonations">Back to the console</a>',
        '<a href="/desk">Home</a>',
        '<a href="/sign-out?a=1&amp;b=2">Sign out</a>',
      ],
    },
    ([rights, path, ...said]) => [
      withOptions({ title: 'Support <at> Example', home: '/desk', signOut: '/sign-out?a=1&b=2' }),
      rights ? can(...rights) : authorized(false),
      opens(path),
      shows(...said),
      isRefused(403),
    ],
  ),
  pagesShow('C17, where to go', {
    home: [
      [withOptions({ title: 'Support <at> Example', home: '/desk', signOut: '/sign-out' })],
      '',
      '<header><strong><a href="/desk">Support &lt;at&gt; Example</a></strong>',
      '<a href="/sign-out">Sign out</a></header>',
    ],
  }),
  texts('C17, nothing to stop', ['', '/history', '/alarms', '/{id}'], (path) => [
    written({ use: {} }),
    can('see'),
    opens(({ id, people }) => path.replace('{id}', id).replace('history', `history?userId=${people.userId}`)),
    isAnswered(200),
    showsNot('stop-all', '#stop', 'Stop now', '/acknowledge'),
    changesNothing,
  ]),
]

const ABSENT = '0'.repeat(32)
type Order = readonly [
  request: string,
  status: number,
  who?: 'sees' | 'stops' | 'no one' | 'throws',
  form?: object,
]
const WHO = {
  sees: () => ({ id: 'dora', can: ['see'] }),
  stops: () => ({ id: 'dora', can: ['stop'] }),
  'no one': () => undefined,
  throws: () => expect.fail('private: no directory'),
}
const order = [
  values<Order>(
    'C18, the order of checks',
    {
      'a failure of authorize, before the path': ['GET /nothing', 500, 'throws'],
      'authorize, before the method': ['PUT /history', 403, 'no one'],
      'the right to see, before the path': ['GET /nothing', 403, 'stops'],
      'the right to see, before the id': [`GET /${ABSENT}`, 403, 'stops'],
      'the right to see, before the id of HEAD': [`HEAD /${ABSENT}`, 403, 'stops'],
      'the right to see, before a search': ['GET /search?q=a', 403, 'stops'],
      'the right to stop, before the id': ['POST /stop', 403, 'sees', { id: ABSENT }],
      'the right to stop, before what was seen': ['POST /acknowledge', 403, 'sees'],
      'the right to stop all, before the input': ['POST /stop-all', 403, 'sees'],
      'an unknown page': ['GET /nothing', 404],
      'an unknown page of HEAD': ['HEAD /nothing', 404],
      'an unknown id': [`GET /${ABSENT}`, 404],
      'an unknown id of HEAD': [`HEAD /${ABSENT}`, 404],
      'an unknown id, before the query': [`GET /${ABSENT}?x=1`, 404],
      'an unknown id, before the reason': ['POST /stop', 404, undefined, { id: ABSENT, reason: ' ' }],
      'an unknown id, before the note': ['POST /acknowledge', 404, undefined, { id: ABSENT }],
      'an id in capitals': [`GET /${'A'.repeat(32)}`, 404],
      'another case of a path': ['GET /History', 404],
      'the method, before the input': ['DELETE /stop', 405],
      'a time that is none': ['GET /stop-all?userId=a&stopped=now', 400],
      'names that are all blank': ['GET /stop-all?userId=', 400],
      'both names, one of them blank': ['GET /stop-all?userId=&actorId=b', 400],
      'another parameter of a search': ['GET /search?query=a', 400],
      'two searches': ['GET /search?q=a&q=b', 400],
      'two kinds of alarms': ['GET /alarms?show=live', 400],
      'nothing that was seen': ['POST /acknowledge', 400, undefined, { note: 'x' }],
    },
    ([request, status, who, fields]) => {
      const [method = '', path = ''] = request.split(' ')
      return [
        who ? authorizes(WHO[who]) : [],
        visits('GET {prefix}', { method, path, ...(fields && { fields: { ...fields } }) }),
        hasHeaders,
        showsNot('private'),
        isRefused(status),
      ]
    },
  ),
  values<readonly [who: keyof typeof WHO, status: number]>(
    'C18, leads back',
    { 'who stops': ['stops', 403], 'no one': ['no one', 403], 'a failure': ['throws', 500] },
    ([who, status]) => [authorizes(WHO[who]), opens('/nothing'), showsNot('<a '), isRefused(status)],
  ),
  rowsOf(['who sees'])('C18, leads back', {
    'who sees': [opens('/nothing'), shows('href="/impersonations">Back to the console'), isRefused(404)],
  }),
]

const ALERT = 'role="alert"'
const alone = (text: string) => `<h1>This did not work</h1><p>${text}</p>`
const inputs = [
  values<readonly [query: string, text: string, typed?: string]>(
    'C19, the history',
    {
      'a name that is too long': [
        `userId=${'x'.repeat(256)}`,
        'User must be a string of 1 to 255 characters.',
        'x'.repeat(256),
      ],
      'a ticket that is too long': [
        `ticketId=${'T'.repeat(256)}`,
        'Ticket must be a string of 1 to 255 characters.',
        'T'.repeat(256),
      ],
      'no day': ['from=yesterday', 'From must be a date such as 2026-11-21.', 'yesterday'],
      'a day that is not': ['to=2026-02-31', 'To must be a date such as 2026-11-21.'],
      'days that run backwards': [
        'from=2026-11-02&to=2026-11-01',
        'From must not be after to.',
        '2026-11-02',
      ],
      'no state': ['state=dead', 'State must be one of'],
      'no cursor': ['cursor=1', 'Cursor must be the id'],
      'a user twice': ['userId=a&userId=b', 'User must not be repeated.', 'a'],
      'another case': ['userid=a', 'Unknown parameter: userid.'],
      malformed: ['%ff', 'The query is malformed.'],
    },
    ([query, text, typed]) =>
      ['/history', '/history.csv'].map((path) => [
        opens(`${path}?${query}`),
        shows(`${ALERT}>${text}`, '<form class="filter"', ...(typed ? [`value="${typed}"`] : [])),
        isRefused(400),
      ]),
  ),
  values<readonly [fields: Of<Record<string, string | string[]>>, ...shown: string[]]>(
    'C19, a stop',
    {
      'an unknown field': [({ id }) => ({ id, reason: 'typed', by: 'x' }), 'value="typed"'],
      'a blank reason, which is marked': [
        ({ id }) => ({ id, reason: ' ' }),
        '<p class="error" id="error" role="alert">Reason must be',
        '<input name="reason" value=" " id="stop" required maxlength="1000" aria-invalid="true" aria-describedby="error">',
      ],
    },
    ([fields, ...shown]) => [
      used(),
      visits('POST /stop', async (scene) => ({ fields: await made(fields, scene) })),
      shows(ALERT, 'Stop this impersonation', ...shown),
      // Its address takes no GET, and a reload would send the form again.
      showsNot(' data-refresh='),
      isRefused(400),
    ],
  ),
  rowsOf(['no id', 'no form'])('C19, a stop of nothing', {
    'no id': [
      visits('POST /stop', { fields: { reason: REASON } }),
      shows(alone('Id is required.')),
      isRefused(400),
    ],
    'no form': [
      written(),
      visits('POST /stop', { headers: { ...SAME_ORIGIN, 'content-type': '' } }),
      shows(alone('The body must be a form.')),
      isRefused(400),
    ],
  }),
  texts('C9, a form', ['Application/X-WWW-Form-URLencoded; charset=UTF-8'], (type) => [
    written(),
    visits('POST /stop', { headers: { ...SAME_ORIGIN, 'content-type': type } }),
    isAnswered(303),
    recordSays({ state: 'revoked' }),
  ]),
  values<readonly [fields: (id: string) => object, ...shown: string[]]>(
    'C8, wrong',
    {
      'not typed again': [(userId) => ({ userId }), 'value="typed before"', 'name="confirm"'],
      'another case': [
        (userId) => ({ userId, confirm: userId.toUpperCase() }),
        `${ALERT}>The id must be typed exactly as shown.</p>`,
        'value="typed before"',
      ],
      'with a space': [(userId) => ({ userId, confirm: `${userId} ` }), 'value="typed before"'],
      'neither user nor engineer': [(confirm) => ({ confirm })],
      'a backend, too': [(id) => ({ createdBy: 'backend', confirm: 'backend', userId: id })],
      'an unknown field': [(userId) => ({ userId, confirm: userId, force: 'yes' })],
    },
    ([fields, ...shown]) => [
      written(),
      visits('POST /stop-all', ({ people }) => ({
        fields: { reason: 'typed before', ...fields(people.userId) },
      })),
      shows(ALERT, ...shown),
      isRefused(400),
    ],
  ),
  values<readonly [path: string, ...shown: string[]]>(
    'C7, wrong',
    {
      'two names': [
        '?userId=ian&actorId=sam',
        ALERT,
        'name="userId" value="ian"',
        'name="actorId" value="sam"',
      ],
      'too long': [`?actorId=${'x'.repeat(256)}`, ALERT, `name="actorId" value="${'x'.repeat(256)}"`],
      'not said whose': ['', '<h1>Stop everything for a person or a backend</h1>'],
    },
    ([path, ...shown]) => [
      opens(`/stop-all${path}`),
      shows(...shown),
      path === '' ? showsNot(ALERT) : [],
      isRefused(400),
    ],
  ),
  rowsOf(['purged meanwhile'])('C6, a record', {
    'purged meanwhile': [
      written(),
      ({ setting }) => void setting.instead.set('store.revoke', async () => undefined),
      visits('POST /stop'),
      shows('<h1>Not found</h1>'),
      isRefused(404),
    ],
  }),
]

/** RFC 4180, with quotes around every cell. */
const cellsOf = (line: string): string[] =>
  [...line.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map(([, cell = '']) => cell.replaceAll('""', '"'))
const HEAD =
  'started engineer user application backend ticket reason scope read.only resource state lasted.(s) exchanged until used.again stopped stopped.by stopped.because continued.by looked.into jti record'
const COLUMNS = HEAD.split(' ').map((name) => name.replace('.', ' '))
/** The one row of the CSV has these cells, and no others. */
const csvSays = (cells: Of<Named<string>>): Steps => [
  visits('GET /history.csv'),
  answer(async (scene) => {
    const { text, headers } = scene.response
    const [head = '', row = '', ...others] = text.split('\r\n')
    expect([cellsOf(head), others]).to.deep.equal([COLUMNS, ['']])
    const fixed = { user: scene.people.userId, backend: 'backend', record: scene.id }
    const expected = { ...Object.fromEntries(COLUMNS.map((name) => [name, ''])), ...fixed }
    expect(Object.fromEntries(cellsOf(row).map((cell, place) => [COLUMNS[place], cell]))).to.deep.equal({
      ...expected,
      ...(await made(cells, scene)),
    })
    expect(headers.get('content-type')).to.equal('text/csv; charset=utf-8')
    expect(headers.get('content-disposition')).to.match(
      /^attachment; filename="impersonations-\d{4}-\d\d-\d\d\.csv"$/,
    )
  }),
  changesNothing,
]
const LONG = `${'long '.repeat(50)}"quoted", and; more`
const then = (later = 0) => isoOf(now() + later)
const OPAQUE = () => ({ accessToken: { format: 'opaque' as const, expiresAt: now() + 100 } })
const ofUse = () => ({
  application: 'spa',
  resource: API,
  'lasted (s)': '10',
  started: then(-10),
  exchanged: then(-10),
  until: then(90),
})
const csv = [
  values<readonly [record: () => Written, cells: (scene: Scene) => Named<string>]>(
    'C3, every column',
    {
      'not used': [() => ({}), () => ({ started: then(-10), until: then(590), state: 'not used yet' })],
      live: [() => ({ use: OPAQUE() }), () => ({ ...ofUse(), state: 'live' })],
      'read-only': [
        () => ({ readOnly: true }),
        () => ({ started: then(-10), until: then(590), state: 'not used yet', 'read only': 'yes' }),
      ],
      'used again': [
        () => ({ use: OPAQUE(), replayedBy: 'thief' }),
        () => ({
          ...ofUse(),
          state: 'reused token',
          'lasted (s)': '0',
          'used again': then(-10),
          stopped: then(-10),
          'stopped because': 'replay',
        }),
      ],
      stopped: [
        () => ({
          context: { ticketId: 'T-1', reason: LONG },
          use: { clientId: 'desk', actor: { sub: 'sam' }, scope: 'orders:read', ...OPAQUE() },
          revocation: { cause: 'console', by: 'dora', reason: REASON },
        }),
        () => ({
          ...ofUse(),
          engineer: 'sam',
          application: 'desk',
          ticket: 'T-1',
          reason: LONG,
          scope: 'orders:read',
          state: 'stopped',
          'lasted (s)': '0',
          stopped: then(-10),
          'stopped by': 'dora',
          'stopped because': REASON,
        }),
      ],
      'continued, and looked into': [
        () => ({
          use: OPAQUE(),
          revocation: { cause: 'continued', continuedBy: NEXT },
          acknowledgement: { by: 'dora', note: 'ours' },
        }),
        () => ({
          ...ofUse(),
          state: 'continued',
          'lasted (s)': '0',
          stopped: then(-10),
          'stopped because': 'continued',
          'continued by': NEXT,
          'looked into': 'dora: ours',
        }),
      ],
      'a JWT': [() => ({ use: {} }), ({ id }) => ({ ...ofUse(), state: 'live', until: then(590), jti: id })],
    },
    ([record, cells]) => [passes(0), written(record), passes(10), csvSays(cells)],
  ),
  rowsOf(['what has ended'])('C3, live', {
    'what has ended': [
      used({ revocation: { cause: 'api' } }),
      opens(({ people }) => `/history.csv?state=live&userId=${people.userId}`),
      answer(({ response }) => expect(response.text).to.match(/^"started",[^\r]*\r\n$/)),
      changesNothing,
    ],
  }),
  values<readonly [text: string, cell: string]>(
    'C12, a cell',
    {
      '=': ['=1+1', "'=1+1"],
      '+': ['+1', "'+1"],
      '-': ['-1', "'-1"],
      '@': ['@SUM(1)', "'@SUM(1)"],
      'a space before': ['  =1+1', "  '=1+1"],
      'a tab before': ['\t=1+1', " '=1+1"],
      'a control character before': ['\u0001=1+1', " '=1+1"],
      'a line break before': ['\r\n=1+1', "  '=1+1"],
      'a line break within': ['x\n=1+1', 'x =1+1'],
      'a no-break space before': ['\u00a0=1+1', "\u00a0'=1+1"],
      'a mark of the byte order before': ['\ufeff=1+1', "\ufeff'=1+1"],
      'a wide sign': ['\uff1d1+1', "'\uff1d1+1"],
      'a semicolon, which separates cells in other places': ['x;=1+1', "x;'=1+1"],
      'quotes and commas': ['",=1+1,"', '",=1+1,"'],
      'a quote before': ['"=1+1"', `"'=1+1"`],
      'a quote after a semicolon': [';"=HYPERLINK("x");', `;"'=HYPERLINK("x");`],
      'an end of line of Unicode': ['x\u2028=1+1', 'x =1+1'],
      'words with signs': ['a-b;c', 'a-b;c'],
      'an e-mail address': ['alice@example.com', 'alice@example.com'],
    },
    ([text, cell]) => [
      passes(0),
      written({ createdBy: text, context: { reason: `${text} `, ticketId: text } }),
      csvSays(() => ({
        backend: cell,
        reason: `${cell} `,
        ticket: cell,
        started: then(),
        until: then(600),
        state: 'not used yet',
      })),
    ],
  ),
  values<readonly [rowsOnPage: number, rows: number, pages: number]>(
    'C3, the most',
    {
      'full pages': [100, 10_000, 100],
      'in the midst of a page': [99, 10_000, 102],
      'empty pages': [0, 0, 1_000],
    },
    ([onPage, rows, pages]) => [
      written(),
      lists(onPage, NEXT),
      opens('/history.csv'),
      answer(({ response }) => expect(response.text.split('\r\n')).to.have.length(rows + 2)),
      (scene) => expect(callsOf(scene, 'list')).to.equal(pages),
      changesNothing,
    ],
  ),
]

declareCells('C, values', [...origins, ...administrators, ...order, ...inputs, ...csv])
