import { mock } from 'node:test'

/** The functions that a contract needs from a test runner. Mocha's, node:test's and Vitest's own functions fit. */
export interface TestRunner {
  describe(title: string, suite: () => void): void
  it(title: string, test: () => Promise<void>): void
}

/** Runs `test` with what `create` returns, and closes it, whatever happens. */
export async function using<Subject extends { close?(): Promise<void> | void }>(
  create: () => Promise<Subject>,
  test: (subject: Subject) => Promise<void>,
): Promise<void> {
  const subject = await create()
  try {
    await test(subject)
  } finally {
    await subject.close?.()
  }
}

/** Runs `work` while this process believes that it is that many seconds later. Timers go on as usual. */
export async function later(seconds: number, work: () => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ['Date'], now: Date.now() + seconds * 1000 })
  try {
    await work()
  } finally {
    mock.timers.reset()
  }
}
