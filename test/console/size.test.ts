/** How large a page of 25 rows is: at most 30 kB as people work, and at most 75 kB whatever the texts in it consist of. */
import { expect } from 'chai'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import { by, PEOPLE } from '../../fixtures/people-at-work.ts'
import { earliestId } from '../../src/subject-tokens/id.ts'

const ROWS = 25
const ORDINARY = 30_000
const MOST = 75_000
const LONGEST = 255

const rowsIn = (text: string) => text.match(/<tr><th><a/g) ?? []

describe('console: pages of a day of work', () => {
  const REASONS = [
    'Order A-1 is missing',
    'Cannot pay by card',
    'Invoice shows another VAT',
    'Parcel is lost',
  ]
  const DAY = 86_400
  let console: ConsoleDeployment
  let id: string
  before(async () => {
    console = await startConsole({
      nameOf: () => PEOPLE,
      find: () => ['sam', 'robin'],
      ticketUrl: ({ ticketId }) => `https://tickets.example.com/${ticketId}`,
      title: 'Support at Example',
      home: '/',
      signOut: '/sign-out',
    })
    const now = Math.floor(Date.now() / 1000)
    for (let number = 0; number < 120; number += 1) {
      const at = now - (number % 30) * DAY
      const context = { ticketId: `T-47${number}`, reason: REASONS[number % 4] ?? '' }
      const userId = number % 3 ? 'alice' : 'bob'
      const use = by(number % 2 ? 'sam' : 'robin')
      const past = { id: earliestId(at).slice(0, 16) + String(number).padStart(16, '0'), createdAt: at }
      const accessToken = { format: 'jwt', expiresAt: at + 300 } as const
      await console.keep({ userId, context, ...past, use: { ...use, at, accessToken } })
      if (number < 50) await console.keep({ userId, context, use })
      if (number < 30) id = await console.keep({ userId, context, use, replayedBy: 'other-app' })
    }
    // The numbers are counted meanwhile.
    await console.get()
  })
  after(() => console.close())

  for (const path of [
    '',
    '/history',
    '/history?userId=alice',
    '/alarms',
    '/alarms?show=replayed',
    '/search?q=team',
  ])
    it(`have at most 30 kB: ${path || 'Now'}`, async () => {
      let text = ''
      do text = (await console.get(path)).text
      while (path === '' && text.includes('Counting'))
      if (!/alarms$/.test(path)) expect(rowsIn(text)).to.have.length(path.startsWith('/search') ? 10 : ROWS)
      expect(Buffer.byteLength(text)).to.be.at.most(ORDINARY)
    })

  it('have at most 30 kB: a record', async () => {
    expect(Buffer.byteLength((await console.get(`/${id}`)).text)).to.be.at.most(ORDINARY)
  })
})

/** What costs most on a page: as UTF-8, in HTML or in an address. */
const CHARACTERS: Readonly<Record<string, string>> = {
  'Latin letters': 'm',
  'characters of three bytes': '界',
  'characters of four bytes': '🎫',
  'characters made of several': '👩‍👩‍👧',
  quotes: '"',
  apostrophes: "'",
  ampersands: '&',
}

