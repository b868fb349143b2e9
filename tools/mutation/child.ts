/**
 * Loaded by the Node processes and threads that tests start. One notes which mutants it reaches, for the test that has
 * started it; with an active mutant, it ends by itself if that keeps it busy.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { threadId } from 'node:worker_threads'

const { __STRYKER_ACTIVE_MUTANT__: active, MUTATION_NOTES: folder = '', MUTATION_TEST: test } = process.env

const context = { mutantCoverage: { static: {}, perTest: {} }, hitCount: 0, hitLimit: 1_000_000 }
Reflect.set(globalThis, '__stryker__', context)

if (active === undefined)
  process.on('exit', () => {
    const file = path.join(folder, `${process.pid}-${threadId}.json`)
    writeFileSync(file, JSON.stringify({ test, reached: context.mutantCoverage.static }))
  })
// Longer than a test may take.
else setTimeout(() => process.exit(), 30_000).unref()
