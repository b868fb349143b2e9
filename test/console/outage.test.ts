/** Storage that is down is a 503 on every page, never an empty list, and a stop that failed is never shown as done. */
import { expect } from 'chai'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import type { SubjectTokenStore } from '../../src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

describe('console: when storage is down', () => {
  let database: Database
  let console: ConsoleDeployment
  let id: string
  let down: 'nothing' | 'everything' | 'numbers' | 'stops' = 'nothing'
  /** Numbers that are counted forever. */
  let isSlow = false
  const slowly = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) })
  before(async () => {
    database = await openDatabase('sqlite')
    const real = createSubjectTokenStore(database.sequelize)
    const store = new Proxy(real, {
      get(target, name) {
        const isDown = {
          nothing: /^$/,
          everything: /./,
          numbers: /^(countLive|summarize)$/,
          stops: /^revoke/,
        }[down]
        if (isDown.test(String(name))) throw new Error('private: the disk is gone')
        if (isSlow && name === 'summarize') return slowly
        return Reflect.get(target, name)
      },
    }) as SubjectTokenStore
    console = await startConsole({}, { database, options: { store } })
    id = await console.keep({ use: {} })
  })
  beforeEach(() => {
    down = 'nothing'
    console.errors.length = 0
  })
  after(async () => {
    await console.close()
    await database.close()
  })

  for (const path of ['', '/history', '/history.csv', '/alarms', '/stop-all?userId=alice', 'the record']) {
    it(`responds with 503 at ${path || 'Now'}`, async () => {
      down = 'everything'
      const response = await console.get(path === 'the record' ? `/${id}` : path)
      expect(response.status).to.equal(503)
      expect(response.headers.get('retry-after')).to.equal('5')
      expect(response.headers.get('content-security-policy')).to.match(/^default-src 'none'/)
      expect(response.text).to.include('Try again').and.not.to.include('private')
      expect(console.errors.length).to.be.greaterThan(0)
    })
  }

  for (const what of ['everything', 'stops'] as const) {
    it(`responds with 503 to a stop, and to a stop of all, when ${what} fails`, async () => {
      down = what
      expect((await console.post('/stop', { id, reason: 'x' })).status).to.equal(503)
      const all = { userId: 'alice', reason: 'x', confirm: 'alice' }
      expect((await console.post('/stop-all', all)).status).to.equal(503)
    })
  }

  it('shows who is viewed although nothing can be counted', async () => {
    down = 'numbers'
    const response = await console.get()
    expect(response.status).to.equal(200)
    expect(response.text).to.include(id).and.to.include('Counting …')
    expect(console.errors.length).to.be.greaterThan(0)
  })

  it('shows who is viewed without waiting for numbers that are still being counted', async () => {
    isSlow = true
    const response = await console.get()
    expect(response.status).to.equal(200)
    expect(response.text).to.include(id).and.to.include('Counting …').and.to.include('data-refresh="2"')
  })
})
