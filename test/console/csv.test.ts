/** The CSV of the history: every row whole, and no cell that a spreadsheet takes for a formula. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import type { Middleware } from 'koa'
import { stopClock } from '../../fixtures/clock.ts'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import { openDatabase } from '../../fixtures/databases.ts'
import type { SubjectTokenStore } from '../../src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

/** RFC 4180, with quotes around every cell. */
const cellsOf = (line: string): string[] =>
  [...line.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map(([, cell = '']) => cell.replaceAll('""', '"'))

const rowsOf = (text: string): Record<string, string>[] => {
  const [head = '', ...lines] = text.trimEnd().split('\r\n')
  const names = cellsOf(head)
  return lines.map((line) => Object.fromEntries(cellsOf(line).map((cell, column) => [names[column], cell])))
}

describe('console: CSV', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
  })
  after(() => console.close())

  it('has the columns of the history, whole', async () => {
    const reason = `${'long '.repeat(50)}"quoted", and; more`
    const id = await console.keep({
      userId: 'alice',
      context: { ticketId: 'T-1', reason },
      use: { clientId: 'desk', actor: { sub: 'sam' }, scope: 'orders:read' },
      revocation: { cause: 'console', by: 'dora', reason: 'wrong customer' },
    })
    const response = await console.get('/history.csv?userId=alice')
    expect(response.headers.get('content-type')).to.equal('text/csv; charset=utf-8')
    expect(response.headers.get('content-disposition')).to.match(
      /^attachment; filename="impersonations-\d{4}-\d\d-\d\d\.csv"$/,
    )
    const [row] = rowsOf(response.text)
    expect(row).to.include({
      engineer: 'sam',
      user: 'alice',
      application: 'desk',
      backend: 'backend',
      ticket: 'T-1',
      reason,
      scope: 'orders:read',
      resource: 'https://api.example.com',
      state: 'stopped',
      'lasted (s)': '0',
      'stopped by': 'dora',
      'stopped because': 'wrong customer',
      jti: id,
      record: id,
    })
    expect(row?.started).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  })

  it('says when, and leaves blank what there is not', async () => {
    const clock = stopClock()
    try {
      const iso = (seconds = 0) => new Date(Date.now() + seconds * 1000).toISOString().replace('.000', '')
      const started = iso()
      const unused = await console.keep({ userId: 'bob' })
      clock.tick(10)
      const use = {
        accessToken: { format: 'opaque', expiresAt: Math.floor(Date.now() / 1000) + 100 },
      } as const
      const live = await console.keep({ userId: 'bob', use })
      const exchanged = iso()
      const replayed = await console.keep({ userId: 'bob', use, replayedBy: 'thief' })
      const { text } = await console.get('/history.csv?userId=bob')
      const none = { 'lasted (s)': '', 'continued by': '', 'looked into': '' }
      const blank = {
        ...none,
        engineer: '',
        ticket: '',
        reason: '',
        scope: '',
        resource: '',
        jti: '',
        stopped: '',
      }
      const other = { ...blank, 'used again': '', 'stopped by': '', 'stopped because': '' }
      const bob = { ...other, user: 'bob', backend: 'backend' }
      const ofUse = {
        ...bob,
        'lasted (s)': '0',
        application: 'spa',
        resource: 'https://api.example.com',
        started: exchanged,
        exchanged,
        until: iso(100),
      }
      const stop = { 'used again': exchanged, stopped: exchanged, 'stopped because': 'replay' }
      expect(rowsOf(text)).to.deep.equal([
        { ...ofUse, ...stop, state: 'used again', record: replayed },
        { ...ofUse, state: 'live', record: live },
        {
          ...bob,
          application: '',
          started,
          state: 'not used yet',
          exchanged: '',
          until: iso(590),
          record: unused,
        },
      ])
      expect(text).to.match(/^(("[^"\r\n]*",){20}"[^"\r\n]*"\r\n){4}$/)
    } finally {
      clock.restore()
    }
  })

  for (const [title, text, cell] of [
    ['=', '=1+1', "'=1+1"],
    ['+', '+1', "'+1"],
    ['-', '-1', "'-1"],
    ['@', '@SUM(1)', "'@SUM(1)"],
    ['a space before', '  =1+1', "  '=1+1"],
    ['a tab before', '\t=1+1', " '=1+1"],
    ['a control character before', '\u0001=1+1', " '=1+1"],
    ['a line break before', '\r\n=1+1', "  '=1+1"],
    ['a line break within', 'x\n=1+1', 'x =1+1'],
    ['a no-break space before', '\u00a0=1+1', "\u00a0'=1+1"],
    ['a mark of the byte order before', '\ufeff=1+1', "\ufeff'=1+1"],
    ['a wide sign', '\uff1d1+1', "'\uff1d1+1"],
    ['a semicolon, which separates cells in other places', 'x;=1+1', "x;'=1+1"],
    ['quotes and commas', '",=1+1,"', '",=1+1,"'],
    ['a quote before', '"=1+1"', `"'=1+1"`],
    ['a quote after a semicolon', ';"=HYPERLINK("x");', `;"'=HYPERLINK("x");`],
    ['an end of line of Unicode', 'x\u2028=1+1', 'x =1+1'],
  ] as const) {
    it(`keeps a cell from being a formula: ${title}`, async () => {
      const id = await console.keep({ userId: `${title}`, createdBy: text, context: { reason: `${text} ` } })
      const { text: csv } = await console.get('/history.csv')
      const row = rowsOf(csv).find(({ record }) => record === id)
      expect(row?.backend).to.equal(cell)
      expect(row?.reason).to.equal(`${cell} `)
    })
  }

  it('keeps e-mail addresses and negative words as they are', async () => {
    const id = await console.keep({ userId: 'alice@example.com', createdBy: 'a-b;c' })
    const row = rowsOf((await console.get('/history.csv')).text).find(({ record }) => record === id)
    expect(row).to.include({ user: 'alice@example.com', backend: 'a-b;c' })
  })
})

