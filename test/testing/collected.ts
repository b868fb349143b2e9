/** Runs a contract without a test runner, to see which of its tests fail. */
import type { TestRunner } from '../../src/testing/index.ts'

export async function failuresOf(declare: (runner: TestRunner) => void): Promise<string[]> {
  const tests: [title: string, test: () => Promise<void>][] = []
  declare({ describe: (_title, suite) => suite(), it: (title, test) => void tests.push([title, test]) })
  const failed: string[] = []
  for (const [title, test] of tests) await test().catch(() => failed.push(title))
  return failed
}
