/** Runs a contract without a test runner, to see what it declares, and which of its tests fail. */
import { AssertionError } from 'node:assert'
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { TestRunner } from '../../src/testing/index.ts'

type Declare = (runner: TestRunner) => void

interface Declared {
  readonly suites: readonly string[]
  readonly tests: readonly [title: string, test: () => Promise<void>][]
}

function declaredBy(declare: Declare): Declared {
  const suites: string[] = []
  const tests: [title: string, test: () => Promise<void>][] = []
  declare({
    describe(title, suite) {
      suites.push(title)
      suite()
    },
    it: (title, test) => void tests.push([title, test]),
  })
  return { suites, tests }
}

/** The titles of the tests that fail, with what the contract says of the failure, if it does. */
export async function failuresOf(declare: Declare): Promise<string[]> {
  const failed: string[] = []
  for (const [title, test] of declaredBy(declare).tests)
    await test().catch((error: unknown) => failed.push(`${title}${saidBy(error)}`))
  return failed
}

/** The first line, without ids and times: releases of Node add what was compared. */
function saidBy(error: unknown): string {
  if (!(error instanceof AssertionError)) return ` (${Object(error).name})`
  if (error.generatedMessage) return ''
  return `: ${error.message.split('\n')[0]?.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{10}/g, '…')}`
}

type Contract = 'adapter' | 'store'

/** The tests that find each planted fault, with what they say. */
const readFound = (contract: Contract): Record<string, string[]> =>
  JSON.parse(readFileSync(new URL('found.json', import.meta.url), 'utf8'))[contract]

/** A fault is found by those tests at least that `found.json` names. */
export function expectFound(contract: Contract, fault: string, failures: readonly string[]): void {
  const tests = readFound(contract)[fault]
  expect(tests, 'add it to found.json').to.be.an('array').that.is.not.empty
  expect(failures).to.include.members(tests ?? [])
}

/** Each test of a suite finds a fault. */
export function expectAllUsed(
  contract: Contract,
  suite: string,
  declare: (options: TestRunner & { create(): Promise<never> }) => void,
): void {
  const found = Object.values(readFound(contract)).flat()
  const create = () => Promise.reject(new Error('not to be run'))
  const { suites, tests } = declaredBy((runner) => declare({ ...runner, create }))
  const unused = tests.filter(([title]) => !found.some((text) => text.replace(/(: | \().*/, '') === title))
  expect(unused.map(([title]) => title)).to.deep.equal([])
  expect(suites).to.deep.equal([suite])
}
