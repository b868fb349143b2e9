/** No text of anyone reaches a page as HTML, an address as a link that runs something, or a cell as a formula. */
import { expect } from 'chai'
import { tooLate } from '../../fixtures/clock.ts'
import { type ConsoleDeployment, DORA, startConsole } from '../../fixtures/console.ts'

const TAG = '<img src=x onerror=alert(1)>'
/** Also in attributes. */
const HOSTILE = `"'>${TAG}</script></title><!--`

/** Of the console, and of the pages of this package. */
const OWN = /^(\/impersonations([/?].*)?|#main|https:\/\/github\.com\/OWNER\/.*)$/

describe('console: what others wrote', () => {
  let console: ConsoleDeployment
  let id: string
  const administrator = { ...DORA, id: `dora${HOSTILE}` }
  before(async () => {
    console = await startConsole({ authorize: () => administrator })
    await console.keep({
      userId: `active${HOSTILE}`,
      actorId: `sam${HOSTILE}`,
      context: { [HOSTILE]: HOSTILE },
    })
    id = await console.keep({
      userId: `alice${HOSTILE}`,
      actorId: `sam${HOSTILE}`,
      clientId: `app${HOSTILE}`,
      createdBy: `backend${HOSTILE}`,
      resource: `https://api.example.com/${HOSTILE}`,
      scope: `scope${HOSTILE}`,
      context: { ticketId: `T-1${HOSTILE}`, reason: `reason${HOSTILE}`, [`member${HOSTILE}`]: HOSTILE },
      use: {
        clientId: `app${HOSTILE}`,
        actor: { sub: `sam${HOSTILE}`, clientId: `desk${HOSTILE}`, act: { sub: `robin${HOSTILE}` } },
        resource: `https://api.example.com/${HOSTILE}`,
        scope: `scope${HOSTILE}`,
        accessToken: { format: 'jwt', expiresAt: Math.floor(Date.now() / 1000) + 600 },
      },
      replayedBy: `other${HOSTILE}`,
      acknowledgement: { by: `finder${HOSTILE}`, note: `note${HOSTILE}` },
    })
    await console.keep({
      createdBy: `backend${HOSTILE}`,
      use: {},
      revocation: { cause: 'console', by: `by${HOSTILE}`, reason: `why${HOSTILE}` },
    })
    await console.keep({
      use: {},
      revocation: { cause: 'api', client: `client${HOSTILE}`, by: `by${HOSTILE}`, reason: `why${HOSTILE}` },
    })
  })
  beforeEach(() => console.change({}))
  after(() => console.close())

  /** Every page, with hostile input where it takes some. */
  const pages = async (): Promise<Record<string, string>> => {
    const typed = encodeURIComponent(HOSTILE)
    const paths = [
      '',
      '/history',
      `/history?userId=${typed}&from=${typed}&state=${typed}`,
      '/alarms',
      '/alarms?show=replayed',
      '/alarms?show=withoutActor',
      `/search?q=${typed}`,
      `/search?q=alice${typed}`,
      `/stop-all?createdBy=${typed}`,
      `/stop-all?createdBy=backend${typed}&stopped=0`,
      `/${id}`,
      `/stop-all?userId=${typed}`,
      '/stop-all?userId=',
      `/${typed}`,
      `/alarms?show=${typed}`,
      `/history?${typed}=1`,
    ]
    const texts: Record<string, string> = {}
    for (const path of paths) texts[path] = (await console.get(path)).text
    texts['POST /stop'] = (
      await console.post('/stop', { id: await console.keep({ use: {} }), reason: ` ${HOSTILE}`.repeat(30) })
    ).text
    texts['POST /stop-all'] = (
      await console.post('/stop-all', { userId: HOSTILE, reason: HOSTILE, confirm: `x${HOSTILE}` })
    ).text
    texts['POST /acknowledge'] = (
      await console.post('/acknowledge', { id, replayedAt: HOSTILE, note: HOSTILE })
    ).text
    return texts
  }
  const expectHarmless = (texts: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(texts)) {
      expect(text, path).not.to.include('<img')
      expect(text.match(/<script/g) ?? [], path).to.have.length.at.most(1)
      expect(text.match(/<!--/g), path).to.equal(null)
      // Attributes: a quote would have ended one before the tag.
      expect(text, path).not.to.match(/"'>/)
    }
  }

  it('is escaped in every field of every page', async () => {
    const texts = await pages()
    expectHarmless(texts)
    for (const path of ['', '/history', `/${id}`, 'POST /stop-all', 'POST /stop'])
      expect(texts[path], path).to.include('&lt;img')
    for (const field of [
      'alice',
      'sam',
      'robin',
      'app',
      'backend',
      'desk',
      'finder',
      'note',
      'other',
      'reason',
      'member',
      'T-1',
      'scope',
    ])
      expect(texts[`/${id}`], field).to.match(new RegExp(`${field}\\\\?&quot;&#39;|${field}\\\\&quot;`))
  })

  it('is escaped in names and addresses of the deployment', async () => {
    const hostile = { name: `Alice${HOSTILE}`, url: `https://people.example.com/${HOSTILE}` }
    console.change({
      nameOf: (ids) => new Map(ids.map((one) => [one, hostile])),
      ticketUrl: () => `https://tickets.example.com/${HOSTILE}`,
    })
    const texts = await pages()
    expectHarmless(texts)
    expect(texts[`/${id}`])
      .to.include('Alice&quot;')
      .and.to.include('href="https://people.example.com/&quot;')
  })

  for (const url of [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'JAVASCRIPT:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '//evil.example',
    '/relative',
    'ftp://x',
    'https://',
    '',
    undefined,
    null,
    7,
    {},
    Promise.resolve('https://x.example'),
  ]) {
    it(`makes no link of ${typeof url === 'string' ? JSON.stringify(url) : String(url)}`, async () => {
      console.change({
        nameOf: (ids) => new Map(ids.map((one) => [one, { name: 'Some One', url: url as string }])),
        ticketUrl: () => url as string,
      })
      for (const path of [`/${id}`, '/history']) {
        const { text, status } = await console.get(path)
        expect(status).to.equal(200)
        expect(text).to.include('T-1&quot;')
        const links = [...text.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, link]) => link)
        expect(links.filter((link) => !OWN.test(link ?? ''))).to.deep.equal([])
      }
    })
  }

  it('makes a link of an http or https address', async () => {
    console.change({
      ticketUrl: ({ ticketId }) => `https://tickets.example.com/${encodeURIComponent(String(ticketId))}`,
    })
    expect((await console.get(`/${id}`)).text).to.include('href="https://tickets.example.com/T-1')
  })

  it('survives a ticketUrl that throws', async () => {
    console.change({
      ticketUrl() {
        throw new Error('private')
      },
    })
    expect((await console.get(`/${id}`)).status).to.equal(200)
  })

  it('makes no link when ticketUrl rejects, and goes on', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => void unhandled.push(error)
    process.on('unhandledRejection', note)
    try {
      console.change({ ticketUrl: (async () => Promise.reject(new Error('private'))) as never })
      expect((await console.get(`/${id}`)).status).to.equal(200)
      await new Promise((resolve) => setImmediate(resolve))
    } finally {
      process.off('unhandledRejection', note)
    }
    expect(unhandled).to.deep.equal([])
  })

  for (const [title, nameOf] of Object.entries({
    throws: () => {
      throw new Error('private: no directory')
    },
    rejects: () => Promise.reject(new Error('private: no directory')),
    'returns an object': () => ({ alice: 'Alice' }) as never,
    'returns nothing': () => undefined as never,
    'takes over a second': () => tooLate(1),
  })) {
    it(`shows ids when nameOf ${title}`, async () => {
      console.errors.length = 0
      console.change({ nameOf })
      const { status, text } = await console.get(`/${id}`)
      expect(status).to.equal(200)
      expect(text).to.include('alice&quot;').and.not.to.include('private')
      expect(console.errors).to.have.length(1)
      if (title.startsWith('returns'))
        expect(String(console.errors[0])).to.equal('TypeError: nameOf must return a Map')
    })
  }

  for (const name of [
    7,
    null,
    [7],
    '',
    ' \n',
    { name: 7 },
    { name: ' ' },
    { url: 'https://people.example' },
  ]) {
    it(`shows an id for ${JSON.stringify(name)} instead of a name`, async () => {
      console.change({ nameOf: (ids) => new Map(ids.map((one) => [one, name])) as never })
      const { status, text } = await console.get(`/${id}`)
      expect(status).to.equal(200)
      expect(text).to.include('<bdi>alice&quot;')
    })
  }

  it('asks nameOf once for a page, for each person once', async () => {
    const calls: (readonly string[])[] = []
    console.change({
      nameOf(ids) {
        calls.push(ids)
        return new Map([['alice', 'Alice Archer']])
      },
    })
    const { text } = await console.get('/history')
    expect(calls).to.have.length(1)
    expect(calls[0]).to.deep.equal([...new Set(calls[0])])
    expect(calls[0]).to.include.members(['alice', administrator.id, `sam${HOSTILE}`, `by${HOSTILE}`])
    expect(text).to.include('Alice Archer')
  })
})

