/** `oidc-impersonation purge`: what it prints while it works, and at the end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { CLI, run, tokenThatEnds } from '../../../fixtures/commands.ts'
import { useDatabase } from '../../../fixtures/on-database.ts'
import { createSubjectTokenStore } from '../../../src/sequelize/index.ts'

/** Before the command, in its process. */
const preload = (code: string) => [
  '--no-warnings',
  '--import',
  `data:text/javascript,${encodeURIComponent(code)}`,
]

/** Five seconds pass in each tenth, and stderr is told. */
const FASTER = `
  import { mock } from 'node:test'
  const real = setInterval
  mock.timers.enable({ apis: ['setInterval'] })
  real(() => { mock.timers.tick(5_000); process.stderr.write('5 s\\n') }, 100)`

describe('oidc-impersonation purge', () => {
  const database = useDatabase('sqlite', { each: true })
  beforeEach(async () => {
    const store = createSubjectTokenStore(database.sequelize)
    for (let i = 0; i < 3; i += 1) await store.insert(tokenThatEnds(-500))
  })

  const TOTAL = '3 subject tokens and 0 models of the provider'

  it('shows on a terminal how far it is, and leaves the total', async () => {
    const terminal = preload('process.stderr.isTTY = true')
    expect(await run(['purge', '--retention', '0'], database.url, { node: terminal })).to.deep.equal({
      code: 0,
      stdout: `Deleted ${TOTAL}.\n`,
      stderr: `\r${TOTAL} …\r\u001b[K`,
    })
  })

  it('prints a line every 10 s elsewhere', async () => {
    const { sequelize } = database
    await sequelize.query('BEGIN IMMEDIATE')
    const child = spawn(process.execPath, [...preload(FASTER), CLI, 'purge', '--retention', '0'], {
      env: { ...process.env, DATABASE_URL: database.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(child, 'exit')
    const stdout = text(child.stdout)
    let stderr = ''
    const lines = () => stderr.match(/^0 subject tokens .*\n/gm) ?? []
    for await (const said of child.stderr) {
      stderr += String(said)
      if (lines().length === 2) await sequelize.query('ROLLBACK').catch(() => {})
    }
    expect(await ended).to.deep.equal([0, null])
    const line = '0 subject tokens and 0 models of the provider …\n'
    expect(stderr).to.include(`${line}5 s\n5 s\n${line}`)
    expect(await stdout).to.equal(`Deleted ${TOTAL}.\n`)
  })
})