describe('console: pages at their largest', () => {
  let console: ConsoleDeployment
  beforeEach(async () => {
    console = await startConsole()
  })
  afterEach(() => console.close())

  /** As many rows as a page has, of each kind, with every field at its longest. */
  async function fill(character: string) {
    const of = (length: number, start = '') =>
      start + character.repeat(Math.floor((length - start.length) / [...character].length))
    const person = { userId: of(LONGEST, 'u'), actorId: of(LONGEST, 'a') }
    const bound = { ...person, clientId: of(LONGEST, 'c'), createdBy: of(LONGEST, 'b') }
    const granted = { resource: `https://${of(LONGEST - 8)}`, scope: of(LONGEST) }
    const use = {
      ...granted,
      clientId: bound.clientId,
      actor: { sub: bound.actorId, clientId: bound.clientId },
      accessToken: { format: 'jwt', expiresAt: Math.floor(Date.now() / 1000) + 80_000 },
    } as const
    const live = { ...bound, ...granted, context: { ticketId: of(LONGEST), reason: of(1_800) }, use }
    for (let number = 0; number < ROWS; number += 1) {
      const other = of(LONGEST, `${number}`)
      const revocation = { cause: 'api', client: bound.clientId, by: other, reason: of(1_000) } as const
      await console.keep(live)
      await console.keep({ ...live, replayedBy: other })
      await console.keep({ ...live, use: { ...use, actor: undefined }, replayedBy: other, revocation })
      await console.keep({ ...live, context: { [other]: of(1_800) }, use: undefined, revocation })
    }
    return person
  }

  const expectSmall = async (path: string) => {
    const { text, status } = await console.get(path)
    expect(status).to.equal(200)
    if (!/^\/(stop-all|alarms$|search|\w{32}$)/.test(path)) expect(rowsIn(text), path).to.have.length(ROWS)
    expect(Buffer.byteLength(text), path).to.be.at.most(MOST)
    return text
  }

  for (const [title, character] of Object.entries(CHARACTERS)) {
    it(`have at most 75 kB of ${title}`, async () => {
      const { userId, actorId } = await fill(character)
      // The numbers are counted meanwhile.
      await console.get()
      for (const path of [
        '',
        '/alarms?show=replayed',
        '/alarms?show=withoutActor',
        '/history',
        '/history?state=revoked',
      ])
        await expectSmall(path)
      for (const path of ['/history', '/stop-all'])
        await expectSmall(`${path}?${new URLSearchParams({ userId })}`)
      const first = await expectSmall(`/history?${new URLSearchParams({ actorId })}`)
      const [, older = ''] = /href="\/impersonations([^"]*)" rel="next"/.exec(first) ?? []
      await expectSmall(older.replaceAll('&amp;', '&').replaceAll('&#39;', "'"))
      await expectSmall('/alarms')
      const [, id = ''] = /<tr><th><a href="\/impersonations\/(\w{32})/.exec(first) ?? []
      await expectSmall(`/${id}`)
      const long = character.repeat(LONGEST)
      console.change({
        nameOf: (ids) => new Map(ids.map((id) => [id, { name: long, url: `https://people.example/${id}` }])),
        ticketUrl: () => `https://tickets.example.com/?${character.repeat(10)}`,
      })
      for (const path of ['', '/history', '/history?state=revoked', '/alarms']) await expectSmall(path)
      const found = Array.from({ length: 20 }, (_, number) => `${number}${long}`.slice(0, LONGEST))
      for (const userId of found.filter((id) => id.isWellFormed())) {
        await console.keep({ userId })
        await console.keep({ userId, actorId: userId })
      }
      console.change({ find: () => found })
      await expectSmall('/search?q=x')
    })
  }

  it('show all of a record, which may take as much', async () => {
    await fill('m')
    const [id = ''] = /[0-9a-f]{32}/.exec(await expectSmall('/history?state=revoked')) ?? []
    const nested = (depth: number): object => (depth === 0 ? Array(4000).fill(1) : { a: nested(depth - 1) })
    const use = { clientId: 'm'.repeat(LONGEST), scope: 'm'.repeat(LONGEST) }
    const revocation = { cause: 'console', by: 'm'.repeat(LONGEST), reason: 'm'.repeat(1_000) } as const
    const reason = 'm'.repeat(8_150)
    const long = await console.keep({ userId: 'm'.repeat(LONGEST), context: { reason }, use, revocation })
    const deep = await console.keep({ context: { nested: nested(13) } as never, use })
    for (const record of [id, long, deep]) {
      const text = await expectSmall(`/${record}`)
      if (record === long) expect(text).to.include(reason)
      if (record === deep) expect(text.match(/1/g)).to.have.length.greaterThan(4000)
    }
  })

  it('cut no name, reason or address in a record, however large its context is', async () => {
    const url = `https://tickets.example.com/${'x'.repeat(900)}`
    console.change({ ticketUrl: () => url })
    const context = { ticketId: 'T-1', reason: '"'.repeat(1_000), more: '"'.repeat(2_500) }
    const id = await console.keep({ userId: 'alice.archer@example.com', context })
    const { text } = await console.get(`/${id}`)
    expect(text).to.match(/<h1>.*<bdi>alice\.archer@example\.com<\/bdi><\/h1>/)
    expect(text).to.include(`<a href="${url}">T-1</a></bdi> <bdi>${'&quot;'.repeat(1_000)}</bdi>`)
  })

  it('show 120 characters of a text, whatever it consists of', async () => {
    await fill('界')
    expect(await expectSmall('/history'))
      .to.include('界'.repeat(120))
      .and.not.to.include('界'.repeat(121))
  })
})
