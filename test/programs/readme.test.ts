/** What the README says: its diff makes a provider impersonate, its blocks run, and it stays short. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { withActor } from '../../fixtures/actor-tokens.ts'
import { introspectingClient, machineClient, publicClient } from '../../fixtures/clients.ts'
import { addressesOf } from '../../fixtures/deployment.ts'
import { engineersToken } from '../../fixtures/engineers-sign-in.ts'
import { send } from '../../fixtures/http.ts'
import { SIGNING_KEY } from '../../fixtures/keys.ts'
import { revoke } from '../../fixtures/management.ts'
import { blocksOf, compile, ROOT, readPage, whileRunning } from '../../fixtures/markdown.ts'
import { PACKAGES, readManifest, useInstalled } from '../../fixtures/packed-package.ts'
import { codeOf, rowsOf, sectionOf } from '../../fixtures/page.ts'
import { expectWholeFlow } from '../../fixtures/readers-flow.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { freePort } from '../../fixtures/server-process.ts'
import { TOKEN_EXCHANGE } from '../../src/index.ts'

const README = readPage('README.md')
const IMAGES = path.join(ROOT, 'docs/images')
const blockOf = (language: string, starts = ''): string =>
  blocksOf(README).find((block) => block.language === language && block.code.startsWith(starts))?.code ?? ''

/** What the first lines of the README take for granted. */
const BEFORE_FIRST_LINES = `
import { createImpersonation, type ImpersonationOptions, type SubjectTokenStore } from 'oidc-provider-impersonation'
import { createConsole, type ConsoleOptions } from 'oidc-provider-impersonation-console'
import { createImpersonationClient } from 'oidc-provider-impersonation-client'
import { createVerifier } from 'oidc-provider-impersonation-resource-server'
import { subjectTokenStoreContract } from 'oidc-provider-impersonation-store-contract'
import { describe, it } from 'node:test'
declare const store: SubjectTokenStore
declare const isAllowed: ImpersonationOptions['isAllowed'] & {}
declare const authorize: ConsoleOptions['authorize']
declare const issuer: string, audience: string, clientId: string, clientSecret: string
declare const create: () => Promise<{ store: SubjectTokenStore }>
`

const DIFF = blockOf('diff')
const PROVIDER = readFileSync(path.join(import.meta.dirname, 'readers-provider.js'), 'utf8')

/** The program after the diff. Its parts are divided by blank lines, and each must fit in one place. */
function patched(program: string, diff: string): string {
  return diff
    .trimEnd()
    .split('\n\n')
    .reduce((text, part) => {
      const lines = part.split('\n')
      const side = (sign: string) =>
        lines.filter((line) => [' ', sign].includes(line[0] ?? '')).map((line) => `${line.slice(1)}\n`)
      const pieces = text.split(side('-').join(''))
      expect(pieces, part).to.have.length(2)
      return pieces.join(side('+').join(''))
    }, program)
}

describe('README: four lines in a provider with an adapter of its own', () => {
  const folder = useInstalled([
    'oidc-provider-impersonation',
    'sequelize',
    'oidc-provider',
    'koa',
    'koa-mount',
  ])
  let baseUrl: string
  const whileServing = (program: string, use: () => Promise<void>) => {
    const file = folder.write('provider.js', program.replaceAll('3000', new URL(baseUrl).port))
    return whileRunning(file, `${baseUrl}/oidc/.well-known/openid-configuration`, use)
  }
  before(async () => {
    baseUrl = `http://127.0.0.1:${await freePort()}`
    const clients = [machineClient(), publicClient(), introspectingClient()]
    folder.write('settings.json', JSON.stringify({ clients, jwks: { keys: [SIGNING_KEY] } }))
    folder.write('package.json', '{"type":"module"}')
    folder.write('impersonation.js', blockOf('js', '// impersonation.js'))
  })

  it('are four, and one line goes', () => {
    expect(DIFF.match(/^\+/gm)).to.have.length(4)
    expect(DIFF.match(/^-/gm)).to.have.length(1)
  })

  it('are missed without them: the provider has neither the grant nor the management API', async () => {
    await whileServing(PROVIDER, async () => {
      const { body } = await send(`${baseUrl}/oidc/.well-known/openid-configuration`)
      expect(body.grant_types_supported).not.to.include(TOKEN_EXCHANGE)
      expect((await send(`${baseUrl}/api/subject-tokens`)).status).to.equal(404)
    })
  })

  it('serve the whole flow, JWT and opaque, and leave every model of the provider in its own adapter', async () => {
    await whileServing(patched(PROVIDER, DIFF), async () => {
      await expectWholeFlow(baseUrl)
      await expectStoppedOpaqueToken(baseUrl)
    })
    const database = new DatabaseSync(path.join(folder.path, 'subject-tokens.sqlite'), { readOnly: true })
    const count = (table: string) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n
    expect([count('subject_tokens'), count('oidc_models')]).to.deep.equal([2, 0])
    database.close()
  })
})

