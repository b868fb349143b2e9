/** `oidc-impersonation-check` as a command: what it takes, prints and ends with. What it finds is in ../check.test.ts. */
import path from 'node:path'
import { expect } from 'chai'
import { runCheck } from '../../../fixtures/commands.ts'
import { moduleOn, useFolder } from '../../../fixtures/deployment-module.ts'
import { check } from '../src/check.ts'

const SECRET = 'a+secret of the tests'

/** The module of a deployment, whose last lines are given. */
const moduleOf = (exports: string, secret = 'a-secret-of-the-tests'): string =>
  moduleOn(
    `new Sequelize({ dialect: 'sqlite', dialectModule: nodeSqlite, storage: ':memory:', logging: false })
await migrate(sequelize)`,
    {
      configuration: `clients: [
    { client_id: 'spa', redirect_uris: ['https://app.example.com/cb'], token_endpoint_auth_method: 'none',
      response_types: ['code'], grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:token-exchange'],
      token_exchange_resources: ['https://api.example.com'] },
    { client_id: 'backend', client_secret: '${secret}', redirect_uris: [], response_types: [],
      grant_types: ['client_credentials'], scope: 'subject-tokens:create' },
  ],
  features: { devInteractions: { enabled: false }, resourceIndicators: { enabled: true,
    getResourceServerInfo: () => ({ scope: 'orders:read', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } }) } },`,
      exports,
    },
  )
const EXPORTS = 'impersonation.router()\nexport { impersonation, provider, sequelize }'

describe('oidc-impersonation-check', () => {
  const folder = useFolder()
  /** As a process. */
  const command = (text: string, ...options: string[]) => runCheck(folder.write(text), ...options)
  /** In this process. */
  const look = (text: string) => check({ module: folder.write(text) })

  it('prints a table, with what to do below each trouble', async () => {
    const { code, stdout } = await command(moduleOf(EXPORTS))
    expect(code).to.equal(0)
    expect(stdout.split('\n')).to.deep.equal([
      '✓ storage           responds, and its tables fit',
      '✓ many at once      40 reads at the same time succeeded',
      '✓ rights            the role may read, insert, update and delete in every table',
      '✓ management API    http://127.0.0.1:3000/api is where it is mounted',
      '✓ status lists      http://127.0.0.1:3000/api/status-lists is the default address of no other issuer in this database',
      '✓ clients           the metadata of 2 static clients is valid',
      '✓ secrets           Authorization: Basic can carry those of backend',
      '✓ who may issue     backend',
      '✓ who may exchange  spa',
      '✓ resources         https://api.example.com: known, and the format of the access tokens is set',
      '✓ strangers         no one registers without an initial access token',
      '! actor             an exchange without an actor token is accepted: the access token then says nothing of who acts',
      '                    → set requireActor: true if every engineer signs in',
      '! policy            there is no isAllowed: every user may be impersonated',
      '                    → set isAllowed',
      '13 checks, no fault, 2 not strict',
      '',
    ])
  })

  it('prints nothing but the findings on stdout, whatever the module logs, and no secret', async () => {
    const logs = `console.log('booting'); console.info('info'); process.stdout.write('debug\\n')`
    const { code, stdout, stderr } = await command(moduleOf(`${logs}\n${EXPORTS}`, SECRET), '--json')
    expect(JSON.parse(stdout)).to.be.an('array')
    expect(stderr).to.equal('booting\ninfo\ndebug\n')
    expect(code).to.equal(1)
    for (const part of [SECRET, encodeURIComponent(SECRET), btoa(`backend:${SECRET}`)])
      expect(stdout + stderr).not.to.include(part)
  })

  it('prints no password of an address, and no control character', async () => {
    const message = `\\u001b[31mno route to postgres://u:hun/t@er2@db/x`
    const exports = `impersonation.ready = async () => { throw new Error('${message}') }\n${EXPORTS}`
    expect((await look(moduleOf(exports))).text).to.match(
      /^✗ storage +not ready: {2}\[31mno route to postgres:\/\/\*\*\*@db\/x$/m,
    )
    const { text } = await check({ module: folder.write(moduleOf(exports)), json: true })
    expect(text).not.to.match(/hun|ter2/)
    const { stderr, code } = await command(`throw new Error('${message}')`)
    expect(stderr).to.equal('oidc-impersonation-check:  [31mno route to postgres://***@db/x\n')
    expect(code).to.equal(1)
  })

  for (const [how, exports] of [
    ['a function', 'export default async () => ({ provider, impersonation })'],
    ['an object', 'export default { impersonation, provider }'],
  ] as const) {
    it(`takes ${how} as default export, and says what it could not look at`, async () => {
      const { text, failed } = await look(moduleOf(exports))
      expect(text).to.match(/^– rights .*does not export `sequelize`$/m)
      expect(text).to.match(/^– management API .*does not call router\(\)/m)
      expect(failed).to.equal(false)
    })
  }

  for (const [what, exports, message] of [
    ['a module without a provider', 'export { impersonation }', 'must export `provider` and `impersonation`'],
    [
      'a copy',
      'const copy = { ...impersonation }; export { provider, copy as impersonation }',
      'a copy of it',
    ],
    [
      'two providers',
      `const other = new Provider('http://127.0.0.1:1/oidc', {}); export { impersonation, other as provider }`,
      'attached to another provider',
    ],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const error = await look(moduleOf(exports)).catch((error: Error) => error)
      expect(error).to.be.an('error').with.property('message').that.includes(message)
    })
  }

  it('refuses an example that is none, before it looks at the deployment, and a module that is not there', async () => {
    const example = folder.write('[]', 'example.json')
    const none = path.join(folder.path, 'none.ts')
    expect(await runCheck(none, '--example', example)).to.deep.equal({
      ...{ code: 1, stdout: '' },
      stderr: `oidc-impersonation-check: ${example}: not a JSON object\n`,
    })
    const error = await check({ module: none }).catch(String)
    expect(error).to.equal(`Error: there is no ${none}`)
  })

  it('closes what the module has opened, also if a look at it fails, and calls no close that is none', async () => {
    const exports = `export const closed = []
      const closing = sequelize.close.bind(sequelize)
      sequelize.close = async () => { closed.push('sequelize'); await closing() }
      const close = async () => { closed.push('module') }
      export { impersonation, provider, sequelize, close }`
    for (const [start, fails] of [
      ['', false],
      [`provider.Client.prototype.metadata = () => { throw new Error('no metadata') }\n`, true],
    ] as const) {
      const module = folder.write(moduleOf(start + exports))
      const error = await check({ module }).catch((error: Error) => error)
      expect(error instanceof Error).to.equal(fails)
      const { closed } = await import(module)
      expect(closed).to.deep.equal(['module', 'sequelize'])
    }
    expect((await look(moduleOf(`const close = 'never'\nexport { close }\n${EXPORTS}`))).failed).to.equal(
      false,
    )
  })
})
