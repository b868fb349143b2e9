/** The issuer of a suite in which time stands still until a test moves it, and stories that move it. */
import { type StoppedClock, stopClock } from '../../../fixtures/clock.ts'
import { NOW, startIssuer, type TestIssuer } from './issuer.ts'

export interface StoppedIssuer extends TestIssuer {
  readonly clock: StoppedClock
  /** Lets what runs in the background finish: the next request to the issuer comes after it. */
  settled(): Promise<void>
}

/** Stops the clock at `NOW`. Its `close` lets time run again. */
export async function startStoppedIssuer(): Promise<StoppedIssuer> {
  const clock = stopClock(NOW * 1000)
  const issuer = await startIssuer()
  const { close } = issuer
  return Object.assign(issuer, {
    clock,
    async settled() {
      for (let turn = 0; turn < 5; turn += 1) await fetch(`${issuer.issuer}/settled`)
    },
    async close() {
      await close()
      clock.restore()
    },
  })
}

export type Step = () => unknown

/** Declares a test for each story: its steps, one after the other. */
export function tellStories(stories: Readonly<Record<string, readonly (Step | readonly Step[])[]>>): void {
  for (const [title, steps] of Object.entries(stories))
    it(title, async () => {
      for (const step of steps.flat()) await step()
    })
}
