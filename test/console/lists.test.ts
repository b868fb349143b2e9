/** What surrounds the records on History, Alarms and Now, and what a row says of one. */
import { expect } from 'chai'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import { openDatabase } from '../../fixtures/databases.ts'
import type { SubjectTokenStore } from '../../src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

/** Where the navigation says that the reader is, and the title of the page. */
const placeOf = (text: string): (string | undefined)[] => [
  /aria-current="page">([^<]*)</.exec(text)?.[1],
  /<title>([^<]*)</.exec(text)?.[1],
]

describe('console: the filter of History', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
  })
  after(() => console.close())

  /** Each field as [label, name, value, attributes]. */
  const fieldsOf = (text: string) =>
    [...text.matchAll(/<label>([^<]*)<input name="(\w+)" value="([^"]*)"([^>]*)>/g)].map((match) =>
      match.slice(1),
    )
  const optionsOf = (text: string) =>
    [...text.matchAll(/<option value="(\w*)"([^>]*)>([^<]*)</g)].map((match) => match.slice(1))

  it('is empty at first', async () => {
    const { text } = await console.get('/history')
    expect(placeOf(text)).to.deep.equal(['History', 'History · Impersonation'])
    expect(fieldsOf(text)).to.deep.equal([
      ['User', 'userId', '', ''],
      ['Engineer', 'actorId', '', ''],
      ['Application', 'clientId', '', ''],
      ['Backend', 'createdBy', '', ''],
      ['Ticket', 'ticketId', '', ''],
      ['From', 'from', '', ' type="date"'],
      ['To', 'to', '', ' type="date"'],
    ])
    expect(optionsOf(text)).to.deep.equal([
      ['', ' selected', 'Any state'],
      ['live', '', 'Live now'],
      ['active', '', 'Not used yet'],
      ['consumed', '', 'Used, not stopped'],
      ['expired', '', 'Never used'],
      ['revoked', '', 'Ended or stopped'],
    ])
    expect(text).to.include('<p class="card empty">No one has been impersonated yet.</p>')
    expect(text).to.include('href="/impersonations/history.csv" download')
    expect(text).to.match(/<button>Filter<\/button>\s*<a class="button" href="[^"]*" download/)
  })

  it('shows again what it selects, and can be cleared', async () => {
    const typed = {
      userId: 'alice',
      actorId: 'sam',
      clientId: 'desk',
      createdBy: 'backend',
      ticketId: 'T-1',
      from: '1970-01-01',
      to: '1970-01-01',
    }
    const { text, status } = await console.get(
      `/history?${new URLSearchParams({ ...typed, state: 'expired' })}`,
    )
    expect(status).to.equal(200)
    expect(Object.fromEntries(fieldsOf(text).map(([, name, value]) => [name, value]))).to.deep.equal(typed)
    expect(optionsOf(text).filter(([, selected]) => selected !== '')).to.deep.equal([
      ['expired', ' selected', 'Never used'],
    ])
    expect(text).to.include('<p class="card empty">No record matches this filter.</p>')
    expect(text).to.include('<a class="button" href="/impersonations/history">Clear</a>')
  })
})

describe('console: the kinds of alarms', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
  })
  after(() => console.close())

  for (const [query, tabs, empty] of [
    [
      '',
      '<a href="/impersonations/alarms?show=replayed" aria-current="true">Used again</a><a href="/impersonations/alarms?show=withoutActor">Without engineer</a>',
      'No subject token has been used again.',
    ],
    [
      '?show=withoutActor',
      '<a href="/impersonations/alarms?show=replayed">Used again</a><a href="/impersonations/alarms?show=withoutActor" aria-current="true">Without engineer</a>',
      'Every exchange named an engineer.',
    ],
  ] as const) {
    it(`lead to each other: ${query || 'at first'}`, async () => {
      const { text } = await console.get(`/alarms${query}`)
      expect(placeOf(text)).to.deep.equal(['Alarms', 'Alarms · Impersonation'])
      expect(text).to.include(`<nav class="line tabs" aria-label="Kinds of alarms">${tabs}</nav>`)
      expect(text).to.include(`<p class="card empty">${empty}</p>`)
    })
  }

  it('are two', async () => {
    const { status, text } = await console.get('/alarms?show=live')
    expect(status).to.equal(400)
    expect(text).to.include('<h1>This did not work</h1><p>Show must be replayed or withoutActor.</p>')
  })
})

describe('console: alarms of more than one page', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
    for (let number = 0; number < 26; number += 1) await console.keep({ use: {} })
  })
  after(() => console.close())

  it('lead to the older ones of their kind, and back', async () => {
    const first = await console.get('/alarms?show=withoutActor')
    const [, older = ''] =
      /href="\/impersonations(\/alarms\?show=withoutActor&amp;cursor=\w{32})" rel="next"/.exec(first.text) ??
      []
    const { text } = await console.get(older.replace('&amp;', '&'))
    expect(text.match(/<tr><th><a/g)).to.have.length(1)
    expect(text).to.include('href="/impersonations/alarms?show=withoutActor">Newest</a>')
  })
})

