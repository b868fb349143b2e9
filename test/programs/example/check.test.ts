/** The example, looked at by `oidc-impersonation check`. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { startExample } from '../../../example/deployment.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')

interface Finding {
  readonly level: string
  readonly about: string
  readonly text: string
}

describe('the example, checked', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'impersonation-check-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('has no fault, and leaves no door open', async () => {
    const { close } = await startExample({ port: 0, storage: path.join(folder, 'example.sqlite') })
    await close()
    const findings = await check()
    const others = findings.filter(({ level }) => level === 'ok').map(({ about }) => about)
    expect(others).to.include.members(['storage', 'rights', 'management API', 'clients', 'dry run'])
    expect(findings.filter(({ level }) => level !== 'ok')).to.deep.equal([])
  })

  async function check(): Promise<Finding[]> {
    const { DATABASE_URL: _, PORT: __, ...env } = process.env
    const program = [path.join(ROOT, 'src/cli/main.ts'), 'check', path.join(ROOT, 'example/check.ts')]
    const options = ['--example', path.join(ROOT, 'example/check.json'), '--json']
    const args = ['--no-warnings', ...program, ...options]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env })
    return JSON.parse(stdout)
  }
})
