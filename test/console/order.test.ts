/** The order of the checks (protocol.md §9): origin, administrator, path, input. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { type ConsoleDeployment, DORA, startConsole } from '../../fixtures/console.ts'
import type { Administrator } from '../../src/console/index.ts'

/** What a request passes, and the status it gets. Each is right in all that comes before its fault. */
interface Row {
  readonly title: string
  readonly method?: string
  readonly path: string
  readonly origin?: 'foreign'
  readonly administrator?: Administrator | undefined | 'throws'
  readonly body?: Readonly<Record<string, string>>
  readonly status: number
}

const ABSENT = '0'.repeat(32)
const ONLY_SEES = { id: 'dora', can: ['see'] } as const
const ONLY_STOPS = { id: 'dora', can: ['stop'] } as const

const ROWS: readonly Row[] = [
  {
    title: 'the origin, before authorize',
    method: 'POST',
    path: '/stop',
    origin: 'foreign',
    administrator: 'throws',
    status: 403,
  },
  { title: 'the origin, before the path', method: 'POST', path: '/nothing', origin: 'foreign', status: 403 },
  { title: 'the origin, before the method', method: 'PUT', path: '/history', origin: 'foreign', status: 403 },
  { title: 'the origin of OPTIONS', method: 'OPTIONS', path: '/history', origin: 'foreign', status: 403 },
  { title: 'no origin of GET', path: '/history', origin: 'foreign', status: 200 },
  { title: 'authorize, before the path', path: '/nothing', administrator: undefined, status: 403 },
  {
    title: 'a failure of authorize, before the path',
    path: '/nothing',
    administrator: 'throws',
    status: 500,
  },
  {
    title: 'authorize, before the method',
    method: 'PUT',
    path: '/history',
    administrator: undefined,
    status: 403,
  },
  { title: 'the right to see, before the path', path: '/nothing', administrator: ONLY_STOPS, status: 403 },
  { title: 'the right to see, before the id', path: `/${ABSENT}`, administrator: ONLY_STOPS, status: 403 },
  {
    title: 'the right to see, for HEAD too',
    method: 'HEAD',
    path: `/${ABSENT}`,
    administrator: ONLY_STOPS,
    status: 403,
  },
  {
    title: 'the right to stop, before the id',
    method: 'POST',
    path: '/stop',
    administrator: ONLY_SEES,
    body: { id: ABSENT },
    status: 403,
  },
  {
    title: 'the right to stop all, before the page',
    path: '/stop-all?userId=alice',
    administrator: ONLY_SEES,
    status: 403,
  },
  {
    title: 'the right to stop all, for HEAD too',
    method: 'HEAD',
    path: '/stop-all?userId=alice',
    administrator: ONLY_SEES,
    status: 403,
  },
  {
    title: 'the right to stop all, before the input',
    method: 'POST',
    path: '/stop-all',
    administrator: { id: 'dora', can: ['see', 'stop'] },
    status: 403,
  },
  { title: 'an unknown page', path: '/nothing', status: 404 },
  { title: 'an unknown id', path: `/${ABSENT}`, status: 404 },
  { title: 'an unknown id, before the query', path: `/${ABSENT}?x=1`, status: 404 },
  {
    title: 'an unknown id, before the reason',
    method: 'POST',
    path: '/stop',
    body: { id: ABSENT, reason: ' ' },
    status: 404,
  },
  { title: 'an id in capitals', path: `/${'A'.repeat(32)}`, status: 404 },
  { title: 'another case of a path', path: '/History', status: 404 },
  { title: 'the method, before the input', method: 'DELETE', path: '/stop', body: { id: 'x' }, status: 405 },
  { title: 'the method of a page', method: 'POST', path: '/history?x=1', status: 405 },
  { title: 'a POST to a record', method: 'POST', path: `/${ABSENT}`, status: 405 },
  { title: 'a GET of an action', path: '/stop', status: 405 },
  { title: 'an unknown parameter', path: '/history?x=1', status: 400 },
  { title: 'a parameter of Now', path: '?x=1', status: 400 },
  { title: 'both names', path: '/stop-all?userId=a&actorId=b', status: 400 },
  { title: 'both names, one of them blank', path: '/stop-all?userId=&actorId=b', status: 400 },
  { title: 'names that are all blank', path: '/stop-all?userId=', status: 400 },
  { title: 'a user and a backend', path: '/stop-all?userId=a&createdBy=b', status: 400 },
  { title: 'a time that is none', path: '/stop-all?userId=a&stopped=now', status: 400 },
  { title: 'another parameter of a search', path: '/search?query=a', status: 400 },
  { title: 'two searches', path: '/search?q=a&q=b', status: 400 },
  { title: 'the right to see, before a search', path: '/search?q=a', administrator: ONLY_STOPS, status: 403 },
  {
    title: 'the right to stop, before what was seen',
    method: 'POST',
    path: '/acknowledge',
    administrator: ONLY_SEES,
    status: 403,
  },
  {
    title: 'an unknown id, before the note',
    method: 'POST',
    path: '/acknowledge',
    body: { id: ABSENT },
    status: 404,
  },
  { title: 'nothing that was seen', method: 'POST', path: '/acknowledge', body: { note: 'x' }, status: 400 },
  { title: 'a GET of what was seen', path: '/acknowledge', status: 405 },
  { title: 'no id', method: 'POST', path: '/stop', body: { reason: 'x' }, status: 400 },
]

