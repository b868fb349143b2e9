/** What a process remembers of the status lists (protocol.md §4.1): what it asks the database for, and what it forgets. */
import { expect } from 'chai'
import { now, type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import { publishLists, rememberNumbers } from '../../src/status-lists/lists.ts'
import { rememberStopped } from '../../src/status-lists/stopped.ts'
import type { StoppedToken } from '../../src/subject-tokens/store.ts'

const DAY = 86_400
const ISSUER = 'https://id.example.com/oidc'

describe('status lists: what a process remembers', () => {
  let clock: StoppedClock
  beforeEach(() => {
    clock = stopClock()
  })
  afterEach(() => clock.restore())

  describe('of stopped tokens', () => {
    let found: StoppedToken[] = []
    /** How far back each read went. */
    let spans: number[] = []
    let read: ReturnType<typeof rememberStopped>
    beforeEach(() => {
      found = []
      spans = []
      const findStopped = async (issuer: string, since: number) => {
        expect(issuer).to.equal(ISSUER)
        spans.push(now() - since)
        return found
      }
      read = rememberStopped({ findStopped }, ISSUER)
    })
    const EVERYTHING = DAY + 300 + 120
    const afterSeconds = async (...steps: readonly number[]) => {
      for (const step of steps) {
        clock.tick(step)
        await read()
      }
      return spans
    }

    it('is everything every five minutes, and in between what is new and two minutes more', async () => {
      expect(await afterSeconds(0, 1, 298, 1, 30)).to.deep.equal([EVERYTHING, 121, 418, EVERYTHING, 150])
    })

    it('is everything after five minutes in which no one asked', async () => {
      expect(await afterSeconds(0, 1, 300)).to.deep.equal([EVERYTHING, 121, EVERYTHING])
    })

    it('is everything once the clock was set back, if only behind the last read', async () => {
      await afterSeconds(0, 100)
      clock.setBack(50)
      expect(await afterSeconds(0, 1)).to.deep.equal([EVERYTHING, 220, EVERYTHING, 121])
    })

    it('is not everything after a correction within the second', async () => {
      await afterSeconds(0.9)
      clock.setBack(0.5)
      expect(await afterSeconds(0)).to.deep.equal([EVERYTHING, 120])
    })

    it('has a version that grows with each new bit, and with nothing else', async () => {
      const versions: number[] = []
      for (const indexes of [[], [7], [7], [7, 8], [8], [7, 8, 9]]) {
        found = indexes.map((statusIndex) => ({ statusIndex, expiresAt: now() + 600 }))
        versions.push((await read()).list(0).version)
        clock.tick(1)
      }
      expect(versions).to.deep.equal([0, 1, 1, 2, 2, 3])
    })

    it('is no bit that ends now, and one that ends in a second', async () => {
      found = [
        { statusIndex: 1, expiresAt: now() - 300 },
        { statusIndex: 2, expiresAt: now() - 299 },
      ]
      expect([...(await read()).list(0).shownUntil]).to.deep.equal([[2, now() + 1]])
    })

    it('is given up with everything that is read, once it has ended', async () => {
      const start = now()
      found = [-150, 0, 600].map((expiresIn, statusIndex) => ({ statusIndex, expiresAt: start + expiresIn }))
      const { list } = await read()
      const { version } = list(0)
      found = found.slice(2)
      await afterSeconds(299)
      expect([...list(0).shownUntil.keys()]).to.deep.equal([0, 1, 2])
      await afterSeconds(1)
      expect([...list(0).shownUntil.keys()]).to.deep.equal([2])
      expect(list(0).version).to.equal(version)
    })
  })

  it('of their numbers: those of the last two days, with the next one', async () => {
    const asked: unknown[] = []
    const numbers = rememberNumbers({
      findStatusLists: async (size, since) => {
        asked.push([size, now() - since])
        return [5, 6]
      },
    })
    expect([...(await numbers())]).to.deep.equal([5, 6, 7])
    expect(asked).to.deep.equal([[131_072, 2 * DAY + 300 + 120]])
  })

  it('of the lists: none that is no longer published, once there are more of them than are', async () => {
    let published = [5]
    const signed: unknown[] = []
    const service = {
      provider: { issuer: ISSUER },
      store: { findStopped: async () => [], findStatusLists: async () => published },
      settings: {
        signJwt: async (_: string, payload: object) => {
          signed.push(Object(payload).sub)
          return 'jwt'
        },
      },
    } as unknown as Parameters<typeof publishLists>[0]
    const lists = publishLists(service, { base: 'https://id.example.com', ttl: 300 })
    const signs = async (numbers: readonly number[]) => {
      signed.length = 0
      for (const number of numbers) if (await lists.has(number)) await lists.get(number)
      return signed.map((uri) => Number(String(uri).split('/').at(-1)))
    }
    const publish = (first: number) => {
      clock.tick(1)
      published = [first]
    }
    expect(await signs([4, 5, 6, 7])).to.deep.equal([5, 6])
    publish(6)
    expect(await signs([5, 6])).to.deep.equal([])
    publish(5)
    expect(await signs([5, 6])).to.deep.equal([])
    publish(6)
    expect(await signs([6, 7, 6])).to.deep.equal([7])
    publish(5)
    expect(await signs([5, 6])).to.deep.equal([5])
  })
})
