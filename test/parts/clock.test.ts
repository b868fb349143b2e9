/** What is kept of what takes long to find (protocol.md §2.2, §4.1): for how long, how many, and one at a time. */
import { expect } from 'chai'
import { type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import { createMemory, onceASecond } from '../../src/base/clock.ts'

const AGE = 60

describe('a memory', () => {
  let clock: StoppedClock
  let memory: ReturnType<typeof createMemory<string, string>>
  /** The keys that were looked for, oldest first, and those still under way. */
  let begun: string[]
  let underWay: { key: string; end: (error?: Error) => void }[]
  beforeEach(() => {
    clock = stopClock()
    memory = createMemory(2)
    begun = []
    underWay = []
  })
  afterEach(() => clock.restore())

  const recall = (key: string) =>
    memory(key, AGE, async () => {
      begun.push(key)
      return key
    })
  const recallSlowly = (key: string) =>
    memory(key, AGE, () => {
      begun.push(key)
      return new Promise<string>((resolve, reject) => {
        underWay.push({ key, end: (error) => (error ? reject(error) : resolve(key)) })
      })
    })
  /** Ends the oldest look-up. */
  const end = async (error?: Error) => {
    await new Promise(setImmediate)
    underWay.shift()?.end(error)
    await new Promise(setImmediate)
  }
  const outcome = (promise: Promise<string>) => promise.catch(({ message }: Error) => message)

  it('finds again what is as old as it may be, and what a clock that was set back says nothing of', async () => {
    for (const step of [0, AGE - 1, 1, 0]) {
      clock.tick(step)
      expect(await recall('a')).to.equal('a')
    }
    expect(begun).to.deep.equal(['a', 'a'])
    clock.setBack(1)
    await recall('a')
    expect(begun).to.deep.equal(['a', 'a', 'a'])
  })

  it('keeps as many as it may, and gives up the one that was found first', async () => {
    for (const key of ['a', 'b', 'a', 'b']) await recall(key)
    expect(begun).to.deep.equal(['a', 'b'])
    for (const key of ['c', 'b', 'c', 'a']) await recall(key)
    expect(begun).to.deep.equal(['a', 'b', 'c', 'a'])
  })

  it('takes what was found again for the last one found', async () => {
    await recall('a')
    await recall('b')
    clock.tick(AGE)
    await recall('a')
    await recall('c')
    begun.length = 0
    for (const key of ['a', 'c']) await recall(key)
    expect(begun).to.deep.equal([])
  })

  it('finds once for all that ask meanwhile, however long it takes', async () => {
    const first = recallSlowly('a')
    clock.tick(AGE)
    const second = recallSlowly('a')
    await end()
    expect(await Promise.all([first, second])).to.deep.equal(['a', 'a'])
    expect(begun).to.deep.equal(['a'])
  })

  it('counts the age from when it began to find, however long it took', async () => {
    const first = recallSlowly('a')
    clock.tick(AGE - 1)
    await end()
    expect(await first).to.equal('a')
    await recall('a')
    expect(begun).to.deep.equal(['a'])
    clock.tick(1)
    await recall('a')
    expect(begun).to.deep.equal(['a', 'a'])
  })

  it('finds one at a time, whatever the key, and goes on after a failure', async () => {
    const results = ['a', 'b'].map((key) => outcome(recallSlowly(key)))
    await new Promise(setImmediate)
    expect(begun).to.deep.equal(['a'])
    await end(new Error('failed'))
    await end()
    expect(await Promise.all(results)).to.deep.equal(['failed', 'b'])
  })

  it('does not keep a failure, nor give up what was asked for since', async () => {
    const first = outcome(recallSlowly('a'))
    const others = ['b', 'c'].map(recallSlowly)
    const again = recallSlowly('a')
    await end(new Error('failed'))
    expect(await first).to.equal('failed')
    const joined = recallSlowly('a')
    for (const _ of [...others, again]) await end()
    expect(await Promise.all([...others, again, joined])).to.deep.equal(['b', 'c', 'a', 'a'])
    expect(begun).to.deep.equal(['a', 'b', 'c', 'a'])

    const failed = outcome(recallSlowly('d'))
    await end(new Error('failed again'))
    expect(await failed).to.equal('failed again')
    expect(await recall('d')).to.equal('d')
  })
})

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
