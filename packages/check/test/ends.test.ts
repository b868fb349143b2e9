/** `oidc-impersonation-check` ends with its exit code when its output is written, whatever the deployment keeps open. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { CHECK, finished } from '../../../fixtures/commands.ts'
import { openDatabase } from '../../../fixtures/databases.ts'
import { moduleOf, useFolder } from '../../../fixtures/deployment-module.ts'
import { itOn } from '../../../fixtures/on-database.ts'
import { FROM_SOURCE } from '../../../fixtures/packed-package.ts'

/** Milliseconds that `check` waits for `close` of the module. */
const CLOSING = 3_000
const INTERVAL = 'setInterval(() => {}, 1000)'
const SERVER = `import { createServer } from 'node:http'
  createServer().listen(0, '127.0.0.1')`
const CLOSES_NEVER = `${INTERVAL}
  import { writeSync } from 'node:fs'
  export const close = () => new Promise(() => writeSync(1, 'closing\\n'))`
const fault = (message: string) => `impersonation.ready = async () => { throw new Error(${message}) }`
const LONG = `'x'.repeat(1_000_000)`
const FAULT = fault(`'no such table'`)

describe('oidc-impersonation-check, of a deployment that holds the process', () => {
  const folder = useFolder()

  /** `open`: what the module keeps open. */
  const start = (open: string) => {
    const file = folder.write(`${moduleOf()}\n${open}`)
    // One that does not end by itself has no exit code. A busy machine takes seconds to load it, and none to end it.
    const limit = { timeout: 45_000, killSignal: 'SIGKILL' } as const
    const args = ['--no-warnings', FROM_SOURCE, CHECK, file]
    const started = spawn(process.execPath, args, { ...limit, stdio: 'pipe' })
    started.stdout.once('readable', () => {
      const ending = setTimeout(() => started.kill('SIGKILL'), CLOSING + 3_000)
      started.once('exit', () => clearTimeout(ending))
    })
    return started
  }
  const run = (open: string) => finished(start(open))

  it('writes all of its output to pipes that are read slowly', async () => {
    const started = start(`${INTERVAL}\nconsole.error(${LONG})\n${fault(LONG)}`)
    const ended = once(started, 'exit')
    await once(started.stdout, 'readable')
    // By then it would have ended without waiting.
    await pause(300)
    expect(started.exitCode).to.equal(null)
    const [stdout, stderr] = await Promise.all([text(started.stdout), text(started.stderr)])
    expect(stdout.length).to.be.greaterThan(1_000_000)
    expect(stdout.endsWith('\n')).to.equal(true)
    expect(stderr).to.equal(`${'x'.repeat(1_000_000)}\n`)
    expect((await ended)[0]).to.equal(1)
  })

  it('ends without a stack trace if no one reads its output', async () => {
    const started = start(fault(LONG))
    started.stdout.destroy()
    const [stderr, [code]] = await Promise.all([text(started.stderr), once(started, 'exit')])
    expect(stderr).to.equal('')
    expect(code).to.equal(1)
  })

  const FOUND = /^✓ storage/m
  const FAULTY = /^✗ storage +not ready: no such table$/m
  const HELD: readonly [what: string, open: string, code: number, stdout: RegExp][] = [
    ['prints what it has found if the module never closes', CLOSES_NEVER, 0, /^closing\n✓ storage/],
    [
      'prints what it has found if the module fails to close',
      `export const close = () => { throw new Error('gone') }`,
      0,
      FOUND,
    ],
    ['ends with 0 beside an interval', INTERVAL, 0, FOUND],
    ['ends with 0 beside a server that listens', SERVER, 0, FOUND],
    ['ends with 1 beside an interval, if there is a fault', `${FAULT}\n${INTERVAL}`, 1, FAULTY],
    ['ends with 1 beside a server that listens, if there is a fault', `${FAULT}\n${SERVER}`, 1, FAULTY],
  ]
  for (const [title, open, code, stdout] of HELD) {
    it(title, async () => {
      const ended = await run(open)
      expect(ended).to.include({ code, stderr: '' })
      expect(ended.stdout).to.match(stdout)
    })
  }

  itOn('postgres', 'ends beside a pool whose connection is in use', async () => {
    const database = await openDatabase('postgres', { migrated: false })
    try {
      const open = `import { Pool } from 'pg'
      await new Pool({ connectionString: '${database.url}' }).connect()`
      expect(await run(open)).to.include({ code: 0, stderr: '' })
    } finally {
      await database.close()
    }
  })

  it('ends if the module cannot be looked at', async () => {
    const { code, stdout, stderr } = await run(`${INTERVAL}\nthrow new Error('no settings')`)
    expect([code, stdout, stderr]).to.deep.equal([1, '', 'oidc-impersonation-check: no settings\n'])
  })
})
