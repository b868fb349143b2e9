/** `oidc-impersonation check`: a sound deployment has no fault, and each planted mistake is the only new finding. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { SIGNING_KEY } from '../../fixtures/keys.ts'
import { newToken } from '../../fixtures/subject-tokens.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const CLI = path.join(ROOT, 'src/cli/main.ts')

interface Finding {
  readonly level: string
  readonly about: string
  readonly text: string
  readonly advice?: string
}

/** What the module of a sound deployment is made of; a mistake replaces a part. */
const SOUND = {
  issuer: `'http://127.0.0.1:3000/oidc'`,
  options: `requireActor: true, isAllowed: ({ userId, actor }) => userId !== 'root' && actor?.sub === 'sam',
    getCustomJwtClaims: ({ context }) => ({ ticket: context.grant.subjectTokenContext.ticketId }),`,
  client: `client_id: 'spa', redirect_uris: ['https://app.example.com/cb'], token_endpoint_auth_method: 'none',
    response_types: ['code'], grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:token-exchange'],
    token_exchange_resources: ['https://api.example.com'],`,
  clientDefaults: `id_token_signed_response_alg: 'ES256'`,
  apis: '',
  resources: `getResourceServerInfo: () => ({ scope: 'orders:read', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } })`,
  features: '',
  migration: 'await migrate(sequelize)',
  router: 'impersonation.router()',
  exports: 'export { impersonation, provider, sequelize }',
}

const moduleOf = (parts: Partial<typeof SOUND>): string => {
  const { issuer, options, client, apis, clientDefaults, resources, features, migration, router, exports } = {
    ...SOUND,
    ...parts,
  }
  return `
import Provider from 'oidc-provider'
import { Sequelize } from 'sequelize'
import { createImpersonation } from '${ROOT}/src/index.ts'
import { createAdapter, createSubjectTokenStore, migrate, nodeSqlite } from '${ROOT}/src/sequelize/index.ts'
const sequelize = new Sequelize({ dialect: 'sqlite', dialectModule: nodeSqlite, storage: ':memory:', logging: false })
${migration}
const impersonation = createImpersonation({ store: createSubjectTokenStore(sequelize), ${options} })
const provider = new Provider(${issuer}, impersonation.configure({
  adapter: createAdapter(sequelize),
  jwks: ${JSON.stringify({ keys: [SIGNING_KEY] })},
  findAccount: async (ctx, accountId) => accountId === 'zoe' ? undefined : { accountId, claims: () => ({ sub: accountId }) },
  cookies: { keys: ['a key'] },
  clientDefaults: { ${clientDefaults} },
  clients: [
    { ${client} },
    ${apis}
    { client_id: 'backend', client_secret: 'a-secret-of-the-tests', redirect_uris: [], response_types: [],
      grant_types: ['client_credentials'], scope: 'subject-tokens:create' },
  ],
  ttl: { AccessToken: 600 },
  features: { devInteractions: { enabled: false }, resourceIndicators: { ${resources} }, ${features} },
}))
impersonation.attach(provider)
${router}
${exports}
`
}

const EXAMPLE = {
  userId: 'alice',
  createdBy: 'backend',
  clientId: 'spa',
  actorId: 'sam',
  resource: 'https://api.example.com',
  context: { ticketId: 'T-1' },
}

