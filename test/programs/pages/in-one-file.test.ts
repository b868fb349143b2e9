/** The program of example/hosts that is one file: it runs as it is, against the package as it is published. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { readPage, whileRunning } from '../../../fixtures/markdown.ts'
import { installPacked, type ReadersFolder } from '../../../fixtures/packed-package.ts'
import { freePort } from '../../../fixtures/server-process.ts'

const SERVER = readPage('example/hosts/in-one-file.mjs')
const FLOW = readPage('example/hosts/in-one-file.sh')
const [, INSTALLED = []] = /^\/\/ npm install (.*)/.exec(SERVER)?.map((line) => line.split(' ')) ?? []

describe('example: a host in one file', () => {
  let folder: ReadersFolder
  before(async () => {
    folder = await installPacked(INSTALLED)
  })
  after(() => folder?.remove())

  it('runs as it is, with curl lines that sign in, issue, exchange and replay', async () => {
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
        read_only: true,
      })
      expect(response).to.include({ token_type: 'Bearer', scope: 'orders:read' })
      expect(JSON.parse(replayed ?? '')).to.deep.equal({
        error: 'invalid_request',
        error_description: 'subject_token is invalid',
      })
    })
  })

  it('imports nothing that its first line does not install', () => {
    const imported = [...SERVER.matchAll(/ from '((?:@[\w-]+\/)?[\w-]+)/g)].map(([, name]) => name)
    expect(imported).to.include('oidc-provider')
    expect(INSTALLED).to.include.members(imported)
  })
})
