/** Runs a contract without a test runner, to see which of its tests fail. */
import { expect } from 'chai'
import type { TestRunner } from '../../src/testing/index.ts'

type Declare = (runner: TestRunner) => void
type Test = readonly [title: string, run: () => Promise<void>]

function testsOf(declare: Declare): Test[] {
  const tests: Test[] = []
  declare({ describe: (_, suite) => suite(), it: (title, run) => void tests.push([title, run]) })
  return tests
}

/** The titles of the tests that fail. */
export async function failuresOf(declare: Declare): Promise<string[]> {
  const failed: string[] = []
  for (const [title, run] of testsOf(declare)) await run().catch(() => failed.push(title))
  return failed
}

/** Declares a test for each fault, which some test of the contract must find, and one that no test of it is idle. */
export function describeFaults<Fault>(
  faults: Readonly<Record<string, Fault>>,
  contractWith: (fault: Fault) => Declare,
): void {
  const idle = new Set<string>()
  before(() => {
    for (const fault of Object.values(faults))
      for (const [title] of testsOf(contractWith(fault))) idle.add(title)
  })

  for (const [name, fault] of Object.entries(faults)) {
    it(`is broken by: ${name}`, async () => {
      const failures = await failuresOf(contractWith(fault))
      expect(failures).not.to.deep.equal([])
      for (const title of failures) idle.delete(title)
    })
  }

  it('has no test that finds none of these faults', () => {
    expect([...idle]).to.deep.equal([])
  })
}
