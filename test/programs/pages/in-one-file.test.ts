/** The program of example/hosts that is one file: it runs as it is, with what its first line installs. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { readPage, whileRunning } from '../../../fixtures/markdown.ts'
import { useInstalled } from '../../../fixtures/packed-package.ts'
import { freePort } from '../../../fixtures/server-process.ts'

const SERVER = readPage('example/hosts/in-one-file.mjs')
const FLOW = readPage('example/hosts/in-one-file.sh')
const [, INSTALLED = []] = /^\/\/ npm install (.*)/.exec(SERVER)?.map((line) => line.split(' ')) ?? []

describe('example: a host in one file', () => {
  const folder = useInstalled(INSTALLED)

  it('runs as it is, with curl lines that sign in, issue, exchange and replay', async () => {
    const port = String(await freePort())
    const file = folder.write('server.mjs', SERVER.replaceAll('3000', port))
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
})
