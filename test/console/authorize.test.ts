/** `authorize` is asked for every request, and trusted for nothing but what it returns. */
import { expect } from 'chai'
import { tooLate } from '../../fixtures/clock.ts'
import { type ConsoleDeployment, DORA, startConsole } from '../../fixtures/console.ts'
import { show } from '../../fixtures/management.ts'
import type { ConsoleOptions, ConsoleRight } from '../../src/console/index.ts'

describe('console: authorize', () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole()
  })
  beforeEach(() => {
    console.errors.length = 0
  })
  after(() => console.close())

  const status = async (authorize: unknown): Promise<number> => {
    console.change({ authorize: authorize as ConsoleOptions['authorize'] })
    return (await console.get()).status
  }

  it('refuses when it returns nothing, at once or later', async () => {
    for (const nothing of [undefined, null, false]) {
      expect(await status(() => nothing)).to.equal(403)
      expect(await status(async () => nothing)).to.equal(403)
    }
    expect(console.errors).to.deep.equal([])
  })

  it('says in one sentence why it refuses', async () => {
    console.change({ authorize: () => undefined })
    expect((await console.get()).text).to.include('<p>You may not see this console.</p>')
    console.change({ authorize: () => ({ id: 'dora', can: ['see'] }) })
    const foreign = await console.post('/stop', {}, { 'sec-fetch-site': 'cross-site' })
    const { text } = await console.post('/stop', {})
    expect(text).to.include('<p>You may not stop impersonations.</p>')
    expect(foreign.text).to.match(/<p>[^<.]+\.<\/p>/)
  })

  it('speaks of a stop only to those who may stop one and see nothing', async () => {
    const refusal = async (can: readonly ConsoleRight[], path: string) => {
      console.change({ authorize: () => ({ id: 'dora', can }) })
      return (await console.get(path)).text
    }
    expect(await refusal(['stop'], '')).to.include('<p>You may not see this console. A stop that led here')
    expect(await refusal(['stopAll'], '')).to.include('<p>You may not see this console.</p>')
    expect(await refusal(['see', 'stop'], '/stop-all')).to.include(
      '<p>You may not stop all impersonations of a person or of a backend.</p>',
    )
  })

  it('fails, and tells only the operator, when it throws or rejects', async () => {
    const failure = Object.assign(new Error('private: no directory'), { status: 200, expose: true })
    expect(await status(() => Promise.reject(failure))).to.equal(500)
    expect(
      await status(() => {
        throw failure
      }),
    ).to.equal(500)
    const reported = console.errors.map((error) => [String(error), (error as Error).cause])
    expect(reported).to.deep.equal(Array(2).fill(['Error: authorize failed', failure]))
    expect((await console.get()).text).not.to.include('private')
  })

  for (const [title, wrong] of Object.entries({
    true: true,
    'an id alone': 'dora',
    'no rights': { id: 'dora' },
    'rights that are a text': { id: 'dora', can: 'see' },
    'an unknown right': { id: 'dora', can: ['see', 'everything'] },
    'no id': { can: ['see'] },
    'an empty id': { id: '', can: ['see'] },
    'an id that is a number': { id: 7, can: ['see'] },
    'an id that is too long': { id: 'd'.repeat(256), can: ['see'] },
    'an id with NUL': { id: 'd\0', can: ['see'] },
    'an array': [{ id: 'dora', can: ['see'] }],
  })) {
    it(`fails when it returns ${title}`, async () => {
      expect(await status(() => wrong)).to.equal(500)
      expect(String(console.errors[0])).to.match(/authorize must return/)
    })
  }

  it('fails when it takes too long, and ignores what comes then', async () => {
    expect(await status(() => tooLate(5))).to.equal(500)
    expect(console.errors).to.have.length(1)
  })

  it('decides anew about an action, whatever it said about the page', async () => {
    const id = await console.keep({ use: {} })
    console.change({ authorize: () => DORA })
    expect((await console.get(`/${id}`)).text).to.include('Stop now')
    console.change({ authorize: () => undefined })
    expect((await console.post('/stop', { id, reason: 'x' })).status).to.equal(403)
    console.change({ authorize: () => ({ id: 'dora', can: ['see'] }) })
    expect((await console.post('/stop', { id, reason: 'x' })).status).to.equal(403)
    expect((await console.get(`/${id}`)).text).not.to.include('Stop now')
    expect((await show(console, id)).body.state).to.equal('consumed')
  })

  it('does nothing until it has answered, and nothing if it refuses', async () => {
    const id = await console.keep({ use: {} })
    let answer: (given: typeof DORA | undefined) => void = () => undefined
    const asked = new Promise<void>((resolve) => {
      console.change({
        authorize: () => {
          resolve()
          return new Promise((given) => {
            answer = given
          })
        },
      })
    })
    const response = console.post('/stop', { id, reason: 'x' })
    await asked
    expect((await show(console, id)).body.state).to.equal('consumed')
    answer(undefined)
    expect((await response).status).to.equal(403)
    expect((await show(console, id)).body.state).to.equal('consumed')
  })

  it('decides anew about the kill switch, whatever it said about the page before it', async () => {
    const id = await console.keep({ userId: 'erin', use: {} })
    console.change({ authorize: () => DORA })
    expect((await console.get('/stop-all?userId=erin')).text).to.include('1 impersonation')
    console.change({ authorize: () => ({ ...DORA, can: ['see', 'stop'] }) })
    const all = { userId: 'erin', confirm: 'erin', reason: 'x' }
    expect((await console.post('/stop-all', all)).status).to.equal(403)
    expect((await show(console, id)).body.state).to.equal('consumed')
  })

  it('is asked again by a page that asks for itself', async () => {
    let asked = 0
    console.change({
      authorize() {
        asked += 1
        return asked === 1 ? DORA : undefined
      },
    })
    expect((await console.get()).status).to.equal(200)
    expect((await console.get()).status).to.equal(403)
  })

  it('offers only what the administrator may do', async () => {
    const id = await console.keep({ use: {} })
    console.change({ authorize: () => ({ id: 'dora', can: ['see'] }) })
    for (const path of ['', '/history?userId=alice', `/${id}`]) {
      const { text } = await console.get(path)
      expect(text).not.to.match(/stop-all|#stop|Stop now/)
    }
  })

  it('gets the context of the request', async () => {
    let seen: string | undefined
    console.change({
      authorize(ctx) {
        seen = ctx.get('X-Who')
        return DORA
      },
    })
    await console.get('/history?userId=alice', { 'x-who': 'dora' })
    expect(seen).to.equal('dora')
  })
})
