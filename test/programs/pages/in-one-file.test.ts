/** The program of docs/integrate.md that is one file: it runs as pasted, against the package as it is published. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { blocksOf, readPage, whileRunning } from '../../../fixtures/markdown.ts'
import { installPacked, type ReadersFolder } from '../../../fixtures/packed-package.ts'
import { freePort } from '../../../fixtures/server-process.ts'

const [INSTALL = '', SERVER = '', FLOW = ''] = blocksOf(readPage('docs/integrate.md'))
  .filter(({ heading }) => heading === 'In one file')
  .map(({ code }) => code)
const INSTALLED = INSTALL.trim().split(' ').slice(2)

describe('docs: integrate, in one file', () => {
  let folder: ReadersFolder
  before(async () => {
    folder = await installPacked(INSTALLED)
  })
  after(() => folder?.remove())

  it('is a block that runs as pasted, and curl lines that issue, exchange and replay', async () => {
    const port = String(await freePort())
    const file = path.join(folder.path, 'server.mjs')
    writeFileSync(file, SERVER.replaceAll('3000', port))
    await whileRunning(file, `http://127.0.0.1:${port}/oidc/.well-known/openid-configuration`, async () => {
      const { stdout } = await promisify(execFile)('bash', ['-ec', FLOW.replaceAll('3000', port)])
      const [exchanged, replayed] = stdout.replace('}{', '}\n{').split('\n')
      const { access_token: token, ...response } = JSON.parse(exchanged ?? '')
      expect(decodeJwt(token)).to.deep.include({
        iss: `http://127.0.0.1:${port}/oidc`,
        sub: 'alice',
        act: { sub: 'sam' },
        aud: 'https://api.example.com',
        client_id: 'support-desk',
        scope: 'orders:read',
      })
      expect(response).to.include({ token_type: 'Bearer', scope: 'orders:read' })
      expect(JSON.parse(replayed ?? '')).to.deep.equal({
        error: 'invalid_request',
        error_description: 'subject_token is invalid',
      })
    })
  })

  it('imports nothing that the line above it does not install', () => {
    const imported = [...SERVER.matchAll(/ from '((?:@[\w-]+\/)?[\w-]+)/g)].map(([, name]) => name)
    expect(imported).to.include('oidc-provider')
    expect(INSTALLED).to.include.members(imported)
  })
})
