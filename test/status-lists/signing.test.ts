/** A status list whose key takes its time. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { stopClock } from '../../fixtures/clock.ts'
import { statusListOf } from '../../src/status-lists/status-list.ts'

const LIST = { issuer: 'https://id.example.com', number: 0, uri: 'https://id.example.com/0', ttl: 30 }

describe('a status list that is signed slowly', () => {
  it('is served, though tokens are stopped while it is signed', async () => {
    const clock = stopClock()
    try {
      let version = 1
      let signatures = 0
      const signJwt = async () => {
        signatures += 1
        const name = `signature ${signatures}`
        version += 1
        clock.tick(2)
        await turn()
        return name
      }
      const list = statusListOf({ ...LIST, signJwt })
      const bits = {
        shownUntil: new Map<number, number>(),
        get version() {
          return version
        },
      }
      const stopped = () => ({ asOf: Math.floor(Date.now() / 1000), list: () => bits })
      expect((await list(stopped())).jwt).to.equal('signature 1')
      expect((await list(stopped())).jwt).to.equal('signature 2')
    } finally {
      clock.restore()
    }
  })

  it('is not served from a signature that began before the stop', async () => {
    const signing = Promise.withResolvers<void>()
    let signatures = 0
    const signJwt = async () => {
      signatures += 1
      const name = `signature ${signatures}`
      await signing.promise
      return name
    }
    const list = statusListOf({ ...LIST, signJwt })
    const asOf = Math.floor(Date.now() / 1000)
    const stopped = (version: number) => ({ asOf, list: () => ({ shownUntil: new Map(), version }) })
    const before = list(stopped(1))
    const after = [list(stopped(2)), list(stopped(2))]
    while (signatures === 0) await turn()
    signing.resolve()
    expect((await before).jwt).to.equal('signature 1')
    expect((await Promise.all(after)).map(({ jwt }) => jwt)).to.deep.equal(['signature 2', 'signature 2'])
  })
  it('is waited for by no one whom the last one serves', async () => {
    const finish: ((jwt: string) => void)[] = []
    const signJwt = () => new Promise<string>((resolve) => void finish.push(resolve))
    const list = statusListOf({ ...LIST, signJwt })
    const asOf = Math.floor(Date.now() / 1000)
    const stopped = (version: number) => ({ asOf, list: () => ({ shownUntil: new Map(), version }) })
    const until = async (count: number) => {
      while (finish.length < count) await turn()
    }
    const before = list(stopped(1))
    await until(1)
    finish[0]?.('old')
    await before
    const after = list(stopped(2))
    await until(2)
    expect((await list(stopped(1))).jwt).to.equal('old')
    finish[1]?.('new')
    expect((await after).jwt).to.equal('new')
  })
})