describe('console: a long CSV', () => {
  let console: ConsoleDeployment
  let store: SubjectTokenStore
  let pages = 0
  let failAt = Number.POSITIVE_INFINITY
  let rows = 100
  let isOld = false
  before(async () => {
    const database = await openDatabase('sqlite')
    store = createSubjectTokenStore(database.sequelize)
    const counted: SubjectTokenStore = Object.create(store, {
      list: {
        value: async (...args: Parameters<SubjectTokenStore['list']>) => {
          pages += 1
          if (pages >= failAt) throw new Error('private: the disk is gone')
          const page = await store.list(...args)
          // Without end.
          return {
            tokens: page.tokens.slice(0, 1).flatMap((token) => Array(rows).fill(token)),
            next: token(page.tokens[0]),
          }
        },
      },
    })
    const old: Middleware = async (ctx, next) => {
      await next()
      if (!isOld || !(ctx.body instanceof Readable)) return
      ctx.respond = false
      ctx.body.once('error', () => undefined).pipe(ctx.res)
    }
    console = await startConsole({}, { database, options: { store: counted }, before: [old] })
    await console.keep()
  })
  beforeEach(() => {
    pages = 0
    failAt = Number.POSITIVE_INFINITY
    rows = 100
    isOld = false
  })
  after(async () => {
    await console.close()
    await console.database.close()
  })
  const token = (first: { readonly id: string } | undefined) => first && 'f'.repeat(32)

  it('ends after 10,000 rows', async () => {
    const { text } = await console.get('/history.csv')
    expect(rowsOf(text)).to.have.length(10_000)
    expect(pages).to.equal(100)
  }).timeout(60_000)

  it('ends after 10,000 rows in the midst of a page', async () => {
    rows = 99
    const { text } = await console.get('/history.csv')
    expect(rowsOf(text)).to.have.length(10_000)
    expect(pages).to.equal(102)
  }).timeout(60_000)

  it('is a 503 when storage is down', async () => {
    failAt = 1
    const response = await console.get('/history.csv')
    expect(response.status).to.equal(503)
    expect(response.headers.get('retry-after')).to.equal('5')
    expect(response.headers.get('content-type')).to.match(/html/)
    expect(response.text).not.to.include('private')
  })

  it('is cut off so that it shows when storage fails on the way', async () => {
    failAt = 3
    const failure = await console.get('/history.csv').catch((error: Error) => error)
    expect(failure).to.be.instanceOf(TypeError)
    expect(console.errors.length).to.be.greaterThan(0)
  })

  it('is cut off where the host leaves a response open whose source fails, as Koa 2 does', async () => {
    failAt = 3
    isOld = true
    const failure = await console.get('/history.csv').catch((error: Error) => error)
    expect(failure).to.be.instanceOf(TypeError)
  })
})

describe('console: a list of which storage finds nothing, page after page', () => {
  let console: ConsoleDeployment
  let store: SubjectTokenStore
  let pages = 0
  let onPage: (page: number) => unknown = () => undefined
  let left: Promise<unknown>
  before(async () => {
    const database = await openDatabase('sqlite')
    store = Object.create(createSubjectTokenStore(database.sequelize), {
      list: {
        value: async () => {
          pages += 1
          await onPage(pages)
          return { tokens: [], next: 'f'.repeat(32) }
        },
      },
    })
    console = await startConsole(
      {},
      {
        database,
        options: { store },
        before: [
          (ctx, next) => {
            left = once(ctx.res, 'close')
            return next()
          },
        ],
      },
    )
  })
  beforeEach(() => {
    pages = 0
    onPage = () => undefined
  })
  after(async () => {
    await console.close()
    await console.database.close()
  })

  it('ends after 1,000 pages', async () => {
    // Without a limit it would never end.
    onPage = (page) => page > 1_000 && Promise.reject(new Error('one page too many'))
    expect(rowsOf((await console.get('/history.csv?state=active')).text)).to.have.length(0)
    expect(pages).to.equal(1_000)
  })

  it('is counted before a kill switch in two requests for each kind, and the page says that there may be more', async () => {
    expect((await console.get('/stop-all?userId=alice')).text).to.include(
      '<strong>at least 0 impersonations</strong>',
    )
    // And one for the number of alarms.
    expect(pages).to.equal(5)
  })

  it('reads no further once the client has left', async () => {
    const leaving = new AbortController()
    const turns = async (count: number) => {
      for (let turn = 0; turn < count; turn += 1) await setImmediate()
    }
    onPage = async (page) => {
      if (page === 5) {
        leaving.abort()
        await left
      }
      await setImmediate()
    }
    const request = fetch(`${console.url}/history.csv`, { signal: leaving.signal })
    await request.then((response) => response.text()).catch(() => undefined)
    await left
    await turns(400)
    expect(pages).to.be.within(5, 8)
  })
})
