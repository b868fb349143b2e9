/** `oidc-impersonation check` ends with its exit code when its output is written, whatever the deployment keeps open. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { openDatabase } from '../../../fixtures/databases.ts'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { itOn } from '../../../fixtures/on-database.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const CLI = path.join(ROOT, 'src/cli/main.ts')

/** A deployment in memory, and what it keeps open. */
const moduleOf = (open: string): string => `
import Provider from 'oidc-provider'
import { createImpersonation } from '${ROOT}/src/index.ts'
import { createMemoryStore } from '${ROOT}/src/testing/index.ts'
export const impersonation = createImpersonation({ store: createMemoryStore() })
export const provider = new Provider('http://127.0.0.1:3000/oidc', impersonation.configure({
  adapter: class {},
  jwks: ${JSON.stringify({ keys: [SIGNING_KEY] })},
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  cookies: { keys: ['a key'] },
  features: { devInteractions: { enabled: false } },
}))
impersonation.attach(provider)
${open}
`
/** Milliseconds that `check` waits for `close` of the module. */
const CLOSING = 3_000
const INTERVAL = 'setInterval(() => {}, 1000)'
const FAULT = `impersonation.ready = async () => { throw new Error('no such table') }`

describe('oidc-impersonation check, of a deployment that holds the process', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(path.join(ROOT, 'test', '.check-ends-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const start = (open: string) => {
    const file = path.join(folder, 'deployment.ts')
    writeFileSync(file, moduleOf(open))
    // One that does not end by itself has no exit code. A busy machine takes seconds to load it, and none to end it.
    const limit = { timeout: 45_000, killSignal: 'SIGKILL' } as const
    const args = ['--no-warnings', CLI, 'check', file]
    const started = spawn(process.execPath, args, { ...limit, stdio: 'pipe' })
    started.stdout.once('readable', () => {
      const ending = setTimeout(() => started.kill('SIGKILL'), CLOSING + 3_000)
      started.once('exit', () => clearTimeout(ending))
    })
    return started
  }
  const run = async (open: string) => {
    const started = start(open)
    const [stdout, stderr, [code]] = await Promise.all([
      text(started.stdout),
      text(started.stderr),
      once(started, 'exit'),
    ])
    return { code, stdout, stderr }
  }

  it('writes all of its output to pipes that are read slowly', async () => {
    const long = 'x'.repeat(1_000_000)
    const started = start(`${INTERVAL}
      console.error('x'.repeat(1_000_000))
      impersonation.ready = async () => { throw new Error('x'.repeat(1_000_000)) }`)
    const ended = once(started, 'exit')
    await once(started.stdout, 'readable')
    // By then it would have ended without waiting.
    await pause(300)
    expect(started.exitCode).to.equal(null)
    const [stdout, stderr] = await Promise.all([text(started.stdout), text(started.stderr)])
    expect(stdout.length).to.be.greaterThan(long.length)
    expect(stdout.endsWith('\n')).to.equal(true)
    expect(stderr).to.equal(`${long}\n`)
    expect((await ended)[0]).to.equal(1)
  })

  it('prints what it has found if the module never closes', async () => {
    const { code, stdout } = await run(`${INTERVAL}
      import { writeSync } from 'node:fs'
      export const close = () => new Promise(() => writeSync(1, 'closing\\n'))`)
    expect(stdout).to.match(/^closing\n✓ storage/)
    expect(code).to.equal(0)
  })

  it('prints what it has found if the module fails to close', async () => {
    const { code, stdout } = await run(`export const close = () => { throw new Error('gone') }`)
    expect(stdout).to.match(/^✓ storage/m)
    expect(code).to.equal(0)
  })

  it('ends without a stack trace if no one reads its output', async () => {
    const started = start(`impersonation.ready = async () => { throw new Error('x'.repeat(1_000_000)) }`)
    started.stdout.destroy()
    const [stderr, [code]] = await Promise.all([text(started.stderr), once(started, 'exit')])
    expect(stderr).to.equal('')
    expect(code).to.equal(1)
  })

  const HELD: readonly [what: string, open: string][] = [
    ['an interval', INTERVAL],
    [
      'a server that listens',
      `import { createServer } from 'node:http'
      createServer().listen(0, '127.0.0.1')`,
    ],
  ]
  for (const [what, open] of HELD) {
    it(`ends with 0 beside ${what}`, async () => {
      const { code, stdout, stderr } = await run(open)
      expect(stderr).to.equal('')
      expect(stdout).to.match(/^✓ storage/m)
      expect(code).to.equal(0)
    })

    it(`ends with 1 beside ${what}, if there is a fault`, async () => {
      const { code, stdout } = await run(`${FAULT}\n${open}`)
      expect(stdout).to.match(/^✗ storage +not ready: no such table$/m)
      expect(code).to.equal(1)
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
    expect([code, stdout, stderr]).to.deep.equal([1, '', 'oidc-impersonation: no settings\n'])
  })
})