/** The opaque token and its Grant are models of the provider: a revocation reaches them through its adapter. */
async function expectStoppedOpaqueToken(baseUrl: string): Promise<void> {
  const reader = addressesOf(baseUrl)
  const { subjectToken, id } = await issue(reader, { actorId: 'sam' })
  const { body, text } = await exchange(reader, {
    ...{ subject_token: subjectToken, resource: 'https://api.example.com/opaque' },
    ...withActor(await engineersToken(reader.issuer)),
  })
  const active = async () => (await introspect(reader, body.access_token)).active
  expect(await active(), text).to.equal(true)
  await revoke(reader, id)
  expect(await active()).to.equal(false)
}

describe('README', () => {
  it('has at most 1,000 words', () => {
    expect(README.trim().split(/\s+/).length).to.be.at.most(1000)
  })

  it('tells each reader what to install, and a first line that compiles or is a command', async () => {
    const rows = rowsOf(sectionOf(README, 'oidc-provider-impersonation'))
    const installed = rows.flatMap(([, install = '']) => codeOf(install))
    const ours = [...PACKAGES.keys()].filter((name) => name.startsWith('oidc-provider-impersonation'))
    expect(installed).to.have.members([...ours, 'sequelize'])
    const lines = rows.flatMap(([, , line = '']) => codeOf(line))
    expect(lines).to.have.length(rows.length)
    const commands = lines.flatMap((line) => /^npx (\S+)/.exec(line)?.[1] ?? [])
    expect(commands).to.deep.equal(Object.keys(readManifest('packages/check').bin ?? {}))
    const code = lines.filter((line) => !line.startsWith('npx '))
    const output = await compile({ 'first-lines.ts': [BEFORE_FIRST_LINES, ...code].join('\n') })
    expect(output).to.equal('')
  })

  it('packs every package before the first release, and names the tarball', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'impersonation-packed-'))
    const [, pack = ''] = /^(npm pack .* )\.\.$/m.exec(README) ?? []
    const [, named] = /^npm install \.\.\/(\S+)/m.exec(README) ?? []
    try {
      await promisify(execFile)('bash', ['-ec', pack + folder], { cwd: ROOT })
      const packed = readdirSync(folder)
      for (const [name, from] of PACKAGES)
        expect(packed).to.include(`${name}-${readManifest(from).version}.tgz`)
      expect(packed).to.include(named)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('shows pictures that are small, as light and as dark as the reader wants it', () => {
    const shown = new Set([...README.matchAll(/docs\/images\/([\w-]+\.png)/g)].map(([, file]) => file))
    const names = ['shop-3-shop', 'console-now', 'desk-stopped']
    expect([...shown]).to.have.members(names.flatMap((name) => [`${name}-light.png`, `${name}-dark.png`]))
    const files = readdirSync(IMAGES)
    expect(files)
      .to.have.length(18)
      .and.include.members([...shown])
    for (const file of files) expect(statSync(path.join(IMAGES, file)).size, file).to.be.at.most(80_000)
  })
})
