/** What a process remembers of the status lists (protocol.md §4.1): what it asks the database for, what it forgets, and what it signs. */
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { now, type StoppedClock, stopClock } from '../../../fixtures/clock.ts'
import { publishLists, rememberNumbers } from '../../../src/router/status-lists/lists.ts'
import { statusListOf } from '../../../src/router/status-lists/status-list.ts'
import { rememberStopped } from '../../../src/router/status-lists/stopped.ts'
import type { StoppedToken } from '../../../src/tokens/store.ts'

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
    /** Reads after so many seconds each. A clock is set back by those that are negative. */
    const afterSeconds = async (...steps: readonly number[]) => {
      for (const step of steps) {
        if (step < 0) clock.setBack(-step)
        else clock.tick(step)
        await read()
      }
      return spans
    }
    const READS: Readonly<Record<string, readonly [steps: number[], spans: number[]]>> = {
      'everything every five minutes, and in between what is new and two minutes more': [
        [0, 1, 298, 1, 30],
        [EVERYTHING, 121, 418, EVERYTHING, 150],
      ],
      'everything after five minutes in which no one asked': [
        [0, 1, 300],
        [EVERYTHING, 121, EVERYTHING],
      ],
      'everything once the clock was set back, if only behind the last read': [
        [0, 100, -50, 1],
        [EVERYTHING, 220, EVERYTHING, 121],
      ],
      'not everything after a correction within the second': [
        [0.9, -0.5],
        [EVERYTHING, 120],
      ],
    }
    for (const [title, [steps, expected]] of Object.entries(READS))
      it(`is ${title}`, async () => {
        expect(await afterSeconds(...steps)).to.deep.equal(expected)
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
      found = [-300, -299].map((expiresIn, place) => ({
        statusIndex: place + 1,
        expiresAt: now() + expiresIn,
      }))
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
    const signed: number[] = []
    const service = {
      provider: { issuer: ISSUER },
      store: { findStopped: async () => [], findStatusLists: async () => published },
      settings: {
        signJwt: async (_: string, payload: object) => {
          signed.push(Number(String(Object(payload).sub).split('/').at(-1)))
          return 'jwt'
        },
      },
    } as unknown as Parameters<typeof publishLists>[0]
    const lists = publishLists(service, { base: 'https://id.example.com', ttl: 300 })
    const signs: (readonly [first: number, asked: number[], signed: number[]])[] = [
      [5, [4, 5, 6, 7], [5, 6]],
      [6, [5, 6], []],
      [5, [5, 6], []],
      [6, [6, 7, 6], [7]],
      [5, [5, 6], [5]],
    ]
    for (const [first, numbers, expected] of signs) {
      published = [first]
      for (const number of numbers) if (await lists.has(number)) await lists.get(number)
      expect(signed.splice(0)).to.deep.equal(expected)
      clock.tick(1)
    }
  })

  describe('of a list that is signed slowly', () => {
    const finish: ((jwt: string) => void)[] = []
    const list = () => {
      finish.length = 0
      const signJwt = () => new Promise<string>((resolve) => void finish.push(resolve))
      return statusListOf({ issuer: ISSUER, number: 0, uri: `${ISSUER}/0`, ttl: 30, signJwt })
    }
    const stopped = (version: number) => ({ asOf: now(), list: () => ({ shownUntil: new Map(), version }) })
    /** Waits for so many signatures to begin, for a while. */
    const begun = async (count: number) => {
      for (let tries = 0; finish.length < count && tries < 2_000; tries += 1) await wait(1)
    }

    it('is served, though tokens are stopped while it is signed', async () => {
      const sign = list()
      for (const version of [1, 2]) {
        const bits = { shownUntil: new Map<number, number>(), version }
        const signed = sign({ asOf: now(), list: () => bits })
        await begun(version)
        bits.version += 1
        clock.tick(2)
        finish.at(-1)?.(`signature ${version}`)
        expect((await signed).jwt).to.equal(`signature ${version}`)
      }
    })

    it('is not served from a signature that began before the stop', async () => {
      const sign = list()
      const before = sign(stopped(1))
      const after = [sign(stopped(2)), sign(stopped(2))]
      await begun(1)
      finish[0]?.('old')
      expect((await before).jwt).to.equal('old')
      await begun(2)
      finish[1]?.('new')
      expect((await Promise.all(after)).map(({ jwt }) => jwt)).to.deep.equal(['new', 'new'])
    })

    it('is waited for by no one whom the last one serves', async () => {
      const sign = list()
      const before = sign(stopped(1))
      await begun(1)
      finish[0]?.('old')
      await before
      const after = sign(stopped(2))
      await begun(2)
      expect((await sign(stopped(1))).jwt).to.equal('old')
      finish[1]?.('new')
      expect((await after).jwt).to.equal('new')
    })
  })
})