describe('console: the order of checks', () => {
  let console: ConsoleDeployment
  let current: Row['administrator'] = DORA
  let asked = 0
  before(async () => {
    console = await startConsole({
      authorize() {
        asked += 1
        if (current === 'throws') throw new Error('private: no directory')
        return current
      },
    })
  })
  beforeEach(() => {
    asked = 0
  })
  after(() => console.close())

  for (const row of ROWS) {
    const { title, method = 'GET', path, origin, body, status } = row
    it(`${status} for ${title}`, async () => {
      current = 'administrator' in row ? row.administrator : DORA
      const response = await fetch(console.url + path, {
        method,
        redirect: 'manual',
        headers: {
          'sec-fetch-site': origin === 'foreign' ? 'cross-site' : 'same-origin',
          ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        ...(method === 'POST' && { body: String(new URLSearchParams(body)) }),
      })
      const text = await response.text()
      expect(response.status, text).to.equal(status)
      expect(response.headers.get('cache-control')).to.equal('no-store')
      expect(response.headers.get('content-security-policy')).to.match(/^default-src 'none'; /)
      expect(text).not.to.include('private')
      expect(asked).to.equal(origin === 'foreign' && method !== 'GET' ? 0 : 1)
    })
  }

  it('an error page leads back only those who may see the console', async () => {
    current = DORA
    expect((await console.get('/nothing')).text).to.include('href="/impersonations"')
    for (const no of [undefined, ONLY_STOPS, 'throws'] as const) {
      current = no
      expect((await console.get('/nothing')).text).not.to.include('<a ')
    }
  })

  it('a refusal says who one is, whom to ask, and where to go', async () => {
    console.change({
      title: 'Support <at> Example',
      home: '/desk',
      signOut: '/sign-out?a=1&b=2',
      authorize: () => ONLY_SEES,
    })
    const { text } = await console.get('/stop-all?userId=alice')
    expect(text).to.include(
      'You are signed in as <code>dora</code>. Those who run Support &lt;at&gt; Example decide',
    )
    expect(text).to.include('<title>Not allowed · Support &lt;at&gt; Example</title>')
    for (const link of [
      '<a href="/impersonations">Back to the console</a>',
      '<a href="/desk">Home</a>',
      '<a href="/sign-out?a=1&amp;b=2">Sign out</a>',
    ])
      expect(text).to.include(link)
    const page = (await console.get()).text
    expect(page).to.include('<header><strong><a href="/desk">Support &lt;at&gt; Example</a></strong>')
    expect(page).to.include('<a href="/sign-out?a=1&amp;b=2">Sign out</a></header>')
    console.change({ authorize: () => undefined })
    expect((await console.get()).text).to.include(
      'You are not signed in as someone who may use this console.',
    )
    console.change({})
  })

  it('every page names by hash the style and the script that it has', async () => {
    current = DORA
    const id = await console.keep({ use: {} })
    for (const path of ['', '/history', `/${id}`, '/nothing', '/stop-all']) {
      const { text, headers } = await console.get(path)
      for (const [kind, content] of [
        ['style', /<style>(.*?)<\/style>/s.exec(text)?.[1] ?? ''],
        ['script', /<script type="module">(.*?)<\/script>/s.exec(text)?.[1] ?? ''],
      ] as const) {
        const hash = createHash('sha256').update(content).digest('base64')
        expect(headers.get('content-security-policy'), path).to.include(`; ${kind}-src 'sha256-${hash}'; `)
      }
    }
  })

  it('405 names the methods there are', async () => {
    console.change({})
    current = DORA
    const at = async (path: string) =>
      (
        await fetch(console.url + path, { method: 'PUT', headers: { 'sec-fetch-site': 'same-origin' } })
      ).headers.get('allow')
    expect(await at('/history')).to.equal('GET, HEAD')
    expect(await at('/stop')).to.equal('POST')
    expect(await at('/stop-all')).to.equal('GET, HEAD, POST')
  })

  it('passes what is not below the prefix to the host', async () => {
    for (const path of ['/impersonationss', '/Impersonations', '/impersonation', '/']) {
      const response = await fetch(console.baseUrl + path)
      expect(response.status).to.equal(404)
      expect(response.headers.get('content-security-policy'), path).to.equal(null)
    }
    expect(asked).to.equal(0)
  })

  it('responds to HEAD as to GET, without a body', async () => {
    current = DORA
    for (const [path, status] of [
      ['', 200],
      ['/history.csv', 200],
      ['/nothing', 404],
    ] as const) {
      const response = await fetch(console.url + path, { method: 'HEAD' })
      expect(response.status).to.equal(status)
      expect(await response.text()).to.equal('')
    }
  })
})
