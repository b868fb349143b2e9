/** The issuer of a suite in which time stands still until a test moves it. */
import { type StoppedClock, stopClock } from '../../../fixtures/clock.ts'
import { NOW, startIssuer, type TestIssuer } from './issuer.ts'

export interface StoppedIssuer extends TestIssuer {
  readonly clock: StoppedClock
}

/** Stops the clock at `NOW`. Its `close` lets time run again. */
export async function startStoppedIssuer(): Promise<StoppedIssuer> {
  const clock = stopClock(NOW * 1000)
  const issuer = await startIssuer()
  const { close } = issuer
  return Object.assign(issuer, {
    clock,
    async close() {
      await close()
      clock.restore()
    },
  })
}
