/** What the README says, it does: its TypeScript compiles, and its first block serves the whole flow. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { machineClient, publicClient } from '../fixtures/clients.ts'
import { API } from '../fixtures/deployment.ts'
import { SIGNING_KEY } from '../fixtures/keys.ts'
import { credentials, form, send } from '../fixtures/requests.ts'
import { freePort } from '../fixtures/server-process.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../src/constants.ts'
import { resolveOptions } from '../src/options.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const README = readFileSync(path.join(ROOT, 'README.md'), 'utf8')
const BLOCKS = [...README.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code ?? '')

/** The reader's own part, which the README leaves out. */
const myDeployment = (port: number, folder: string) => `
import { Provider, type Configuration, errors } from 'oidc-provider'
import { Sequelize } from 'sequelize'
import { nodeSqlite, createSubjectTokenStore } from '../../src/sequelize/index.ts'
export const issuer = 'http://127.0.0.1:${port}/oidc'
export const sequelize = new Sequelize({
  dialect: 'sqlite', dialectModule: nodeSqlite, storage: '${folder}/readme.sqlite', logging: false,
})
export const store = createSubjectTokenStore(sequelize)
export const clients: Configuration['clients'] = ${JSON.stringify([
  { ...publicClient(), id_token_signed_response_alg: 'ES256' },
  { ...machineClient(), id_token_signed_response_alg: 'ES256' },
])}
export const jwks: Configuration['jwks'] = ${JSON.stringify({ keys: [SIGNING_KEY] })}
export const keys = ['a key of the tests']
export const findAccount: NonNullable<Configuration['findAccount']> = async (_ctx, accountId) => ({
  accountId, claims: () => ({ sub: accountId }),
})
export const resourceIndicators: NonNullable<NonNullable<Configuration['features']>['resourceIndicators']> = {
  enabled: true,
  getResourceServerInfo(_ctx, resource) {
    if (resource !== '${API}') throw new errors.InvalidTarget()
    return { scope: 'orders:read', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } }
  },
}
export const isSupport = async (_id: string) => true
export const onDuty = async (_id: string | undefined) => true
export declare const provider: Provider
`

describe('README', () => {
  let folder: string
  let port: number
  before(async () => {
    port = await freePort()
    // Inside the repository, so that packages are found.
    folder = mkdtempSync(path.join(ROOT, 'test', '.readme-'))
    writeFileSync(path.join(folder, 'my-deployment.ts'), myDeployment(port, folder))
    for (const [index, block] of BLOCKS.entries())
      writeFileSync(path.join(folder, `block-${index}.ts`), block)
  })
  after(() => rmSync(folder, { recursive: true }))

  it('has TypeScript that compiles', async function () {
    this.timeout(60_000)
    expect(BLOCKS.length).to.be.greaterThan(3)
    const configuration = {
      extends: path.join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        noUnusedLocals: false,
        noUnusedParameters: false,
        paths: {
          'oidc-provider-impersonation': [path.join(ROOT, 'src/index.ts')],
          'oidc-provider-impersonation/sequelize': [path.join(ROOT, 'src/sequelize/index.ts')],
        },
      },
      include: [`${folder}/*.ts`],
    }
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(configuration))
    const { stdout } = await promisify(execFile)(path.join(ROOT, 'node_modules/.bin/tsc'), [
      '-p',
      folder,
    ]).catch((error: { stdout: string }) => error)
    expect(stdout).to.equal('')
  })

  it('starts with a block that serves the whole flow', async function () {
    this.timeout(60_000)
    const server = startFirstBlock(folder, port)
    try {
      const base = `http://127.0.0.1:${port}`
      await untilServes(`${base}/oidc/.well-known/openid-configuration`)
      const token = await send(`${base}/oidc/token`, {
        method: 'POST',
        headers: credentials(machineClient()).headers,
        body: form({
          grant_type: 'client_credentials',
          resource: `${base}/api`,
          scope: 'subject-tokens:create',
        }),
      })
      const issued = await send(`${base}/api/subject-tokens`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token.body.access_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ userId: 'alice' }),
      })
      expect(issued.status, issued.text).to.equal(201)
      const exchanged = await send(`${base}/oidc/token`, {
        method: 'POST',
        body: form({
          grant_type: TOKEN_EXCHANGE,
          client_id: 'spa',
          subject_token: issued.body.subjectToken,
          subject_token_type: ACCESS_TOKEN_TYPE,
          resource: API,
          scope: 'orders:read',
        }),
      })
      expect(exchanged.status, exchanged.text).to.equal(200)
      expect(decodeJwt(exchanged.body.access_token)).to.include({
        sub: 'alice',
        aud: API,
        scope: 'orders:read',
      })
    } finally {
      server.kill()
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
    }
  })

  it('lists every option', () => {
    const never = async (): Promise<never> => {
      throw new Error('not called')
    }
    const store = {
      insert: never,
      findByHash: never,
      consume: never,
      get: never,
      list: never,
      revoke: never,
      revokeWhere: never,
    }
    for (const option of Object.keys(resolveOptions({ store })))
      expect(README).to.include(`| \`${option}\` |`)
  })

  it('points to files that exist', () => {
    for (const [, target = ''] of README.matchAll(/\]\((?!https?:|#)([^)#]+)\)/g)) {
      expect(() => readFileSync(path.join(ROOT, target)), target).not.to.throw()
    }
  })
})

function startFirstBlock(folder: string, port: number): ChildProcess {
  const [block = ''] = BLOCKS
  const runnable = block
    .replace("'oidc-provider-impersonation/sequelize'", "'../../src/sequelize/index.ts'")
    .replace("'oidc-provider-impersonation'", "'../../src/index.ts'")
    .replace('app.listen(3000)', `app.listen(${port}, '127.0.0.1')`)
  const file = path.join(folder, 'first.ts')
  writeFileSync(file, runnable)
  return spawn(process.execPath, ['--no-warnings', file], { stdio: 'ignore' })
}

async function untilServes(url: string): Promise<void> {
  for (let attempts = 0; attempts < 100; attempts += 1) {
    const answered = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    )
    if (answered) return
    await sleep(100)
  }
  throw new Error('the first block of the README does not serve')
}
