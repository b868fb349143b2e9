/** The CSV on its way to the client: cut off where storage fails, and read no further than someone listens. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { type ConsoleDeployment, startConsole } from '../../../fixtures/console.ts'
import { type Database, openDatabase } from '../../../fixtures/databases.ts'
import type { SubjectTokenStore } from '../../../src/index.ts'
import { createSubjectTokenStore } from '../../../src/sequelize/index.ts'

describe('console: the CSV on its way', () => {
  let database: Database
  let console: ConsoleDeployment
  let pages = 0
  let onPage: (page: number) => unknown = () => undefined
  let left: Promise<unknown>
  /** As Koa 2: a response stays open whose source fails. */
  let isOld = false
  before(async () => {
    database = await openDatabase('sqlite')
    const list = async () => {
      pages += 1
      await onPage(pages)
      return { tokens: [], next: 'f'.repeat(32) }
    }
    const store: SubjectTokenStore = Object.create(createSubjectTokenStore(database.sequelize), {
      list: { value: list },
    })
    console = await startConsole(
      {},
      {
        database,
        options: { store },
        before: [
          async (ctx, next) => {
            left = once(ctx.res, 'close')
            await next()
            if (!isOld || !(ctx.body instanceof Readable)) return
            ctx.respond = false
            ctx.body.once('error', () => undefined).pipe(ctx.res)
          },
        ],
      },
    )
  })
  beforeEach(() => {
    pages = 0
  })
  after(async () => {
    await console.close()
    await database.close()
  })

  for (const [host, old] of [
    ['Koa 3', false],
    ['Koa 2', true],
  ] as const)
    it(`is cut off so that it shows when storage fails: ${host}`, async () => {
      isOld = old
      onPage = (page) => page === 3 && Promise.reject(new Error('private: the disk is gone'))
      const failure = await console.get('/history.csv').catch((error: Error) => error)
      expect(failure).to.be.instanceOf(TypeError)
      expect(console.errors.splice(0)).to.have.length(old ? 0 : 1)
    })

  it('reads no further once the client has left', async () => {
    isOld = false
    const leaving = new AbortController()
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
    for (let turn = 0; turn < 400; turn += 1) await setImmediate()
    expect(pages).to.be.within(5, 8)
  })
})
