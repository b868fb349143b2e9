/** How long a readiness probe waits for a store, and what it leaves running. */
import { mock } from 'node:test'
import { expect } from 'chai'
import { uncalledStore } from '../../fixtures/uncalled-store.ts'
import { storeReady } from '../../src/subject-tokens/store.ts'

const ask = (ready: () => Promise<void>): Promise<void> =>
  storeReady({ ...uncalledStore, ready }, 'https://issuer.example')

/** Timers that keep the process alive. */
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

describe('the readiness of a store', () => {
  it('is waited for during five seconds, and not a millisecond longer', async () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      let told = 'nothing yet'
      const asking = ask(() => new Promise(() => {})).catch((error: Error) => {
        told = error.message
      })
      mock.timers.tick(4999)
      await new Promise((resolve) => setImmediate(resolve))
      expect(told).to.equal('nothing yet')
      mock.timers.tick(1)
      await asking
      expect(told).to.equal('the store did not respond within 5 s')
    } finally {
      mock.timers.reset()
    }
  })

  it('leaves no timer, whether the store is ready or not', async () => {
    await Promise.resolve()
    const before = timers()
    const answers = [() => Promise.resolve(), () => Promise.reject(new Error('not yet'))]
    for (const ready of answers) {
      const asking = ask(ready)
      expect(timers()).to.equal(before + 1)
      await asking.catch(() => {})
      expect(timers()).to.equal(before)
    }
  })
})
