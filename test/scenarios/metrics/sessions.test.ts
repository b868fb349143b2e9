/** What sessions write to the instruments. */
import { expect } from 'chai'
import { stopClock } from '../../../fixtures/clock.ts'
import { type CountingMeter, countingMeter, withMeter } from '../../../fixtures/counting-meter.ts'
import { countLogout } from '../../../src/metrics/metrics.ts'
import { countOpenSessions } from '../../../src/sessions/watch.ts'
import type { SessionStore } from '../../../src/tokens/store.ts'
import { startScene } from '../../spec/arriving.ts'
import { withScene } from '../../spec/ending.ts'

const valuesOf = ({ recordings }: CountingMeter, instrument: string, attribute: string): unknown[] =>
  recordings
    .filter(([name]) => name === `impersonation.${instrument}`)
    .map(([, attributes]) => Reflect.get(attributes, `impersonation.${attribute}`))

describe('recordings of sessions', () => {
  it('tell what came of each attempt to tell an application', async () => {
    const meter = countingMeter()
    await withMeter(meter, () =>
      withScene({ answers: [503, 503, 200] }, async ({ open, stop, pass }) => {
        const id = await open()
        meter.recordings.length = 0
        await stop(id)
        await pass(30)
      }),
    )
    expect(valuesOf(meter, 'logouts', 'logout').slice(0, 3)).to.deep.equal(['failed', 'failed', 'confirmed'])
  })

  it('count arrivals and refusals of the kind session, and a token at the door of another as a replay', async () => {
    const scene = await startScene()
    const meter = countingMeter()
    await withMeter(meter, async () => {
      // The first recording makes the instruments, and begins the series.
      countLogout('confirmed')
      const browser = await scene.signedIn()
      const { token } = await scene.issue()
      await scene.arm(browser, token)
      meter.recordings.length = 0
      await scene.authorize(browser)
      // The page of a refusal has no button.
      for (const other of [browser, await scene.signedIn('carol')])
        await scene.arm(other, token).catch(() => {})
    }).finally(() => scene.close())
    const [first, ...others] = valuesOf(meter, 'exchanges', 'outcome')
    expect(new Set(valuesOf(meter, 'exchanges', 'kind'))).to.deep.equal(new Set(['session']))
    expect([first, others.includes('refused')]).to.deep.equal(['done', true])
    expect(valuesOf(meter, 'replays', 'client')).to.deep.equal(['other'])
  })

  it('show how many sessions are open without waiting for the database', async () => {
    const clock = stopClock()
    const looks: ((open: readonly object[]) => void)[] = []
    const findDue = () => new Promise((resolve) => looks.push(resolve))
    const open = countOpenSessions({ findDue } as unknown as SessionStore, 'https://id.example.com')
    const shown = [open(), open(), looks.length]
    for (const found of [[{}, {}], []]) {
      looks.at(-1)?.(found)
      await new Promise(setImmediate)
      shown.push(open())
      clock.tick(10)
      shown.push(open(), looks.length)
    }
    clock.restore()
    expect(shown).to.deep.equal([undefined, undefined, 1, 2, 2, 2, 0, 0, 3])
  })
})
