/** How calls are batched, without a database. */
import { expect } from 'chai'
import { type BatchOptions, inBatches } from '../../src/sequelize/database/batch.ts'

type Options = BatchOptions<string, number>
const OPTIONS: Options = {
  keyOf: (kind) => kind,
  most: () => 3,
  compare: (one, other) => one - other,
  maySplit: () => true,
}

/** Calls that are doubled; a negative one fails its whole run. */
function doubling(options: Partial<Options> = {}) {
  const runs: number[][] = []
  const join = inBatches(
    async (_kind: string, calls: readonly number[]) => {
      runs.push([...calls])
      const wrong = calls.find((call) => call < 0)
      if (wrong !== undefined) throw new Error(`not ${wrong}`)
      return calls.map((call) => 2 * call)
    },
    { ...OPTIONS, ...options },
  )
  const double = (call: number) => join('double', call)
  const outcomes = async (...calls: number[]) =>
    (await Promise.allSettled(calls.map(double))).map((settled) =>
      settled.status === 'fulfilled' ? settled.value : settled.reason.message,
    )
  return { runs, double, outcomes }
}

describe('calls of one turn', () => {
  it('share one run, sorted, and each gets its own result', async () => {
    const { runs, outcomes } = doubling()
    expect(await outcomes(3, 1, 2)).to.deep.equal([6, 2, 4])
    expect(runs).to.deep.equal([[1, 2, 3]])
  })

  it('run as soon as the batch is full, and the rest when the turn ends', async () => {
    const { runs, double } = doubling()
    const first = [5, 4, 3, 2].map(double)
    expect(runs).to.deep.equal([[3, 4, 5]])
    expect(await Promise.all(first)).to.deep.equal([10, 8, 6, 4])
    expect(runs).to.deep.equal([[3, 4, 5], [2]])
  })

  it('are batched separately by kind', async () => {
    const join = inBatches(
      async (kind: string, calls: readonly number[]) =>
        calls.map((call) => `${kind} ${call} of ${calls.length}`),
      OPTIONS,
    )
    const joined = await Promise.all([join('a', 1), join('b', 2), join('a', 3)])
    expect(joined).to.deep.equal(['a 1 of 2', 'b 2 of 1', 'a 3 of 2'])
  })

  it('wait for no call of the next turn', async () => {
    const { runs, double } = doubling()
    const first = double(1)
    await new Promise((resolve) => setImmediate(resolve))
    const second = double(2)
    expect(await Promise.all([first, second])).to.deep.equal([2, 4])
    expect(runs).to.deep.equal([[1], [2]])
  })

  it('run one by one when their batch was rolled back', async () => {
    const { runs, outcomes } = doubling()
    expect(await outcomes(2, -1, 1)).to.deep.equal([4, 'not -1', 2])
    expect(runs).to.deep.equal([[-1, 1, 2], [-1], [1], [2]])
  })

  it('all fail when their batch may have taken effect', async () => {
    const { runs, outcomes } = doubling({ maySplit: () => false })
    expect(await outcomes(2, -1, 1)).to.deep.equal(['not -1', 'not -1', 'not -1'])
    expect(runs).to.deep.equal([[-1, 1, 2]])
  })

  it('fail, and do not hang, when the run throws at once', async () => {
    const call = inBatches<string, number, number>(() => {
      throw new Error('at once')
    }, OPTIONS)
    const settled = await Promise.allSettled([call('any', 1), call('any', 2)])
    expect(settled.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
  })
})

describe('a call that is alone', () => {
  it('runs once, whatever the outcome', async () => {
    const { runs, outcomes } = doubling()
    expect(await outcomes(-1)).to.deep.equal(['not -1'])
    expect(runs).to.deep.equal([[-1]])
  })
})
