/** What sessions write to the instruments. */
import { expect } from 'chai'
import { stopClock } from '../../fixtures/clock.ts'
import { countingMeter, withMeter } from '../../fixtures/counting-meter.ts'
import { countLogout } from '../../src/metrics/metrics.ts'
import { rememberOpen } from '../../src/sessions/open.ts'
import type { SessionStore } from '../../src/subject-tokens/store.ts'
import { startScene } from '../spec/arriving.ts'
import { withScene } from '../spec/ending.ts'

const valuesOf = (
  recordings: readonly (readonly [string, object])[],
  instrument: string,
  attribute: string,
) =>
  recordings
    .filter(([name]) => name === instrument)
    .map(([, attributes]) => Reflect.get(attributes, attribute))

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
    const told = valuesOf(meter.recordings, 'impersonation.logouts', 'impersonation.logout')
    expect(told.slice(0, 3)).to.deep.equal(['failed', 'failed', 'confirmed'])
  })

  it('count arrivals and refusals of the kind session, and a token at the door of another as a replay', async () => {
    const scene = await startScene()
    const meter = countingMeter()
    try {
      await withMeter(meter, async () => {
        // The first recording makes the instruments, and begins the series.
        countLogout('confirmed')
        const browser = await scene.signedIn()
        const { token } = await scene.issue()
        await scene.arm(browser, token)
        meter.recordings.length = 0
        await scene.authorize(browser)
        // The page of a refusal has no button.
        await scene.arm(browser, token).catch(() => {})
        await scene.arm(await scene.signedIn('carol'), token).catch(() => {})
      })
    } finally {
      await scene.close()
    }
    const kinds = valuesOf(meter.recordings, 'impersonation.exchanges', 'impersonation.kind')
    const outcomes = valuesOf(meter.recordings, 'impersonation.exchanges', 'impersonation.outcome')
    expect(new Set(kinds)).to.deep.equal(new Set(['session']))
    expect(outcomes[0]).to.equal('done')
    expect(outcomes.slice(1)).to.include('refused')
    expect(valuesOf(meter.recordings, 'impersonation.replays', 'impersonation.client')).to.deep.equal([
      'other',
    ])
  })

  it('show how many sessions are open without waiting for the database', async () => {
    const clock = stopClock()
    const looks: ((open: readonly object[]) => void)[] = []
    const sessions = {
      findDue: () => new Promise((resolve) => looks.push(resolve)),
    } as unknown as SessionStore
    const open = rememberOpen({ sessions }, 'https://id.example.com')
    try {
      expect([open(), open(), looks.length]).to.deep.equal([undefined, undefined, 1])
      looks[0]?.([{}, {}])
      await new Promise(setImmediate)
      expect([open(), looks.length]).to.deep.equal([2, 1])
      clock.tick(10)
      expect([open(), looks.length]).to.deep.equal([2, 2])
      looks[1]?.([])
      await new Promise(setImmediate)
      expect(open()).to.equal(0)
    } finally {
      clock.restore()
    }
  })
})
