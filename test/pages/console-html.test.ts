/** The HTML of the console: no text of anyone is part of it, no secret is in it, and what it says of times and numbers. */
import { expect } from 'chai'
import { now, type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import { type ConsoleDeployment, DORA, startConsole } from '../../fixtures/console.ts'
import { peopleFor } from '../../packages/console/src/people.ts'
import { stateCell } from '../../packages/console/src/state.ts'
import { countOf, lengthOf, sentenceOf, shorten, timeOf } from '../../packages/console/src/words.ts'
import type { SubjectTokenRecord } from '../../src/records/record.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

/** Also in attributes. */
const HOSTILE = `"'><img src=x onerror=alert(1)></script></title><!--`

describe('console: what others wrote', () => {
  let console: ConsoleDeployment
  let id: string
  before(async () => {
    console = await startConsole({ authorize: () => ({ ...DORA, id: `dora${HOSTILE}` }) })
    const hostile = (name: string) => name + HOSTILE
    const people = { userId: hostile('alice'), actorId: hostile('sam'), clientId: hostile('app') }
    const granted = { resource: hostile('https://api.example.com/'), scope: hostile('scope') }
    const act = { sub: hostile('robin') }
    await console.keep({ ...people, context: { [HOSTILE]: HOSTILE } })
    id = await console.keep({
      ...people,
      ...granted,
      createdBy: hostile('backend'),
      context: { ticketId: hostile('T-1'), reason: hostile('reason'), [hostile('member')]: HOSTILE },
      use: {
        ...granted,
        clientId: people.clientId,
        actor: { sub: people.actorId, clientId: hostile('desk'), act },
      },
      replayedBy: hostile('other'),
      acknowledgement: { by: hostile('finder'), note: hostile('note') },
    })
    const revocation = { client: hostile('client'), by: hostile('by'), reason: hostile('why') }
    for (const cause of ['console', 'api'] as const)
      await console.keep({ createdBy: hostile('backend'), use: {}, revocation: { cause, ...revocation } })
  })
  after(() => console.close())

  /** Every page, with hostile input where it takes some. */
  async function pages(): Promise<Map<string, string>> {
    const typed = encodeURIComponent(HOSTILE)
    const texts = new Map<string, string>()
    for (const path of [
      ...['', '/history', '/alarms', '/alarms?show=replayed', '/alarms?show=withoutActor', `/${id}`],
      ...[`/history?userId=${typed}&from=${typed}&state=${typed}`, `/history?${typed}=1`, `/${typed}`],
      ...[`/search?q=${typed}`, `/search?q=alice${typed}`, `/alarms?show=${typed}`, '/stop-all?userId='],
      ...[`/stop-all?createdBy=${typed}`, `/stop-all?createdBy=backend${typed}&stopped=0`],
      `/stop-all?userId=${typed}`,
    ])
      texts.set(path, (await console.get(path)).text)
    const live = await console.keep({ use: {} })
    for (const [path, fields] of Object.entries({
      '/stop': { id: live, reason: ` ${HOSTILE}`.repeat(30) },
      '/stop-all': { userId: HOSTILE, reason: HOSTILE, confirm: `x${HOSTILE}` },
      '/acknowledge': { id, replayedAt: HOSTILE, note: HOSTILE },
    }))
      texts.set(`POST ${path}`, (await console.post(path, fields)).text)
    for (const [path, text] of texts) {
      expect(text, path).not.to.include('<img')
      expect(text.match(/<script/g) ?? [], path).to.have.length.at.most(1)
      // Attributes: a quote would have ended one before the tag.
      expect(text, path).not.to.match(/<!--|"'>/)
    }
    return texts
  }

  it('is escaped in every field of every page', async () => {
    const texts = await pages()
    for (const path of ['', '/history', `/${id}`, 'POST /stop-all', 'POST /stop'])
      expect(texts.get(path), path).to.include('&lt;img')
    for (const field of [
      ...['alice', 'sam', 'robin', 'app', 'backend', 'desk', 'finder', 'note', 'other', 'reason', 'member'],
      ...['T-1', 'scope'],
    ])
      expect(texts.get(`/${id}`), field).to.match(new RegExp(`${field}\\\\?&quot;&#39;|${field}\\\\&quot;`))
  })

  it('is escaped in names and addresses of the deployment, and neither a subject token nor its hash is on a page', async () => {
    const hostile = { name: `Alice${HOSTILE}`, url: `https://people.example.com/${HOSTILE}` }
    console.change({
      nameOf: (ids) => new Map(ids.map((one) => [one, hostile])),
      ticketUrl: () => `https://tickets.example.com/${HOSTILE}`,
    })
    const texts = await pages()
    console.change({})
    for (const text of [
      'Alice&quot;',
      'href="https://people.example.com/&quot;',
      'href="https://tickets.example.com/&quot;',
    ])
      expect(texts.get(`/${id}`)).to.include(text)
    const store = createSubjectTokenStore(console.database.sequelize)
    const hash = (await store.find(console.issuer, id))?.tokenHash
    expect(hash).to.have.length(43)
    for (const [path, text] of texts) expect(text, path).not.to.include(hash).and.not.to.include('sub_')
  })

  it('keeps its direction of writing to itself', async () => {
    const turned = '\u202eevil'
    const person = { userId: 'bob', clientId: turned, createdBy: turned }
    const revocation = { cause: 'api', client: turned, by: 'dora', reason: turned } as const
    const record = await console.keep({
      ...person,
      resource: `https://${turned}`,
      context: { ticketId: turned, reason: turned },
      use: { clientId: turned },
      replayedBy: turned,
      acknowledgement: { by: 'dora', note: turned },
      revocation,
    })
    await console.keep({ ...person, scope: turned, context: { other: turned } })
    await console.keep({ userId: 'bob', use: {}, replayedBy: turned, revocation: { cause: 'replay' } })
    for (const path of ['/history?userId=bob', '/alarms', `/${record}`]) {
      const { text } = await console.get(path)
      const all = text.split(turned).length - 1
      expect(all, path).to.be.greaterThan(0)
      // The style sheet isolates `code` and `pre` as browsers do `bdi`. What fills a cell ends with it.
      expect(text).to.include('code,pre{unicode-bidi:isolate;')
      expect(text).to.include('.records td{unicode-bidi:plaintext}')
      const apart = text.match(/<(bdi|pre|code)>[^<“]*<\/\1>|<td>(<a [^>]*>)?[^<]*|aria-label="[^"]*"/g) ?? []
      expect(apart.join('').split(turned).length - 1, path).to.equal(all)
    }
  })
})

const DAY = 86_400

describe('console: the numbers of Now', () => {
  let clock: StoppedClock
  let console: ConsoleDeployment
  before(async () => {
    const noon = Math.floor(Date.now() / 1000 / DAY) * DAY + DAY / 2
    // The day before yesterday: ids are not of the future.
    clock = stopClock((noon - 2 * DAY) * 1000)
    console = await startConsole()
  })
  after(async () => {
    await console.close()
    clock.restore()
  })

  /** What Now says once it has counted: its cards and the last two rows of its table. */
  async function numbers(): Promise<object> {
    // Counts are kept for a minute.
    clock.tick(61)
    const time = `Counted at most a minute before <time datetime="${new Date(now() * 1000).toISOString().slice(0, 19)}Z"`
    let text = ''
    while (!text.includes(time)) ({ text } = await console.get())
    const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found)
    expect(text).to.include('<th>Issued<th>Used<th>No engineer<th>Ended<th>Stopped<th>Reused token')
    expect(all(/<tr><th>(\d\d-\d\d)<td>/g)).to.have.length(30)
    return {
      cards: all(/<b>(\d+)<\/b>/g),
      warned: all(/Reused token\.<\/strong> A spent subject token for <bdi>(\w+)<\/bdi> .* by <code>thief/g),
      rows: all(/<tr><th>\d\d-\d\d((?:<td>\d+)+)/g)
        .slice(0, 2)
        .map((cells) => cells.replaceAll('<td>', ' ')),
    }
  }

  it('are those of each day: ends are kept apart from stops, and what was used again is counted and warned of', async () => {
    const used = { userId: 'dave', use: { actor: { sub: 'sam' } } }
    await console.keep(used)
    clock.tick(DAY)
    for (let number = 0; number < 4; number += 1) await console.keep()
    expect(await numbers()).to.deep.equal({
      cards: ['0', '4', '0', '0'],
      warned: [],
      rows: [' 4 0 0 0 0 0', ' 1 1 0 0 0 0'],
    })
    await console.keep({ ...used, replayedBy: 'thief' })
    for (const cause of ['self', 'continued', 'console'] as const)
      await console.keep({ ...used, revocation: { cause } })
    expect(await numbers()).to.deep.equal({
      cards: ['0', '8', '1', '0'],
      warned: ['dave'],
      rows: [' 8 4 0 2 2 1', ' 1 1 0 0 0 0'],
    })
  })
})

const CHANGES = ' <b class="changes">Can change things</b>'

describe('console: words', () => {
  const NOW = Date.UTC(2026, 10, 21, 20, 10, 48) / 1000

  it('of lengths, times, counts and texts that are cut between characters', () => {
    expect([-1, 0, 59, 184, 600, 3_599, 3_784, 86_400].map(lengthOf)).to.deep.equal([
      '0:00',
      '0:00',
      '0:59',
      '3:04',
      '10:00',
      '59:59',
      '1:03:04',
      '24:00:00',
    ])
    expect([60, 86_400].map((ago) => String(timeOf(NOW - ago, NOW)))).to.deep.equal([
      '<time datetime="2026-11-21T20:09:48Z">20:09:48</time>',
      '<time datetime="2026-11-20T20:10:48Z">2026-11-20 20:10:48</time>',
    ])
    expect([0, 1, 2].map((count) => countOf(count, 'record'))).to.deep.equal([
      '0 records',
      '1 record',
      '2 records',
    ])
    expect(['🎫🎫🎫', '🎫🎫🎫🎫'].map((text) => shorten(text, 3))).to.deep.equal(['🎫🎫🎫', '🎫🎫🎫…'])
  })

  it('of errors: members have the names of the pages, and what is unknown stays as it was sent', () => {
    for (const [message, field, told] of [
      ['userId must not be repeated', 'userId', 'User must not be repeated.'],
      ['actorId must not come with userId', 'actorId', 'Engineer must not come with user.'],
      ['requestId must not be repeated', 'requestId', 'RequestId must not be repeated.'],
      ['unknown parameter: userId', 'userId', 'Unknown parameter: userId.'],
      ['constructor must be', 'constructor', 'Constructor must be.'],
    ] as const)
      expect(sentenceOf({ message, field })).to.equal(told)
  })

  it('of what was used again, whatever has stopped it, and also where nothing has', async () => {
    const people = await peopleFor([], {}, () => undefined)
    const record: SubjectTokenRecord = {
      id: '0'.repeat(32),
      userId: 'alice',
      context: {},
      createdBy: 'backend',
      createdAt: NOW - 540,
      expiresAt: NOW + 60,
      state: 'consumed',
      consumedAt: NOW - 120,
      accessToken: { format: 'jwt', expiresAt: NOW + 184 },
      replay: { at: NOW - 60, clientId: 'thief' },
    }
    const cell = (changes: object) => String(stateCell({ ...record, ...changes }, NOW, people))
    expect(cell({})).to.equal(
      `<b class="pill alarm">Reused token</b> <small data-until="${NOW + 184}">3:04</small>${CHANGES}`,
    )
    const revocation = { cause: 'console', by: 'dora', reason: 'wrong customer' }
    expect(cell({ state: 'revoked', revokedAt: NOW - 60, revocation })).to.equal(
      `<b class="pill alarm">Reused token</b> <small>1:00</small>${CHANGES}`,
    )
  })
})
