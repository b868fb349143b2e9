/** One field for what people have in hand: where each text leads, and what is said where it leads nowhere. */
import { expect } from 'chai'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'

const NAMES = new Map([
  ['alice', 'Alice Archer'],
  ['alistair', 'Alistair Ash'],
  ['sam', 'Sam Sawyer'],
])
const find = (text: string) =>
  [...NAMES].filter(([, name]) => name.toLowerCase().includes(text.toLowerCase())).map(([id]) => id)

describe('console: the search', () => {
  let console: ConsoleDeployment
  let first: string
  before(async () => {
    console = await startConsole({ nameOf: () => NAMES, find })
    first = await console.keep({
      userId: 'alice',
      context: { ticketId: 'T-1' },
      use: { actor: { sub: 'sam' } },
    })
    await console.keep({ userId: 'alice', context: { ticketId: 'T-2' }, use: { actor: { sub: 'robin' } } })
    await console.keep({
      userId: 'alistair',
      createdBy: 'T-2',
      use: { clientId: 'desk', actor: { sub: 'sam' } },
    })
    await console.keep({ userId: 'sam', context: { ticketId: 'T-2' } })
  })
  beforeEach(() => console.change({}))
  after(() => console.close())

  const search = (q: string) => console.get(`/search?${new URLSearchParams({ q })}`)
  const leadsTo = async (q: string) => (await search(q)).headers.get('location')

  it('is on every page', async () => {
    for (const path of ['', '/history', '/alarms', `/${first}`, '/search?q=x', '/stop-all?userId=alice'])
      expect((await console.get(path)).text, path).to.match(
        /<form class="search" action="\/impersonations\/search" role="search"><input name="q" type="search"/,
      )
  })

  it('is not shown to those who may not see what it finds', async () => {
    console.change({ authorize: () => ({ id: 'dora', can: ['stopAll'] }) })
    expect((await console.get('/stop-all?userId=alice')).text).not.to.include('role="search"')
  })

  it('leads to the one record of a ticket, and to the history of a name', async () => {
    expect(await leadsTo('T-1')).to.equal(`/impersonations/${first}`)
    expect(await leadsTo('Alice')).to.equal('/impersonations/history?userId=alice')
    expect(await leadsTo('aLiCe aR')).to.equal('/impersonations/history?userId=alice')
    expect(await leadsTo('alice')).to.equal('/impersonations/history?userId=alice')
  })

  it('offers what a text may mean, each with how many there are', async () => {
    const { status, text } = await search('T-2')
    expect(status).to.equal(200)
    const choices = [...text.matchAll(/<li><a href="([^"]*)">(.*?)<\/a>: ([^<]*)<\/li>/g)].map((match) =>
      match.slice(1),
    )
    expect(choices).to.deep.equal([
      ['/impersonations/history?ticketId=T-2', 'Ticket <bdi>T-2</bdi>', '2 records'],
      ['/impersonations/history?createdBy=T-2', 'Backend <bdi>T-2</bdi>', '1 record'],
    ])
    expect(text.match(/<tr><th><a/g)).to.have.length(3)
  })

  it('tells people of one name apart, and what each of them did', async () => {
    const { text } = await search('Sam')
    expect(text).to.include(
      '<a href="/impersonations/history?userId=sam">User <bdi>Sam Sawyer</bdi></a>: 1 record',
    )
    expect(text).to.include(
      '<a href="/impersonations/history?actorId=sam">Engineer <bdi>Sam Sawyer</bdi></a>: 2 records',
    )
    const all = (await search('Ali')).text
    expect(all).to.include('User <bdi>Alice Archer</bdi></a>: 2 records')
    expect(all).to.include('User <bdi>Alistair Ash</bdi></a>: 1 record')
  })

  it('says that it found nothing, and in which ways it looked', async () => {
    const { status, text } = await search('<stranger>')
    expect(status).to.equal(200)
    expect(text).to.include('Nothing was found for <bdi>&lt;stranger&gt;</bdi>')
    expect(text).to.include('and no one whose name contains it')
    console.change({ find: undefined })
    expect((await search('Alice')).text).not.to.include('whose name contains it')
  })

  it('finds ids without find, and as many as find returns up to twenty', async () => {
    console.change({ find: undefined })
    expect(await leadsTo('alistair')).to.match(/^\/impersonations\/[0-9a-f]{32}$/)
    expect((await search('Alistair')).status).to.equal(200)
    const others = (count: number) => Array.from({ length: count }, (_, number) => `other-${number}`)
    console.change({ find: () => [...others(19), 'alice'] })
    expect(await leadsTo('x')).to.equal('/impersonations/history?userId=alice')
    console.change({ find: () => [...others(20), 'alice'] })
    expect((await search('x')).text).to.include('Nothing was found')
  })

  it('looks for no id that no record can have', async () => {
    console.change({ find: () => ['', 'x'.repeat(256), 'a\0b', 'alice'] })
    expect(await leadsTo('x')).to.equal('/impersonations/history?userId=alice')
  })

  it('asks find once, for the text without what is around it', async () => {
    const asked: string[] = []
    console.change({
      find(text) {
        asked.push(text)
        return []
      },
    })
    await search('  Alice A ')
    expect(asked).to.deep.equal(['Alice A'])
    await search(' ')
    await search('x'.repeat(256))
    expect(asked).to.have.length(1)
  })
})

describe('console: a filter that finds nothing', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole({ nameOf: () => NAMES })
    await console.keep({ userId: 'alice' })
  })
  after(() => console.close())

  it('says that no one is known by what was typed, and leads to the search', async () => {
    const { text } = await console.get('/history?actorId=Sam+Sawyer')
    expect(text).to.include('No one is known by the account id <bdi>Sam Sawyer</bdi>')
    expect(text).to.include('href="/impersonations/search?q=Sam+Sawyer"')
    expect((await console.get('/history?actorId=sam')).text).not.to.include('No one is known')
  })

  it('says nothing of the kind where no one can be known', async () => {
    console.change({ nameOf: undefined })
    expect((await console.get('/history?actorId=Sam+Sawyer')).text).not.to.include('No one is known')
    console.change({ nameOf: () => Promise.reject(new Error('private')) })
    expect((await console.get('/history?actorId=Sam+Sawyer')).text).not.to.include('No one is known')
  })

  it('says what it filters by, and each part can be taken away', async () => {
    console.change({})
    const { text } = await console.get('/history?userId=alice&ticketId=T-1&state=live')
    const chips = [...text.matchAll(/<a class="chip" href="([^"]*)">(.*?)<span/g)].map((match) =>
      match.slice(1),
    )
    expect(chips).to.deep.equal([
      ['/impersonations/history?ticketId=T-1&amp;state=live', 'User: <bdi>Alice Archer</bdi> '],
      ['/impersonations/history?userId=alice&amp;state=live', 'Ticket: <bdi>T-1</bdi> '],
      ['/impersonations/history?userId=alice&amp;ticketId=T-1', 'State: <bdi>Live now</bdi> '],
    ])
  })

  it('refuses days that run backwards, instead of finding nothing', async () => {
    const { status, text } = await console.get('/history?from=2026-11-02&to=2026-11-01')
    expect(status).to.equal(400)
    expect(text).to.include('From must not be after to.')
  })
})
