/** A page of 25 rows has at most 30 kB, whatever the texts in it consist of. */
import { expect } from 'chai'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'

const ROWS = 25
const MOST = 30_000
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
    if (!path.startsWith('/stop-all')) expect(text.match(/<tr><th><a/g), path).to.have.length(ROWS)
    expect(Buffer.byteLength(text), path).to.be.at.most(MOST)
    return text
  }

  for (const [title, character] of Object.entries(CHARACTERS)) {
    it(`have at most 30 kB of ${title}`, async () => {
      const { userId, actorId } = await fill(character)
      // The numbers are counted meanwhile.
      await console.get()
      for (const path of ['', '/alarms', '/alarms?show=withoutActor', '/history', '/history?state=revoked'])
        await expectSmall(path)
      for (const path of ['/history', '/stop-all'])
        await expectSmall(`${path}?${new URLSearchParams({ userId })}`)
      const first = await expectSmall(`/history?${new URLSearchParams({ actorId })}`)
      const [, older = ''] = /href="\/impersonations([^"]*)" rel="next"/.exec(first) ?? []
      await expectSmall(older.replaceAll('&amp;', '&').replaceAll('&#39;', "'"))
      const long = character.repeat(LONGEST)
      console.change({
        nameOf: (ids) => new Map(ids.map((id) => [id, { name: long, url: `https://people.example/${id}` }])),
        ticketUrl: () => `https://tickets.example.com/?${character.repeat(10)}`,
      })
      for (const path of ['', '/history', '/history?state=revoked']) await expectSmall(path)
    })
  }

  it('have at most 30 kB of a record whose texts are shown whole', async () => {
    await fill('m')
    const [id = ''] = /[0-9a-f]{32}/.exec(await expectSmall('/history?state=revoked')) ?? []
    const nested = (depth: number): object => (depth === 0 ? Array(4000).fill(1) : { a: nested(depth - 1) })
    const use = { clientId: 'm'.repeat(LONGEST), scope: 'm'.repeat(LONGEST) }
    const revocation = { cause: 'console', by: 'm'.repeat(LONGEST), reason: 'm'.repeat(1_000) } as const
    const reason = 'm'.repeat(8_150)
    const long = await console.keep({ userId: 'm'.repeat(LONGEST), context: { reason }, use, revocation })
    const deep = await console.keep({ context: { nested: nested(13) } as never, use })
    for (const record of [id, long, deep]) {
      const { text } = await console.get(`/${record}`)
      expect(Buffer.byteLength(text)).to.be.at.most(MOST)
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
    expect(Buffer.byteLength(text)).to.be.above(MOST)
    expect(text).to.match(/<h1>.*<bdi>alice\.archer@example\.com<\/bdi><\/h1>/)
    expect(text).to.include(`<a href="${url}">T-1</a> <bdi>${'&quot;'.repeat(1_000)}</bdi>`)
  })

  it('show 120 Latin characters of a text all the same', async () => {
    await fill('m')
    expect(await expectSmall('/history')).to.include('m'.repeat(120))
  })

  it('show more of texts of few bytes than of many', async () => {
    await fill('界')
    const text = await expectSmall('/history')
    expect(text).to.include('界'.repeat(20)).and.not.to.include('界'.repeat(120))
  })
})
