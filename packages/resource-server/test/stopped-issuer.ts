/** The issuer of a suite in which time stands still until a test moves it, and stories that move it. */
import { type StoppedClock, stopClock } from '../../../fixtures/clock.ts'
import type { Verifier, VerifierOptions } from '../src/index.ts'
import { NOW, startIssuer, type TestIssuer } from './issuer.ts'

interface StoppedIssuer extends TestIssuer {
  readonly clock: StoppedClock
  /** Lets what runs in the background finish: the next request to the issuer comes after it. */
  settled(): Promise<void>
}

interface Used extends Partial<VerifierOptions> {
  /** Anew for each test. By default there is one for the suite. */
  readonly each?: true
}

/**
 * An issuer and a verifier of its tokens: filled in before the tests of the suite, at `NOW`, and closed after them. Hooks that
 * are declared later find it open.
 */
export function useIssuer({ each, ...options }: Used = {}): { issuer: StoppedIssuer; verify: Verifier } {
  const issuer = {} as StoppedIssuer
  let verifier: Verifier
  const start = each ? beforeEach : before
  start(async () => {
    const clock = stopClock(NOW * 1000)
    const settled = async () => {
      for (let turn = 0; turn < 5; turn += 1) await fetch(`${issuer.issuer}/settled`)
    }
    Object.assign(issuer, { clock, settled, ...(await startIssuer()) })
    verifier = issuer.verifier(options)
  })
  const end = each ? afterEach : after
  end(async () => {
    await issuer.close()
    issuer.clock.restore()
  })
  return { issuer, verify: (...given) => verifier(...given) }
}

export type Step = () => unknown

/** Declares a test for each story: its steps, one after the other. */
export function tellStories(stories: Readonly<Record<string, readonly (Step | readonly Step[])[]>>): void {
  for (const [title, steps] of Object.entries(stories))
    it(title, async () => {
      for (const step of steps.flat()) await step()
    })
}
