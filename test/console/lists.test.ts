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
    [
      ...(text.split('<form class="filter"')[1] ?? '').matchAll(
        /<label>([^<]*)<input name="(\w+)" value="([^"]*)"([^>]*)>/g,
      ),
    ].map((match) => match.slice(1))
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
      ['From (UTC)', 'from', '', ' type="date"'],
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
    expect(text).to.match(/<button>Filter<\/button>/)
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

  const KINDS = [
    ['', 'To look into', 'No alarms to look into.'],
    ['?show=replayed', 'Used again', 'No subject token has been used again.'],
    ['?show=withoutActor', 'Without engineer', 'Every exchange named an engineer.'],
  ] as const
  for (const [query, label, empty] of KINDS) {
    it(`lead to each other: ${label}`, async () => {
      const { text } = await console.get(`/alarms${query}`)
      expect(placeOf(text)).to.deep.equal(['Alarms', 'Alarms · Impersonation'])
      const tabs = KINDS.map(([to, name]) => {
        const current = to === query ? ' aria-current="true"' : ''
        return `<a href="/impersonations/alarms${to}"${current}>${name}</a>`
      })
      expect(text).to.include(`<nav class="line tabs" aria-label="Kinds of alarms">${tabs.join('')}</nav>`)
      expect(text).to.include(`<p class="card empty">${empty}</p>`)
    })
  }

  it('are three', async () => {
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
      /href="\/impersonations(\/alarms\?show=withoutActor&amp;cursor=\w{32}&amp;skipped=25)" rel="next"/.exec(
        first.text,
      ) ?? []
    const { text } = await console.get(older.replaceAll('&amp;', '&'))
    expect(text.match(/<tr><th><a/g)).to.have.length(1)
    expect(text).to.include('href="/impersonations/alarms?show=withoutActor">Newest</a>')
    expect(first.text).to.include('<span>1–25 of 26</span>')
    expect(text).to.include('<span>26 of 26</span>')
  })
})

describe('console: a row', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
  })
  beforeEach(() => console.change({}))
  after(() => console.close())

  /** The cells of the one record of a user: when, engineer, user, ticket, why, state, and maybe what stops it. */
  async function cellsOf(userId: string): Promise<string[]> {
    const { text } = await console.get(`/history?userId=${userId}`)
    const [, row = ''] = /<tbody><tr><th>(.*)<\/table>/s.exec(text) ?? []
    return row.split('<td>').map((cell) => cell.trim())
  }

  it('leads to the record, and to what there is of each of the two people', async () => {
    console.change({ nameOf: () => new Map([['sam', 'Sam <S>']]) })
    const id = await console.keep({ userId: 'alice', use: { actor: { sub: 'sam' } } })
    const [when, engineer, user] = await cellsOf('alice')
    expect(when).to.match(
      new RegExp(`^<a href="/impersonations/${id}"><time datetime="[^"]{20}">[\\d:]{8}</time></a>$`),
    )
    expect(engineer).to.equal('<a href="/impersonations/history?actorId=sam">Sam &lt;S&gt;</a>')
    expect(user).to.equal('<a href="/impersonations/history?userId=alice">alice</a>')
  })

  it('says whom its button stops', async () => {
    console.change({ nameOf: () => new Map([['sam', 'Sam "S"']]) })
    const id = await console.keep({ userId: 'bob', use: { actor: { sub: 'sam' } } })
    expect((await cellsOf('bob'))[6]).to.equal(
      `<a href="/impersonations/${id}#stop" aria-label="Stop Sam &quot;S&quot; viewing bob">Stop</a>`,
    )
    await console.keep({ userId: 'bea', use: {} })
    expect((await cellsOf('bea'))[6]).to.include('aria-label="Stop someone viewing bea"')
    expect((await cellsOf('bea'))[1]).to.equal('<em>not named</em>')
  })

  it('links to no person whose id is so long that many would make the page large', async () => {
    const address = '/impersonations/history?userId='
    for (const length of [120 - address.length, 121 - address.length]) {
      const userId = 'u'.repeat(length)
      await console.keep({ userId })
      expect((await cellsOf(userId))[2]?.includes('<a '), `${length}`).to.equal(
        length === 120 - address.length,
      )
    }
  })

  it('has the first ticket that is not blank', async () => {
    await console.keep({
      userId: 'carol',
      context: { ticketId: ' ', ticket_id: '', ticket: 4711, reason: '\n' },
    })
    expect((await cellsOf('carol')).slice(3, 5)).to.deep.equal(['4711', ''])
  })

  it('links to a ticket that the context does not name by a word', async () => {
    await console.keep({ userId: 'dave', context: { reason: 'a reason' } })
    const shown = async () => (await cellsOf('dave')).slice(3, 5)
    expect(await shown()).to.deep.equal(['', 'a reason'])
    console.change({ ticketUrl: () => 'https://tickets.example.com/1' })
    expect(await shown()).to.deep.equal(['<a href="https://tickets.example.com/1">Ticket</a>', 'a reason'])
    console.change({
      ticketUrl() {
        throw new Error('private')
      },
    })
    expect(await shown()).to.deep.equal(['', 'a reason'])
  })

  it('has another context as JSON, and nothing for an empty one', async () => {
    await console.keep({ userId: 'erin', context: { order: 7 } })
    expect((await cellsOf('erin'))[4]).to.equal('{&quot;order&quot;:7}')
    await console.keep({ userId: 'frank' })
    expect((await cellsOf('frank'))[4]).to.equal('')
  })
})

describe('console: how many there are', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
    for (let number = 0; number < 101; number += 1) await console.keep({ userId: 'alice' })
    for (let number = 0; number < 100; number += 1) await console.keep({ userId: 'bob' })
  })
  after(() => console.close())

  const counted = async (path: string) => {
    const { text } = await console.get(path)
    const [, older = ''] = /href="\/impersonations([^"]*)" rel="next"/.exec(text) ?? []
    return { count: /<span>([^<]* of [^<]*)</.exec(text)?.[1], older: older.replaceAll('&amp;', '&') }
  }

  it('is said, as far as it was read', async () => {
    let { count, older } = await counted('/history?userId=alice')
    const counts = [count]
    while (older) {
      ;({ count, older } = await counted(older))
      counts.push(count)
    }
    expect(counts).to.deep.equal([
      '1–25 of 100 or more',
      '26–50 of 101',
      '51–75 of 101',
      '76–100 of 101',
      '101 of 101',
    ])
    expect((await counted('/history?userId=bob')).count).to.equal('1–25 of 100')
  })

  it('takes no place from an address that is none', async () => {
    const { older } = await counted('/history?userId=bob')
    for (const skipped of ['-1', 'x', '1e3', '12345678', ''])
      expect((await counted(older.replace('skipped=25', `skipped=${skipped}`))).count).to.equal('1–25 of 75')
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
      `<a class="button" href="/impersonations/history?state=active&amp;cursor=${'f'.repeat(32)}&amp;skipped=0" rel="next">Older</a>`,
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
