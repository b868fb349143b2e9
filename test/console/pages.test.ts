/** What the pages show, and that the management API says the same. */
import { expect } from 'chai'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { idsOf, list } from '../../fixtures/management.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const now = () => Math.floor(Date.now() / 1000)

/** The records that a page links to, in its order. */
const shown = ({ text }: HttpResponse): string[] =>
  [...text.matchAll(/<th><a href="\/impersonations\/([0-9a-f]{32})"/g)].map(([, id = '']) => id)

describe('console: pages', () => {
  let console: ConsoleDeployment
  const ids: Record<string, string> = {}
  before(async () => {
    console = await startConsole()
    ids.active = await console.keep({
      userId: 'alice',
      actorId: 'sam',
      clientId: 'desk',
      context: { reason: 'a reason', ticketId: 'T-1' },
    })
    ids.expired = await console.keep({ userId: 'bob', expiresAt: now() - 1 })
    ids.live = await console.keep({
      userId: 'alice',
      createdBy: 'other',
      use: { clientId: 'desk', actor: { sub: 'sam' }, scope: 'orders:read' },
    })
    ids.alone = await console.keep({ userId: 'bob', use: {} })
    ids.over = await console.keep({
      userId: 'carol',
      use: { actor: { sub: 'robin' }, accessToken: { format: 'opaque', expiresAt: now() - 1 } },
    })
    ids.replayed = await console.keep({ userId: 'dave', use: { actor: { sub: 'sam' } }, replayedBy: 'thief' })
    ids.stopped = await console.keep({
      userId: 'dave',
      revocation: { cause: 'console', by: 'dora', reason: 'wrong customer' },
    })
  })
  after(() => console.close())

  it('Now has what is live, newest first, with the end of each', async () => {
    const response = await console.get()
    expect(response.status).to.equal(200)
    expect(shown(response)).to.deep.equal([ids.alone, ids.live])
    expect(shown(response)).to.deep.equal(idsOf(await list(console, { live: 'true' })))
    expect(response.text).to.match(/>Live<\/b> <small data-until="\d+">(10:00|9:59)</)
    expect(response.text).to.include(`/impersonations/${ids.live}#stop`)
  })

  it('Now warns of a replay of the last day', async () => {
    expect((await console.get()).text).to.match(/Used again\.<\/strong> .*dave.*thief/)
  })

  it('Now has the numbers of the summary', async () => {
    await console.get()
    for (let attempts = 0; attempts < 100 && /Counting/.test((await console.get()).text); attempts += 1);
    const { text } = await console.get()
    expect([...text.matchAll(/<b>(\d+)<\/b>/g)].map(([, number]) => number)).to.deep.equal([
      '2',
      '7',
      '1',
      '1',
    ])
    expect(text.match(/<tr><th>\d\d-\d\d<td>/g)).to.have.length(30)
  })

  const FILTERS: readonly (readonly [
    string,
    Readonly<Record<string, string>>,
    Readonly<Record<string, string>>,
  ])[] = [
    ['everything', {}, {}],
    ['a user', { userId: 'alice' }, { userId: 'alice' }],
    ['an engineer', { actorId: 'sam' }, { actorId: 'sam' }],
    ['an application', { clientId: 'desk' }, { clientId: 'desk' }],
    ['a backend', { createdBy: 'other' }, { createdBy: 'other' }],
    ['what is live', { state: 'live' }, { live: 'true' }],
    ['what was not used', { state: 'active' }, { state: 'active' }],
    ['what was used', { state: 'consumed' }, { state: 'consumed' }],
    ['what was never used', { state: 'expired' }, { state: 'expired' }],
    ['what was stopped', { state: 'revoked' }, { state: 'revoked' }],
    ['a user and a state', { userId: 'alice', state: 'live' }, { userId: 'alice', live: 'true' }],
  ]
  for (const [title, filter, query] of FILTERS) {
    it(`History and its CSV show ${title}, as the management API does`, async () => {
      const search = new URLSearchParams({ userId: '', actorId: '', state: '', from: '', to: '', ...filter })
      const expected = idsOf(await list(console, query))
      expect(expected).not.to.deep.equal([])
      expect(shown(await console.get(`/history?${search}`))).to.deep.equal(expected)
      const csv = await console.get(`/history.csv?${search}`)
      expect(
        csv.text
          .trim()
          .split('\r\n')
          .slice(1)
          .map((line) => line.slice(-33, -1)),
      ).to.deep.equal(expected)
    })
  }

  it('History selects days, the last one included', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
    expect(shown(await console.get(`/history?from=${today}&to=${today}`))).to.have.length(7)
    expect(shown(await console.get(`/history?from=${tomorrow}`))).to.have.length(0)
    expect(shown(await console.get('/history?to=2020-01-01'))).to.have.length(0)
  })

  for (const [query, text] of Object.entries({
    [`userId=${'x'.repeat(256)}`]: 'User must be a string of 1 to 255 characters.',
    'from=yesterday': 'From must be a date such as 2026-11-21.',
    'to=2026-02-31': 'To must be a date such as 2026-11-21.',
    'state=dead': 'State must be one of',
    'cursor=1': 'Cursor must be the id',
    'userId=a&userId=b': 'User must not be repeated.',
    'userid=a': 'Unknown parameter: userid.',
    '%ff': 'The query is malformed.',
  })) {
    it(`History shows the page again for ${query.slice(0, 20)}`, async () => {
      for (const path of ['/history', '/history.csv']) {
        const response = await console.get(`${path}?${query}`)
        expect(response.status).to.equal(400)
        expect(response.text).to.include(text).and.to.include('<form class="filter"')
        const [, value] = /=(.*)/.exec(query.split('&')[0] ?? '') ?? []
        if (/^(userId|from)=/.test(query)) expect(response.text).to.include(`value="${value}"`)
      }
    })
  }

  it('Alarms have replays, and exchanges without an engineer', async () => {
    expect(shown(await console.get('/alarms'))).to.deep.equal([ids.replayed, ids.alone])
    expect(shown(await console.get('/alarms?show=replayed'))).to.deep.equal([ids.replayed])
    expect(shown(await console.get('/alarms?show=withoutActor'))).to.deep.equal([ids.alone])
  })

  it('a record has all that the management API shows of it', async () => {
    const { text } = await console.get(`/${ids.replayed}`)
    for (const part of [
      'issued by <code>backend</code>',
      'exchanged by <code>spa</code>',
      `a JWT <code>${ids.replayed}</code>`,
      'used again by <code>thief</code>',
      'because the subject token was used again',
    ])
      expect(text).to.include(part)
    expect((await console.get(`/${ids.stopped}`)).text).to.match(
      /stopped by <bdi>dora<\/bdi> in the console: “<bdi>wrong customer<\/bdi>”/,
    )
    expect((await console.get(`/${ids.expired}`)).text).to.include('expired without being used')
    expect((await console.get(`/${ids.active}`)).text).to.include('expires if it is not used')
    expect((await console.get(`/${ids.over}`)).text).to.include('ended: the access token expires')
  })

  it('never show a secret', async () => {
    const store = createSubjectTokenStore(console.database.sequelize)
    const hashes: string[] = []
    for (const id of Object.values(ids)) hashes.push((await store.find(console.issuer, id))?.tokenHash ?? '')
    expect(hashes.filter((hash) => hash.length === 43)).to.have.length(7)
    for (const path of [
      '',
      '/history',
      '/history.csv',
      '/alarms',
      ...Object.values(ids).map((id) => `/${id}`),
    ]) {
      const { text } = await console.get(path)
      for (const hash of hashes) expect(text).not.to.include(hash)
      expect(text).not.to.include('sub_')
    }
  })
})