describe('oidc-impersonation check', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(path.join(ROOT, 'test', '.check-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const run = (args: readonly string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const program = ['--no-warnings', CLI, 'check', ...args]
      execFile(process.execPath, program, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
      )
    })
  const write = (name: string, text: string): string => {
    writeFileSync(path.join(folder, name), text)
    return path.join(folder, name)
  }
  let written = 0
  const check = async (parts: Partial<typeof SOUND>, example: object = EXAMPLE) => {
    written += 1
    const module = write(`deployment-${written}.ts`, moduleOf(parts))
    const file = write(`example-${written}.json`, JSON.stringify(example))
    const { code, stdout, stderr } = await run([module, '--example', file, '--json'])
    expect(stderr).to.equal('')
    const findings: Finding[] = JSON.parse(stdout)
    return {
      code,
      findings,
      troubles: findings.filter(({ level }) => level === 'warning' || level === 'fault'),
    }
  }

  it('finds nothing wrong with a sound deployment, and says what it looked at', async () => {
    const { code, findings } = await check({})
    expect(findings.filter(({ level }) => level !== 'ok')).to.deep.equal([])
    expect(findings.map(({ about }) => about)).to.deep.equal([
      'storage',
      'many at once',
      'rights',
      'management API',
      'status lists',
      'clients',
      'secrets',
      'who may issue',
      'who may exchange',
      'resources',
      'actor tokens',
      'strangers',
      'options',
      'dry run',
    ])
    expect(code).to.equal(0)
  })

  const PLANTED: readonly [
    mistake: string,
    parts: Partial<typeof SOUND>,
    level: string,
    about: string,
    text: RegExp,
  ][] = [
    ['tables that are missing', { migration: '' }, 'fault', 'storage', /not ready/],
    [
      'an algorithm that no key has',
      { clientDefaults: '' },
      'fault',
      'clients',
      /"spa" fails at its first request: .*id_token_signed_response_alg/,
    ],
    [
      'an issuer with another path',
      { issuer: `'http://127.0.0.1:3000/auth'` },
      'warning',
      'management API',
      /Location names http:\/\/127\.0\.0\.1:3000\/auth\/api, but it is mounted at \/api/,
    ],
    [
      'a router at another path',
      { router: `impersonation.router({ prefix: '/internal' })` },
      'fault',
      'management API',
      /mounted at \/internal/,
    ],
    [
      'another issuer in the database with the same address of its status lists',
      {
        migration: `await migrate(sequelize)
await createSubjectTokenStore(sequelize).insert(${JSON.stringify(newToken({ issuer: 'http://127.0.0.1:3000' }))})`,
      },
      'warning',
      'status lists',
      /status-lists is also the default address of http:\/\/127\.0\.0\.1:3000: /,
    ],
    [
      'no actor required',
      { options: `isAllowed: ({ actor }) => actor?.sub === 'sam'` },
      'warning',
      'actor',
      /without an actor token/,
    ],
    ['no policy', { options: 'requireActor: true' }, 'warning', 'policy', /no isAllowed/],
    [
      'JWTs that no one can stop',
      {
        options: `requireActor: true, isAllowed: ({ actor }) => actor?.sub === 'sam', statusList: false, maxAccessTokenTTL: 3600`,
      },
      'warning',
      'stop',
      /up to 3600 s/,
    ],
    [
      'a client without token_exchange_resources',
      { client: SOUND.client.replace(/token_exchange_resources.*/, '') },
      'warning',
      'resources',
      /every resource: spa/,
    ],
    [
      'client credentials for strangers',
      { features: 'clientCredentials: { enabled: true }, registration: { enabled: true }' },
      'warning',
      'strangers',
      /dynamic registration give anyone client_credentials/,
    ],
    [
      'a policy that throws',
      { options: `requireActor: true, isAllowed: () => { throw new Error('no such table') }` },
      'fault',
      'dry run',
      /isAllowed at the issuance: isAllowed failed/,
    ],
    [
      'a claims function that returns a reserved claim',
      {
        options: `requireActor: true, isAllowed: ({ actor }) => actor?.sub === 'sam', getCustomJwtClaims: () => ({ sub: 'root' })`,
      },
      'fault',
      'dry run',
      /reserved claim sub/,
    ],
  ]
  for (const [mistake, parts, level, about, text] of PLANTED) {
    it(`finds ${mistake}, and nothing else`, async () => {
      const { code, troubles } = await check(parts)
      expect(troubles.length).to.be.greaterThan(0)
      for (const trouble of troubles) expect(trouble).to.include({ level, about })
      expect(troubles[0]?.text).to.match(text)
      expect(troubles[0]?.advice).to.be.a('string')
      expect(code).to.equal(level === 'fault' ? 1 : 0)
    })
  }

  it('says who may go downstream, and looks at where to', async () => {
    const { findings, troubles } = await check({
      options: `${SOUND.options} onBehalfOf: true,`,
      apis: `{ client_id: 'orders-api', client_secret: 'a-secret-of-the-tests', redirect_uris: [], response_types: [],
        grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange'],
        token_exchange_audiences: ['https://api.example.com'], token_exchange_resources: ['https://billing.example.com'] },`,
      resources: `getResourceServerInfo: (_ctx, resource) => ({
        audience: resource, scope: 'invoices:read', accessTokenFormat: resource.includes('billing') ? 'opaque' : 'jwt',
        jwt: { sign: { alg: 'ES256' } } }),`,
    })
    const downstream = findings.find(({ about }) => about === 'who may go downstream')
    expect(downstream).to.include({ level: 'ok', text: 'orders-api' })
    expect(troubles.map(({ about, text }) => `${about}: ${text}`)).to.deep.equal([
      'downstream: "orders-api" may go to https://billing.example.com, whose tokens are opaque: nothing could end them with the first one',
    ])
  })

  it('asks the functions about the example: a denial is a finding', async () => {
    const { code, troubles } = await check({}, { ...EXAMPLE, userId: 'root' })
    expect(troubles.map(({ about, text }) => `${about}: ${text}`).join()).to.match(
      /dry run: isAllowed at the issuance/,
    )
    expect(code).to.equal(1)
    const step = { clientId: 'orders-api', resource: 'https://billing.example.com' }
    const options = `requireActor: true, onBehalfOf: true, isAllowed: ({ stage, actor }) => stage !== 'onBehalfOf' && actor?.sub === 'sam',`
    const apis = `{ client_id: 'orders-api', client_secret: 'a-secret-of-the-tests', redirect_uris: [], response_types: [],
      grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange'],
      token_exchange_audiences: ['https://api.example.com'], token_exchange_resources: ['https://billing.example.com'] },`
    const downstream = await check({ options, apis }, { ...EXAMPLE, onBehalfOf: step })
    expect(downstream.troubles.map(({ about, text }) => `${about}: ${text}`)).to.deep.equal([
      'dry run: isAllowed at the stage onBehalfOf: isAllowed returned false',
    ])
    expect(downstream.code).to.equal(1)
    const unknown = await check({}, { ...EXAMPLE, userId: 'zoe' })
    expect(unknown.troubles[0]?.text).to.match(/there is no account zoe/)
  })

  it('looks at the stored clients that the example names, and at no others', async () => {
    const secret = (client_id: string) => ({
      client_id,
      client_secret: 'a+b',
      redirect_uris: [],
      response_types: [],
    })
    const stored = ['stored-backend', 'stored-desk', 'stored-api', 'stored-other'].map(secret)
    const exports = `for (const client of ${JSON.stringify(stored)})
      await createAdapter(sequelize)('Client').upsert(client.client_id, { ...client, grant_types: [] })
      ${SOUND.exports}`
    const { findings } = await check(
      { exports },
      {
        ...EXAMPLE,
        createdBy: 'stored-backend',
        clientId: 'stored-desk',
        onBehalfOf: { clientId: 'stored-api', resource: 'https://billing.example.com' },
      },
    )
    const texts = (name: string) => findings.filter(({ about }) => about === name).map(({ text }) => text)
    expect(texts('clients')).to.deep.equal([
      'the metadata of 2 static clients and stored-backend, stored-desk, stored-api is valid',
    ])
    expect(texts('secrets')).to.deep.equal(
      ['stored-backend', 'stored-desk', 'stored-api'].map(
        (id) => `"${id}": Authorization: Basic cannot carry its secret unencoded`,
      ),
    )
  })

  it('takes it for a fault that the engineer of the example cannot act, whether or not someone must', async () => {
    const parts = {
      options: SOUND.options.replace('requireActor: true,', ''),
      resources: `${SOUND.resources}, defaultResource: () => 'https://api.example.com', useGrantedResource: () => true`,
    }
    const levelOf = async (example: object) =>
      (await check(parts, example)).troubles.find(({ about }) => about === 'actor tokens')?.level
    expect(await levelOf(EXAMPLE)).to.equal('fault')
    expect(await levelOf({ ...EXAMPLE, actorId: undefined, expect: 'denied' })).to.equal('warning')
  })

  it('prints a table, with what to do below each trouble', async () => {
    const module = write('table.ts', moduleOf({ options: '' }))
    const { code, stdout } = await run([module])
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
      '✓ actor tokens      those of spa can act',
      '✓ strangers         no one registers without an initial access token',
      '! actor             an exchange without an actor token is accepted: the access token then says nothing of who acts',
      '                    → set requireActor: true if every engineer signs in',
      '! policy            there is no isAllowed: every user may be impersonated',
      '                    → set isAllowed',
      '14 checks, no fault, 2 not strict',
      '',
    ])
  })

  it('prints nothing but the findings on stdout, whatever the module logs', async () => {
    const exports = `console.log('booting'); console.info('info'); process.stdout.write('debug\\n')\n${SOUND.exports}`
    const { stdout, stderr } = await run([write('logs.ts', moduleOf({ exports })), '--json'])
    expect(JSON.parse(stdout)).to.be.an('array')
    expect(stderr).to.equal('booting\ninfo\ndebug\n')
  })

  it('prints no password of an address, and no control character', async () => {
    const message = `\\u001b[31mno route to postgres://u:hun/t@er2@db/x`
    const exports = `impersonation.ready = async () => { throw new Error('${message}') }\n${SOUND.exports}`
    const module = write('password.ts', moduleOf({ exports }))
    const { stdout } = await run([module])
    expect(stdout).to.match(/^✗ storage +not ready: {2}\[31mno route to postgres:\/\/\*\*\*@db\/x$/m)
    expect((await run([module, '--json'])).stdout).not.to.match(/hun|ter2/)
    const failing = write('failing.ts', `throw new Error('${message}')`)
    const { stderr, code } = await run([failing])
    expect(stderr).to.equal('oidc-impersonation:  [31mno route to postgres://***@db/x\n')
    expect(code).to.equal(1)
  })

  it('says so when it cannot find out the rights', async () => {
    const exports = `const other = new Sequelize({ dialect: 'sqlite', dialectModule: nodeSqlite, storage: ':memory:', logging: false })
      export { impersonation, provider, other as sequelize }`
    const { stdout, code } = await run([write('other.ts', moduleOf({ exports }))])
    expect(stdout).to.match(/^✗ rights +not known: storage failed/m)
    expect(stdout).to.match(/^✓ clients/m)
    expect(code).to.equal(1)
  })

  it('takes a function as default export, and says what it could not look at', async () => {
    const exports = 'export default async () => ({ provider, impersonation })'
    const { stdout, code } = await run([write('function.ts', moduleOf({ exports, router: '' }))])
    expect(stdout).to.match(/^– rights .*does not export `sequelize`$/m)
    expect(stdout).to.match(/^– management API .*does not call router\(\)/m)
    expect(code).to.equal(0)
  })

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
      const { code, stderr } = await run([write(`${what.replaceAll(' ', '-')}.ts`, moduleOf({ exports }))])
      expect(stderr).to.include(message)
      expect(code).to.equal(1)
    })
  }

  it('refuses a command line that names no module', async () => {
    const { code, stderr } = await run([])
    expect(stderr).to.include('check needs the file of a module')
    expect(code).to.equal(2)
  })

  it('refuses an example that is none, before it looks at the deployment', async () => {
    const example = write('example.json', '[]')
    const { code, stdout, stderr } = await run([write('sound.ts', moduleOf({})), '--example', example])
    expect(stderr).to.equal(`oidc-impersonation: ${example}: not a JSON object\n`)
    expect(stdout).to.equal('')
    expect(code).to.equal(1)
  })

  it('refuses a module that is not there', async () => {
    const none = path.join(folder, 'none.ts')
    const { code, stderr } = await run([none])
    expect(stderr).to.equal(`oidc-impersonation: there is no ${none}\n`)
    expect(code).to.equal(1)
  })

  it('takes an object as default export', async () => {
    const { code, stdout } = await run([
      write('default.ts', moduleOf({ exports: 'export default { impersonation, provider, sequelize }' })),
    ])
    expect(stdout).to.match(/^✓ rights/m)
    expect(code).to.equal(0)
  })

  it('calls no close that is not a function', async () => {
    const exports = "const close = 'never'\nexport { impersonation, provider, sequelize, close }"
    expect(await run([write('not-closing.ts', moduleOf({ exports }))])).to.include({ code: 0, stderr: '' })
  })

  it('closes what the module has opened, also if a look at it fails', async () => {
    const exports = `const closing = { close: sequelize.close.bind(sequelize) }
      sequelize.close = async () => { console.error('sequelize closed'); await closing.close() }
      const close = async () => console.error('closed')
      export { impersonation, provider, sequelize, close }`
    expect(await run([write('closing.ts', moduleOf({ exports }))])).to.include({
      code: 0,
      stderr: 'closed\nsequelize closed\n',
    })
    const failing = `provider.Client.prototype.metadata = () => { throw new Error('no metadata') }\n${exports}`
    expect(await run([write('closing-too.ts', moduleOf({ exports: failing }))])).to.include({
      code: 1,
      stderr: 'closed\nsequelize closed\noidc-impersonation: no metadata\n',
    })
  })
})
