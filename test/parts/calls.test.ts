/** How a function of the deployment is called (protocol.md §5): under a time limit, which leaves nothing running. */
import { mock } from 'node:test'
import { expect } from 'chai'
import { checkOf, reasonOf } from '../../src/base/errors.ts'
import { callDeployment } from '../../src/provider/deployment-functions.ts'

/** Timers that keep the process alive. Mocha sets its own once a test has returned its promise. */
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

const LIMIT = 3600

describe('a call of the deployment', () => {
  it('has a timer while a promise is waited for, none once it has settled, and needs none for a value that is there', async () => {
    await Promise.resolve()
    const before = timers()
    for (const [work, expected, needed] of [
      [async () => true, true, 1],
      [() => Promise.reject(new Error('private')), 'isAllowed failed', 1],
      [() => true, true, 0],
    ] as const) {
      const call = callDeployment<boolean>('isAllowed', LIMIT, work)
      expect(timers()).to.equal(before + needed)
      expect(await call.catch((error: Error) => error.message)).to.equal(expected)
      expect(timers()).to.equal(before)
    }
  })

  it('is given up at the limit, not a millisecond before, and the operator reads why', async () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      let told: unknown
      const call = callDeployment('isAllowed', LIMIT, () => new Promise<never>(() => {})).catch((error) => {
        told = [checkOf(error), reasonOf(error)]
      })
      mock.timers.tick(LIMIT * 1000 - 1)
      await new Promise((resolve) => setImmediate(resolve))
      expect(told).to.equal(undefined)
      mock.timers.tick(1)
      await call
      expect(told).to.deep.equal(['isAllowed', 'isAllowed took more than 3600 s'])
    } finally {
      mock.timers.reset()
    }
  })

  it('asks a thenable once, also one that is too late: a query may be sent by that', async () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      let asked = 0
      // biome-ignore lint/suspicious/noThenProperty: that is the test
      const query = { then: () => void asked++ }
      const call = callDeployment('isAllowed', LIMIT, () => query as never).catch(reasonOf)
      await new Promise((resolve) => setImmediate(resolve))
      mock.timers.tick(LIMIT * 1000)
      expect(await call).to.equal('isAllowed took more than 3600 s')
      expect(asked).to.equal(1)
    } finally {
      mock.timers.reset()
    }
  })

  it('keeps what the function threw as the cause, for those who log the failure', async () => {
    for (const thrown of [new Error('private'), 'private']) {
      const call = callDeployment('isAllowed', LIMIT, () => Promise.reject(thrown))
      const error = await call.catch((failure: unknown) => failure)
      expect(error).to.be.instanceOf(Error).and.to.include({ message: 'isAllowed failed', cause: thrown })
    }
  })
})
