/** The verifier where there is no Node: only the web's APIs are within its reach. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'

describe('resource server: in a worker', () => {
  it('verifies tokens and status lists by the APIs of the web alone', async () => {
    const program = fileURLToPath(import.meta.resolve('./in-a-worker.ts'))
    const flags = ['--no-warnings', '--experimental-vm-modules']
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, program])
    expect(stdout.trim().split('\n')).to.deep.equal([
      'alice false',
      'alice true',
      'Unauthorized stopped',
      'ProviderUnavailable status list: ttl',
      'Unauthorized opaque, and there is no option introspection',
    ])
  })
})
