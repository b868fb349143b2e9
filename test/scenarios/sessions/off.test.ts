/** Without the option `sessions`, nothing of it is there but what ends a session that another process has opened. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { expect } from 'chai'
import { type Configuration, Provider } from 'oidc-provider'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { createMemoryStore } from '../../../packages/store-contract/src/index.ts'
import { createImpersonation } from '../../../src/index.ts'

describe('without the option sessions', () => {
  /** A code that is used again, a sign-out of the engineer, and one of an application. Unnamed: the middleware of the latter. */
  const FOLLOWS = ['followGrants', 'onSimultaneousCodes', 'AuthorizationCode.consume', 'followSignOuts']
  const ATTACHED = [
    'attach',
    'endSessions',
    'hideHeadlessSessions',
    'seeFound',
    ...FOLLOWS,
    'logoutOfSessions',
    '',
    'isAt',
  ]
  const ENDS = ['createSessions', 'extend', 'sessionGrantPolicy', ...ATTACHED]
  const SIGN_OUT = ['endSessionOf', 'parametersOf', 'sessionOf']

  it('no function of it runs but impersonationOf and what ends a session', async () => {
    // In a process of its own: no other test runs there, and none has.
    const child = fork(path.join(import.meta.dirname, 'functions-that-run.ts'), {
      execArgv: ['--no-warnings'],
    })
    const failed = once(child, 'exit').then(() => ['the process has ended'])
    const [names] = await Promise.race([once(child, 'message'), failed])
    child.kill('SIGKILL')
    expect(names).to.have.members(['impersonationOf', ...ENDS, ...SIGN_OUT])
  })

  const CONFIGURATION: Configuration = {
    jwks: { keys: [SIGNING_KEY] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    clients: [],
    claims: { openid: ['sub'] },
    ttl: { AccessToken: 60 },
    formats: {},
    responseTypes: ['code'],
    features: { devInteractions: { enabled: false } },
    findAccount: async () => undefined,
    loadExistingGrant: async () => undefined,
    expiresWithSession: async () => true,
    issueRefreshToken: async () => false,
    revokeGrantPolicy: () => true,
  }

  it('configure leaves alone what it leaves alone without', () => {
    const configuration = createImpersonation({ store: createMemoryStore() }).configure(CONFIGURATION)
    const { scopes, features, extraTokenClaims, extraClientMetadata, formats, revokeGrantPolicy, ...others } =
      configuration
    const { features: _, formats: __, revokeGrantPolicy: ___, ...given } = CONFIGURATION
    expect(Object.keys(others).sort()).to.deep.equal(Object.keys(given).sort())
    const { ttl, ...same } = given
    // Only functions in it are wrapped.
    expect(others.ttl).to.deep.equal(ttl)
    for (const [name, value] of Object.entries(same)) expect(Reflect.get(others, name), name).to.equal(value)
    expect(extraClientMetadata?.properties).to.deep.equal([
      'token_exchange_resources',
      'token_exchange_audiences',
    ])
    expect(scopes).to.have.length(5)
    expect(features).to.have.property('devInteractions')
    expect(extraTokenClaims).to.be.a('function')
    expect(Object.keys(formats?.customizers ?? {})).to.deep.equal(['jwt'])
  })

  it('attach adds what ends a session, and no timer and no route', () => {
    const impersonation = createImpersonation({ store: createMemoryStore() })
    const provider = new Provider('https://id.example.com/oidc', impersonation.configure(CONFIGURATION))
    const find = provider.Session.findByUid
    const count = () => ({
      middleware: provider.middleware.length,
      listeners: ['authorization.error', 'grant.revoked'].map((name) => provider.listenerCount(name)),
      timers: process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length,
    })
    const before = count()
    impersonation.attach(provider)
    expect(count()).to.deep.equal({ ...before, middleware: before.middleware + 1, listeners: [0, 1] })
    expect(provider.Session.findByUid).to.equal(find)
    const paths = impersonation.router().stack.map(({ path: one }) => String(one))
    expect(paths.every((one) => one.startsWith('/api/'))).to.equal(true)
  })
})
