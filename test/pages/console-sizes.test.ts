/** How large a page of 25 rows is: at most 30 kB as people work, and at most 75 kB whatever the texts in it consist of. */
import { expect } from 'chai'
import { now } from '../../fixtures/clock.ts'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import { by, PEOPLE } from '../../fixtures/people-at-work.ts'
import { earliestId } from '../../src/tokens/id.ts'

const ROWS = 25
const ORDINARY = 30_000
const MOST = 75_000
const LONGEST = 255

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

describe('console: how large pages are', () => {
  let console: ConsoleDeployment
  afterEach(() => console.close())

  async function expectSmall(path: string, most: number, rows?: number): Promise<string> {
    let response = await console.get(path)
    while (response.text.includes('Counting …')) response = await console.get(path)
    const { status, text } = response
    expect(status, path).to.equal(200)
    if (rows !== undefined) expect(text.match(/<tr><th><a/g), path).to.have.length(rows)
    expect(Buffer.byteLength(text), path).to.be.at.most(most)
    return text
  }

  it('at most 30 kB after a month of work', async () => {
    console = await startConsole({
      nameOf: () => PEOPLE,
      find: () => ['sam', 'robin'],
      ticketUrl: ({ ticketId }) => `https://tickets.example.com/${ticketId}`,
      title: 'Support at Example',
      home: '/',
      signOut: '/sign-out',
    })
    const reasons = [
      'Order A-1 is missing',
      'Cannot pay by card',
      'Invoice shows another VAT',
      'Parcel is lost',
    ]
    let id = ''
    for (let number = 0; number < 120; number += 1) {
      const at = now() - (number % 30) * 86_400
      const said = {
        userId: number % 3 ? 'alice' : 'bob',
        context: { ticketId: `T-47${number}`, reason: reasons[number % 4] ?? '' },
      }
      const use = by(number % 2 ? 'sam' : 'robin')
      const past = { id: earliestId(at).slice(0, 16) + String(number).padStart(16, '0'), createdAt: at }
      await console.keep({
        ...said,
        ...past,
        use: { ...use, at, accessToken: { format: 'jwt', expiresAt: at + 300 } },
      })
      if (number < 50) await console.keep({ ...said, use })
      if (number < 30) id = await console.keep({ ...said, use, replayedBy: 'other-app' })
    }
    for (const path of ['', '/history', '/history?userId=alice', '/alarms?show=replayed'])
      await expectSmall(path, ORDINARY, ROWS)
    await expectSmall('/search?q=team', ORDINARY, 10)
    for (const path of ['/alarms', `/${id}`]) await expectSmall(path, ORDINARY)
  })

  /** As many rows as a page has, of each kind, with every field at its longest. */
  async function fill(character: string) {
    console = await startConsole()
    const of = (length: number, start = '') =>
      start + character.repeat(Math.floor((length - start.length) / [...character].length))
    const person = { userId: of(LONGEST, 'u'), actorId: of(LONGEST, 'a') }
    const clientId = of(LONGEST, 'c')
    const granted = { resource: `https://${of(LONGEST - 8)}`, scope: of(LONGEST) }
    const use = {
      ...granted,
      clientId,
      actor: { sub: person.actorId, clientId },
      accessToken: { format: 'jwt', expiresAt: now() + 80_000 },
    } as const
    const context = { ticketId: of(LONGEST), reason: of(1_800) }
    const live = { ...person, ...granted, clientId, createdBy: of(LONGEST, 'b'), context, use }
    for (let number = 0; number < ROWS; number += 1) {
      const other = of(LONGEST, `${number}`)
      const revocation = { cause: 'api', client: clientId, by: other, reason: of(1_000) } as const
      await console.keep(live)
      await console.keep({ ...live, replayedBy: other })
      await console.keep({ ...live, use: { ...use, actor: undefined }, replayedBy: other, revocation })
      await console.keep({ ...live, context: { [other]: of(1_800) }, use: undefined, revocation })
    }
    return person
  }

  for (const [title, character] of Object.entries(CHARACTERS))
    it(`at most 75 kB of ${title}, of which a row shows 120`, async () => {
      const { userId, actorId } = await fill(character)
      const lists = ['', '/history', '/history?state=revoked']
      if (character === '界')
        expect(await expectSmall('/history', MOST, ROWS))
          .to.include('界'.repeat(120))
          .and.not.to.include('界'.repeat(121))
      for (const path of [...lists, '/alarms?show=replayed', '/alarms?show=withoutActor'])
        await expectSmall(path, MOST, ROWS)
      for (const path of ['/alarms', `/stop-all?${new URLSearchParams({ userId })}`])
        await expectSmall(path, MOST)
      await expectSmall(`/history?${new URLSearchParams({ userId })}`, MOST, ROWS)
      const first = await expectSmall(`/history?${new URLSearchParams({ actorId })}`, MOST, ROWS)
      const [, older = ''] = /href="\/impersonations([^"]*)" rel="next"/.exec(first) ?? []
      await expectSmall(older.replaceAll('&amp;', '&').replaceAll('&#39;', "'"), MOST, ROWS)
      const [, id = ''] = /<tr><th><a href="\/impersonations\/(\w{32})/.exec(first) ?? []
      await expectSmall(`/${id}`, MOST)
      const long = character.repeat(LONGEST)
      const found = Array.from({ length: 20 }, (_, number) => `${number}${long}`.slice(0, LONGEST))
      console.change({
        nameOf: (ids) => new Map(ids.map((id) => [id, { name: long, url: `https://people.example/${id}` }])),
        ticketUrl: () => `https://tickets.example.com/?${character.repeat(10)}`,
        find: () => found,
      })
      for (const path of lists) await expectSmall(path, MOST, ROWS)
      await expectSmall('/alarms', MOST)
      for (const userId of found.filter((id) => id.isWellFormed()))
        for (const actorId of [undefined, userId]) await console.keep({ userId, ...(actorId && { actorId }) })
      await expectSmall('/search?q=x', MOST)
    })

  it('as much for all of one record: no name, reason or address of it is cut', async () => {
    console = await startConsole()
    const nested = (depth: number): object => (depth === 0 ? Array(4000).fill(1) : { a: nested(depth - 1) })
    const name = 'm'.repeat(LONGEST)
    const use = { clientId: name, scope: name }
    const revocation = { cause: 'console', by: name, reason: 'm'.repeat(1_000) } as const
    const reason = 'm'.repeat(8_150)
    const long = await console.keep({ userId: name, context: { reason }, use, revocation })
    expect(await expectSmall(`/${long}`, MOST)).to.include(reason)
    const deep = await console.keep({ context: { nested: nested(13) } as never, use })
    expect((await expectSmall(`/${deep}`, MOST)).match(/1/g)).to.have.length.greaterThan(4000)
    const url = `https://tickets.example.com/${'x'.repeat(900)}`
    console.change({ ticketUrl: () => url })
    const context = { ticketId: 'T-1', reason: '"'.repeat(1_000), more: '"'.repeat(2_500) }
    const id = await console.keep({ userId: 'alice.archer@example.com', context })
    const text = await expectSmall(`/${id}`, MOST)
    expect(text).to.match(/<h1>.*<bdi>alice\.archer@example\.com<\/bdi><\/h1>/)
    expect(text).to.include(`<a href="${url}">T-1</a></bdi> <bdi>${'&quot;'.repeat(1_000)}</bdi>`)
  })
})
