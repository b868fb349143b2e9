/** What the README says works: its first block runs as pasted, against the package as it is published. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { blocksOf, readPage } from '../fixtures/markdown.ts'
import { installPacked, type ReadersFolder } from '../fixtures/packed-package.ts'
import { freePort } from '../fixtures/server-process.ts'
import { uncalledStore as store } from '../fixtures/uncalled-store.ts'
import { resolveOptions } from '../src/options.ts'

const README = readPage('README.md')
const BLOCKS = blocksOf(README)
const codeOf = (language: string, starts: string): string =>
  BLOCKS.find((block) => block.language === language && block.code.startsWith(starts))?.code ?? ''

const INSTALL = codeOf('sh', 'npm install')
const SERVER = codeOf('js', '// server.mjs')
const FLOW = codeOf('sh', 'json()')

describe('README', () => {
  let folder: ReadersFolder
  before(async function () {
    this.timeout(120_000)
    folder = await installPacked(INSTALL.trim().split(' ').slice(2))
  })
  after(() => folder?.remove())

  it('has a block that runs as pasted, and curl lines that issue, exchange and replay', async function () {
    this.timeout(120_000)
    const port = String(await freePort())
    writeFileSync(path.join(folder.path, 'server.mjs'), SERVER.replaceAll('3000', port))
    const server = spawn(process.execPath, ['server.mjs'], { cwd: folder.path, stdio: 'ignore' })
    try {
      await untilServes(`http://127.0.0.1:${port}/oidc/.well-known/openid-configuration`)
      const { stdout } = await promisify(execFile)('bash', ['-ec', FLOW.replaceAll('3000', port)])
      const [exchanged, replayed] = stdout.replace('}{', '}\n{').split('\n')
      const { access_token: token, ...response } = JSON.parse(exchanged ?? '')
      expect(decodeJwt(token)).to.include({
        iss: `http://127.0.0.1:${port}/oidc`,
        sub: 'alice',
        aud: 'https://api.example.com',
        client_id: 'support-desk',
        scope: 'orders:read',
      })
      expect(response).to.include({ token_type: 'Bearer', scope: 'orders:read' })
      expect(JSON.parse(replayed ?? '')).to.deep.equal({
        error: 'invalid_request',
        error_description: 'subject_token is invalid',
      })
    } finally {
      server.kill()
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
    }
  })

  it('imports nothing there that the line above it does not install', () => {
    const imported = [...SERVER.matchAll(/ from '((?:@[\w-]+\/)?[\w-]+)/g)].map(([, name]) => name)
    expect(imported).to.include('oidc-provider')
    expect(INSTALL.trim().split(' ').slice(2)).to.include.members(imported)
  })

  it('lists every option', () => {
    for (const option of Object.keys(resolveOptions({ store })))
      expect(README).to.include(`| \`${option}\` |`)
  })

  it('shows pictures that are small', () => {
    const pictures = [...README.matchAll(/docs\/images\/[\w-]+\.png/g)].map(([file]) => file)
    expect(new Set(pictures)).to.have.length(2)
    for (const file of pictures) expect(readPage(file).length, file).to.be.lessThan(150_000)
  })
})

async function untilServes(url: string): Promise<void> {
  for (let attempts = 0; attempts < 300; attempts += 1) {
    const served = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    )
    if (served) return
    await sleep(100)
  }
  throw new Error('the block does not serve')
}
