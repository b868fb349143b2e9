/** `oidc-impersonation check` asks what the exchange asks, because it is the same code: what is added there is there. */
import { execFile } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'

const ROOT = path.resolve(import.meta.dirname, '../..')

/** A developer adds a member to what a stage asks: after this text, which stands in one file. */
const ADDITIONS = {
  issuance: "stage: 'issuance',\n      use,",
  exchange: "stage: 'exchange',\n    use:",
  onBehalfOf: "stage: 'onBehalfOf',\n    userId,",
  claims: 'context: {\n      grant,',
}

const DEPLOYMENT = `
import { deploy, API } from './deployment.ts'
const told = (request) => (console.error(request.added), request.actor?.sub === 'sam')
const billing = 'https://billing.example.com'
export default () => deploy({
  options: {
    onBehalfOf: true,
    isAllowed: told,
    getCustomJwtClaims: ({ context }) => (console.error(context.added), {}),
  },
  api: {
    client_id: 'orders-api', client_secret: 'a-secret-of-the-api', redirect_uris: [], response_types: [],
    grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange'],
    token_exchange_audiences: [API], token_exchange_resources: [billing],
  },
  indicators: { enabled: true, getResourceServerInfo: (_ctx, audience) => ({
    audience, scope: 'orders:read', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } }) },
})
`

describe('oidc-impersonation check: a member that is added to the exchange', () => {
  let copy: string
  before(() => {
    copy = mkdtempSync(path.join(ROOT, 'test', '.check-'))
    for (const folder of ['src', 'test/cli/check', 'fixtures', 'example/login', 'package.json'])
      cpSync(path.join(ROOT, folder), path.join(copy, folder), { recursive: true })
    const sources = globSync('src/**/*.ts', { cwd: copy }).map((file) => path.join(copy, file))
    for (const [added, text] of Object.entries(ADDITIONS)) {
      const [file = '', ...others] = sources.filter((source) => readFileSync(source, 'utf8').includes(text))
      expect([file !== '', others], text).to.deep.equal([true, []])
      const first = text.replace(/(\w+:?,?)$/, `added: '${added}', $1`)
      writeFileSync(file, readFileSync(file, 'utf8').replace(text, first))
    }
  })
  after(() => rmSync(copy, { recursive: true, force: true }))

  it('reaches the functions of the deployment', async () => {
    const folder = path.join(copy, 'test/cli/check')
    const example = JSON.parse(readFileSync(path.join(folder, 'example.json'), 'utf8'))
    const step = { clientId: 'orders-api', resource: 'https://billing.example.com' }
    writeFileSync(path.join(folder, 'follows.ts'), DEPLOYMENT)
    writeFileSync(path.join(folder, 'follows.json'), JSON.stringify({ ...example, onBehalfOf: step }))
    const program = [path.join(copy, 'src/cli/main.ts'), 'check', path.join(folder, 'follows.ts')]
    const options = ['--example', path.join(folder, 'follows.json')]
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [
      '--no-warnings',
      ...program,
      ...options,
    ])
    expect(stdout).to.match(/, no fault$/m)
    expect(stderr.trim().split('\n')).to.deep.equal([
      'issuance',
      'exchange',
      'claims',
      'onBehalfOf',
      'claims',
    ])
  })
})