describe('console: text that turns the direction of writing', () => {
  const TURNED = '\u202eevil'
  let console: ConsoleDeployment
  let id: string
  before(async () => {
    console = await startConsole()
    id = await console.keep({
      userId: 'alice',
      clientId: TURNED,
      createdBy: TURNED,
      resource: `https://${TURNED}`,
      context: { ticketId: TURNED, reason: TURNED },
      use: { clientId: TURNED, accessToken: { format: 'jwt', expiresAt: 9_999_999_999 } },
      replayedBy: TURNED,
      acknowledgement: { by: 'dora', note: TURNED },
      revocation: { cause: 'api', client: TURNED, by: 'dora', reason: TURNED },
    })
    await console.keep({ userId: 'alice', scope: TURNED, clientId: TURNED, context: { other: TURNED } })
    await console.keep({ userId: 'alice', use: {}, replayedBy: TURNED, revocation: { cause: 'replay' } })
  })
  after(() => console.close())

  for (const page of ['now', 'history', 'alarms', 'record']) {
    it(`is kept apart from the text around it: ${page}`, async () => {
      const path = { now: '', history: '/history', alarms: '/alarms' }[page] ?? `/${id}`
      const { text } = await console.get(path)
      const all = text.split(TURNED).length - 1
      if (page !== 'now') expect(all).to.be.greaterThan(0)
      // The style sheet isolates `code` and `pre` as browsers do `bdi`. What fills a cell ends with it.
      expect(text)
        .to.include('code,pre{unicode-bidi:isolate;')
        .and.to.include('.records td{unicode-bidi:plaintext}')
      const apart = text.match(/<(bdi|pre|code)>[^<“]*<\/\1>|<td>(<a [^>]*>)?[^<]*|aria-label="[^"]*"/g) ?? []
      expect(apart.join('').split(TURNED).length - 1).to.equal(all)
    })
  }
})
