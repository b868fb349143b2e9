/**
 * Three things that the runner of Stryker 10.0.0 does not do; loaded before it, to extend its reporter. Remove this file
 * when the runner does them.
 *
 * Stryker takes what a `before` hook runs for a part of the test before it, and then runs that test alone on the mutant.
 * Here the hook is a part of each test of its suite.
 *
 * It takes the time limits off the tests, and has one for all the tests of a mutant, after which it starts another process.
 * Here a test that a mutant keeps waiting fails by itself.
 *
 * It does not see what a test starts as a process of its own. Here mutants are active there, too, and what such a process
 * reaches is a part of the test.
 */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Runner, Suite } from 'mocha'

type Counts = Record<string, number>

interface Context {
  readonly activeMutant?: string | undefined
  currentTestId?: string | undefined
  mutantCoverage?: { readonly static: Counts; readonly perTest: Record<string, Counts> }
}
const context = (): Context => Reflect.get(globalThis, '__stryker__')

const reporter = new URL('stryker-mocha-reporter.js', import.meta.resolve('@stryker-mutator/mocha-runner'))
const { StrykerMochaReporter } = await import(reporter.href)
const { registerEvents } = StrykerMochaReporter.prototype

StrykerMochaReporter.prototype.registerEvents = function (this: { readonly runner: Runner }): void {
  registerEvents.call(this)
  limitTests(this.runner)
  includeChildren(this.runner)
  coverHooks(this.runner)
}

/** Milliseconds: several times what the slowest test takes on a busy machine. */
const TEST_LIMIT = 10_000

function limitTests({ suite }: Runner): void {
  suite.eachTest((test) => {
    if (test.timeout() === 0) test.timeout(TEST_LIMIT)
  })
}

function coverHooks(runner: Runner): void {
  const suites = new Map<string, Suite>()
  const ran = new Set<string>()
  runner.on('hook', ({ title, parent }) => {
    if (!parent || !title.startsWith('"before all" hook')) return
    const id = `before ${parent.fullTitle()}`
    suites.set(id, parent)
    context().currentTestId = id
    process.env.MUTATION_TEST = id
  })
  runner.on('pass', (test) => ran.add(test.fullTitle()))
  runner.once('end', () => {
    const covered = context().mutantCoverage?.perTest ?? {}
    for (const [id, suite] of suites) {
      const hook = covered[id] ?? {}
      delete covered[id]
      suite.eachTest((test) => {
        const title = test.fullTitle()
        if (ran.has(title)) covered[title] = sum(covered[title] ?? {}, hook)
      })
    }
  })
}

function sum(one: Counts, other: Counts): Counts {
  const total = { ...one }
  for (const [mutant, count] of Object.entries(other)) total[mutant] = (total[mutant] ?? 0) + count
  return total
}

process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import ${import.meta.resolve('./child.ts')}`

interface Note {
  readonly test: string
  readonly reached: Counts
}

function includeChildren(runner: Runner): void {
  const { activeMutant } = context()
  if (activeMutant !== undefined) {
    process.env.__STRYKER_ACTIVE_MUTANT__ = activeMutant
    return
  }
  // In the copy of the repository, which Stryker deletes.
  const notes = mkdtempSync(path.join(process.cwd(), 'notes-'))
  process.env.MUTATION_NOTES = notes
  runner.on('test', (test) => {
    process.env.MUTATION_TEST = test.fullTitle()
  })
  runner.once('end', () => {
    context().mutantCoverage ??= { static: {}, perTest: {} }
    const { static: atLoad = {}, perTest = {} } = context().mutantCoverage ?? {}
    for (const file of readdirSync(notes)) {
      const { test, reached }: Note = JSON.parse(readFileSync(path.join(notes, file), 'utf8'))
      // What runs when this process loads a file concerns all of its tests, not only the test that starts another.
      const own = Object.entries(reached).filter(([mutant]) => !(mutant in atLoad))
      perTest[test] = sum(perTest[test] ?? {}, Object.fromEntries(own))
    }
  })
}
