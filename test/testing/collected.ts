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

/** The tests that fail, of those with these titles only, if any are given, and what each says. */
export async function errorsOf(declare: Declare, titles?: readonly string[]): Promise<Map<string, string>> {
  const failed = new Map<string, string>()
  for (const [title, run] of testsOf(declare))
    if (titles === undefined || titles.includes(title))
      await run().catch((error: Error) => failed.set(title, error.message))
  return failed
}

/** The titles of the tests that fail. */
export const failuresOf = async (declare: Declare): Promise<string[]> => [...(await errorsOf(declare)).keys()]

/** The title of the first test that fails. */
async function firstFailureOf(declare: Declare, titles?: ReadonlySet<string>): Promise<string | undefined> {
  for (const [title, run] of testsOf(declare)) {
    if (titles && !titles.has(title)) continue
    const fails = await run().then(
      () => false,
      () => true,
    )
    if (fails) return title
  }
  return undefined
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
      const first = await firstFailureOf(contractWith(fault))
      expect(first, 'the first test that fails').not.to.equal(undefined)
      idle.delete(String(first))
    })
  }

  it('has no test that finds none of these faults', async () => {
    for (const fault of Object.values(faults))
      for (let found = '' as string | undefined; found !== undefined; ) {
        found = await firstFailureOf(contractWith(fault), idle)
        idle.delete(String(found))
      }
    expect([...idle]).to.deep.equal([])
  })
}