describe('console: long lists and long texts', () => {
  let console: ConsoleDeployment
  const long = (length: number) => 'long '.repeat(length / 5)
  /** As people and deployments are called. */
  const NAMES = {
    actor: { sub: 'maximilian.featherstone' },
    clientId: 'customer-support-desk',
    scope: 'orders:read invoices:read',
    resource: 'https://orders.example.com',
  }
  before(async () => {
    console = await startConsole({ ticketUrl: ({ ticketId }) => `https://tickets.example.com/${ticketId}` })
    for (let number = 0; number < 60; number += 1) {
      await console.keep({
        userId: `anastasia.richardson.${number}`,
        context: { ticketId: `T-47${number}`, reason: long(8000) },
        use: NAMES,
        ...(number % 3 === 0 && { revocation: { cause: 'console', by: 'dora', reason: long(1000) } }),
      })
    }
    // The numbers are counted meanwhile.
    await console.get()
  })
  after(() => console.close())

  const sizeOf = async (path: string): Promise<number> => Buffer.byteLength((await console.get(path)).text)

  it('has 25 rows, and is not as long as its texts', async () => {
    for (const path of ['', '/history', '/alarms', '/alarms?show=withoutActor'])
      expect(await sizeOf(path), path).to.be.at.most(36_000)
    for (const path of ['', '/history']) expect(shown(await console.get(path))).to.have.length(25)
  })

  it('does not grow with the names: they are cut too', async () => {
    console.change({ nameOf: (ids) => new Map(ids.map((id) => [id, long(250)])), ticketUrl: undefined })
    for (let number = 0; number < 25; number += 1) {
      const names = { actor: { sub: long(250) }, clientId: long(250), scope: long(250), resource: long(250) }
      await console.keep({
        userId: long(250),
        context: { ticketId: long(250), reason: long(8000) },
        use: names,
      })
    }
    for (const path of ['', '/history']) expect(await sizeOf(path), path).to.be.at.most(36_000)
    console.change({})
  })

  it('leads through all pages, and back to the first', async () => {
    const seen: string[] = []
    let path: string | undefined = '/history'
    let pages = 0
    while (path !== undefined) {
      const response = await console.get(path)
      seen.push(...shown(response))
      const [, next] = /href="\/impersonations([^"]*)" rel="next"/.exec(response.text) ?? []
      expect(response.text.includes('>Newest</a>')).to.equal(pages > 0)
      path = next?.replaceAll('&amp;', '&')
      pages += 1
    }
    expect(pages).to.equal(4)
    expect(new Set(seen).size).to.equal(85)
  })

  it('keeps the filter on the way through the pages', async () => {
    const first = await console.get('/history?actorId=maximilian.featherstone&from=2026-01-01&clientId=')
    const [, older = ''] = /href="\/impersonations([^"]*)" rel="next"/.exec(first.text) ?? []
    expect(older).to.match(
      /^\/history\?actorId=maximilian.featherstone&amp;from=2026-01-01&amp;cursor=\w{32}&amp;skipped=25$/,
    )
    const second = await console.get(older.replaceAll('&amp;', '&'))
    expect(second.text).to.match(
      /href="\/impersonations\/history\?actorId=maximilian.featherstone&amp;from=2026-01-01">Newest/,
    )
  })

  it('cuts a reason at 120 characters in a row, and shows all of it in the record', async () => {
    const response = await console.get('/history')
    expect(response.text)
      .to.include(`${long(120)}…`)
      .and.not.to.include(long(125))
    const [id] = shown(response)
    const { text } = await console.get(`/${id}`)
    expect(text).to.include(long(8000)).and.to.include('href="https://tickets.example.com/long long ')
  })

  it('links to a ticket by up to 120 characters in a row, and up to 1,000 in the record', async () => {
    const addressOf = (length: number) => `https://tickets.example.com/${'x'.repeat(length - 28)}`
    const id = await console.keep({ userId: 'zoe', context: { ticketId: 'T-1' } })
    for (const [length, path, isLinked] of [
      [120, '/history?userId=zoe', true],
      [121, '/history?userId=zoe', false],
      [1_000, `/${id}`, true],
      [1_001, `/${id}`, false],
    ] as const) {
      console.change({ ticketUrl: () => addressOf(length) })
      const { text } = await console.get(path)
      expect(text.includes(`<a href="${addressOf(length)}">T-1</a>`), `${length}`).to.equal(isLinked)
      expect(text).to.include('T-1')
    }
    console.change({})
  })
})
