/** The SDK is registered before `attach`, or after it. Each is a process of its own. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'

interface Seen {
  /** Before any request. */
  readonly first: string
  readonly last: string
  /** Codes. */
  readonly warnings: readonly string[]
}

async function run(order: 'before' | 'after' | 'never'): Promise<Seen> {
  const script = path.join(import.meta.dirname, 'process.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [script, order])
  return JSON.parse(stdout)
}

const valuesOf = (text: string): Map<string, number> =>
  new Map(
    [...text.matchAll(/^(\w+\{?.*\}?) ([\d.e+-]+)$/gm)].map(([, name = '', value]) => [name, Number(value)]),
  )

const DONE = 'impersonation_exchanges_total{impersonation_kind="impersonation",impersonation_outcome="done"}'

describe('metrics', () => {
  it('begin at zero, every series of every counter, if the SDK was registered before attach', async () => {
    const { first, last, warnings } = await run('before')
    const [begun, ended] = [valuesOf(first), valuesOf(last)]
    const counters = [...ended.keys()].filter((name) => /^\w+_total/.test(name))
    expect(counters.length).to.be.greaterThan(80)
    expect(counters.filter((name) => !begun.has(name))).to.deep.equal([])
    // What a deployment does before its first request is its own start.
    const known = [...begun].filter(([name]) => !name.startsWith('impersonation_storage'))
    expect(known.filter(([, value]) => value !== 0)).to.deep.equal([])
    expect(ended.get(DONE)).to.equal(3)
    expect(first).to.match(/impersonation_replays_total\{.*\} 0\n/)
    expect(warnings).to.deep.equal([])
  })

  it('work also if it was registered after attach, and one warning says that they may be late', async () => {
    const { first, last, warnings } = await run('after')
    expect(valuesOf(first).size).to.equal(0)
    expect(valuesOf(last).get(DONE)).to.equal(3)
    expect(warnings).to.deep.equal(['IMPERSONATION_LATE_METRICS'])
  })

  it('are none, and no one is warned, if there is none', async () => {
    const { first, last, warnings } = await run('never')
    expect([valuesOf(first).size, valuesOf(last).size, warnings]).to.deep.equal([0, 0, []])
  })
})