describe('console: a row', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
  })
  beforeEach(() => console.change({}))
  after(() => console.close())

  /** The cells after the first of the one record of a user. */
  async function cellsOf(userId: string): Promise<string[]> {
    const { text } = await console.get(`/history?userId=${userId}`)
    const [, row = ''] = /<tbody>(<tr>.*)<\/table>/s.exec(text) ?? []
    return row
      .split('<td>')
      .slice(1)
      .map((cell) => cell.trim())
  }

  it('has the scope, and the resource without its scheme', async () => {
    await console.keep({ userId: 'alice', scope: 'orders:read', resource: 'https://orders.example.com' })
    expect((await cellsOf('alice'))[1]).to.equal('<code>orders:read</code><small>orders.example.com</small>')
    await console.keep({ userId: 'bob' })
    expect((await cellsOf('bob'))[1]).to.equal('<small>any resource</small>')
    await console.keep({ userId: 'grace', resource: ['https://a.example', 'urn:b', 'http://c.example'] })
    expect((await cellsOf('grace'))[1]).to.equal('<small>a.example, urn:b, c.example</small>')
  })

  it('has the first ticket that is not blank', async () => {
    await console.keep({
      userId: 'carol',
      context: { ticketId: ' ', ticket_id: '', ticket: 4711, reason: '\n' },
    })
    expect((await cellsOf('carol'))[0]).to.equal('4711 <bdi></bdi>')
  })

  it('links to a ticket that the context does not name by a word', async () => {
    await console.keep({ userId: 'dave', context: { reason: 'a reason' } })
    expect((await cellsOf('dave'))[0]).to.equal('<bdi>a reason</bdi>')
    console.change({ ticketUrl: () => 'https://tickets.example.com/1' })
    expect((await cellsOf('dave'))[0]).to.equal(
      '<a href="https://tickets.example.com/1">Ticket</a> <bdi>a reason</bdi>',
    )
    console.change({
      ticketUrl() {
        throw new Error('private')
      },
    })
    expect((await cellsOf('dave'))[0]).to.equal('<bdi>a reason</bdi>')
  })

  it('has another context as JSON, and nothing for an empty one', async () => {
    await console.keep({ userId: 'erin', context: { order: 7 } })
    expect((await cellsOf('erin'))[0]).to.equal('<bdi>{&quot;order&quot;:7}</bdi>')
    await console.keep({ userId: 'frank' })
    expect((await cellsOf('frank'))[0]).to.equal('<bdi></bdi>')
  })
})

describe('console: History of a ticket', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
  })
  after(() => console.close())

  it('has the records whose context names just this ticket, and so has the CSV', async () => {
    const id = await console.keep({ context: { ticketId: 'T-1' } })
    const other = await console.keep({ context: { ticketId: 'T-11' } })
    for (const path of ['/history', '/history.csv']) {
      const { text } = await console.get(`${path}?ticketId=T-1`)
      expect(text).to.include(id).and.not.to.include(other)
    }
  })

  it('says what is wrong with a ticket, and shows it again', async () => {
    const ticketId = 'T'.repeat(256)
    const { status, text } = await console.get(`/history?ticketId=${ticketId}`)
    expect(status).to.equal(400)
    expect(text)
      .to.include('Ticket must be a string of 1 to 255 characters.')
      .and.include(`value="${ticketId}"`)
  })
})

describe('console: an empty page of a longer list', () => {
  let console: ConsoleDeployment
  before(async () => {
    const database = await openDatabase('sqlite')
    const store: SubjectTokenStore = Object.create(createSubjectTokenStore(database.sequelize), {
      list: { value: async () => ({ tokens: [], next: 'f'.repeat(32) }) },
    })
    console = await startConsole({}, { database, options: { store } })
  })
  after(async () => {
    await console.close()
    await console.database.close()
  })

  it('says that there may be older ones, and leads to them', async () => {
    const { text } = await console.get('/history?state=active')
    expect(text).to.include('<p class="card empty">None on this page. There may be older ones.</p>')
    expect(text).to.include(
      `<a class="button" href="/impersonations/history?state=active&amp;cursor=${'f'.repeat(32)}" rel="next">Older</a>`,
    )
  })
})

describe('console: at the root of a host of its own', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole({ prefix: '' })
  })
  after(() => console.close())

  it('links to its first page by a slash', async () => {
    const id = await console.keep()
    for (const [path, link] of [
      ['/history', '<a href="/">Now</a>'],
      ['/', '<a href="/" aria-current="page">Now</a>'],
      [`/?cursor=${id}`, '<a class="button" href="/">Newest</a>'],
      ['/stop-all?userId=alice', '<a class="button" href="/">Cancel</a>'],
      ['/nothing', '<a href="/">Back to the console</a>'],
    ])
      expect((await console.get(path)).text, path).to.include(link)
  })
})
