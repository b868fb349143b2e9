/** How often the status lists ask the database (protocol.md §4.1). */
import { expect } from 'chai'
import { stopClock } from '../../fixtures/clock.ts'
import { onceASecond } from '../../src/status-lists/once-a-second.ts'

describe('once a second', () => {
  let clock: ReturnType<typeof stopClock>
  beforeEach(() => {
    clock = stopClock()
  })
  afterEach(() => clock.restore())

  it('calls again a second after the last call began, not after it ended', async () => {
    let calls = 0
    const read = onceASecond(async () => {
      calls += 1
      clock.tick(calls === 1 ? 1 : 0)
      return calls
    })
    expect(await read()).to.equal(1)
    expect(await read()).to.equal(2)
    expect(await read()).to.equal(2)
  })

  it('makes no second call while one is under way, however long it takes', async () => {
    const finish: ((value: string) => void)[] = []
    const read = onceASecond(() => new Promise<string>((resolve) => void finish.push(resolve)))
    const first = read()
    clock.tick(30)
    const second = read()
    expect(finish).to.have.length(1)
    finish[0]?.('done')
    expect([await first, await second]).to.deep.equal(['done', 'done'])
    void read()
    expect(finish).to.have.length(2)
  })

  it('remembers a failure as it remembers a result', async () => {
    let calls = 0
    const read = onceASecond(async () => {
      calls += 1
      throw new Error(`call ${calls}`)
    })
    const failure = () => read().catch(({ message }) => message)
    expect([await failure(), await failure()]).to.deep.equal(['call 1', 'call 1'])
    clock.tick(1)
    expect(await failure()).to.equal('call 2')
  })
})
