/** The suites of docs/stores.md: they run in Node's own test runner. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { runnable, usePrograms } from '../../../fixtures/markdown.ts'
import { FROM_SOURCE } from '../../../fixtures/packed-package.ts'

describe('docs: suites for a store and an adapter', () => {
  const programs = usePrograms('docs/stores.md')
  for (const name of ['my-store.test.ts', 'my-adapter.test.ts'])
    it(`run as written under node --test: ${name}`, async () => {
      const file = programs.write(name, runnable(programs.code(name)))
      // Otherwise it takes itself for a file that another run of node --test started.
      const { NODE_TEST_CONTEXT: _, ...env } = process.env
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--no-warnings', '--test', '--test-reporter=tap', file],
        // It starts the file in a process of its own, which gets no option of this one.
        { env: { ...env, NODE_OPTIONS: FROM_SOURCE } },
      )
      expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).to.be.greaterThan(20)
      expect(stdout).to.match(/^# fail 0$/m)
    })
})
