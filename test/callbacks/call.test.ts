/** How a function of the deployment is called (protocol.md §5): under a time limit, which leaves nothing running. */
import { expect } from 'chai'
import { callDeployment } from '../../src/callbacks/call.ts'

/** Timers that keep the process alive. Mocha sets its own once a test has returned its promise. */
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

const LIMIT = 3600

describe('a call of the deployment', () => {
  it('has a timer while a promise is waited for, and none once it resolves', async () => {
    await Promise.resolve()
    const before = timers()
    const call = callDeployment('isAllowed', LIMIT, async () => true)
    expect(timers()).to.equal(before + 1)
    expect(await call).to.equal(true)
    expect(timers()).to.equal(before)
  })

  it('has no timer any more once the promise rejects', async () => {
    await Promise.resolve()
    const before = timers()
    const call = callDeployment('isAllowed', LIMIT, () => Promise.reject(new Error('private')))
    expect(timers()).to.equal(before + 1)
    expect(await call.catch((error: Error) => error.message)).to.equal('isAllowed failed')
    expect(timers()).to.equal(before)
  })

  it('needs no timer for a value that is there', async () => {
    await Promise.resolve()
    const before = timers()
    const call = callDeployment('isAllowed', LIMIT, () => true)
    expect(timers()).to.equal(before)
    expect(await call).to.equal(true)
  })
})
