/** The order of `configure`, `attach` and the routes, and what the other rooms see behind the service. */
import { expect } from 'chai'
import { type Configuration, Provider } from 'oidc-provider'
import { SIGNING_KEY } from '../../fixtures/keys.ts'
import { uncalledStore as store } from '../../fixtures/uncalled-store.ts'
import { insideOf } from '../../src/impersonation.ts'
import { createImpersonation, type Impersonation } from '../../src/index.ts'

const CONFIGURATION: Configuration = {
  jwks: { keys: [SIGNING_KEY] },
  cookies: { keys: ['a key of the tests'] },
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  features: { devInteractions: { enabled: false } },
}

const build = (impersonation: Impersonation): Provider =>
  new Provider('https://id.example.com/oidc', impersonation.configure(CONFIGURATION))

const messageOf = (call: () => unknown): unknown => {
  try {
    return call()
  } catch (error) {
    return error instanceof TypeError ? error.message : error
  }
}

describe('an impersonation service', () => {
  it('has no routes, is not ready and shows nothing before attach, and says what to call', async () => {
    const impersonation = createImpersonation({ store })
    for (const stage of ['created', 'configured']) {
      if (stage === 'configured') build(impersonation)
      expect(
        messageOf(() => impersonation.router()),
        stage,
      ).to.equal('call attach(provider) before router()')
      expect(messageOf(() => impersonation.handler())).to.equal('call attach(provider) before handler()')
      expect(messageOf(() => insideOf(impersonation))).to.equal('call configure() and attach() first')
      const ready = await impersonation.ready().catch((error: unknown) => error)
      expect(ready)
        .to.be.instanceOf(TypeError)
        .with.property('message', 'call attach(provider) before ready()')
    }
  })

  it('is configured once, and attached to what was built from that', () => {
    const impersonation = createImpersonation({ store })
    const refused = 'the provider was not built from impersonation.configure()'
    const foreign = build(createImpersonation({ store }))
    expect(messageOf(() => impersonation.attach(foreign))).to.equal(refused)
    const provider = build(impersonation)
    expect(messageOf(() => build(impersonation))).to.equal(
      'configure() may be called only once; create one impersonation per provider',
    )
    expect(messageOf(() => impersonation.attach(foreign))).to.equal(refused)
    expect(messageOf(() => impersonation.attach(provider))).to.equal(undefined)
  })

  it('can be configured again after a configuration that was refused', () => {
    const impersonation = createImpersonation({ store })
    for (const wrong of [{ jwks: undefined }, { scopes: 7 }, { features: null }])
      expect(() => impersonation.configure({ ...CONFIGURATION, ...wrong } as never)).to.throw(TypeError)
    impersonation.attach(build(impersonation))
  })

  it('knows its provider, what it was configured with, and where the management API is mounted', () => {
    const impersonation = createImpersonation({ store })
    const provider = build(impersonation)
    impersonation.attach(provider)
    expect(insideOf(impersonation).prefixes).to.deep.equal([])
    impersonation.router()
    impersonation.router({ prefix: '/lists', only: 'status-lists' })
    impersonation.handler({ prefix: '/internal', only: 'management' })
    const { configuration, options, prefixes, ...inside } = insideOf(impersonation)
    expect(inside.provider).to.equal(provider)
    expect(configuration).to.equal(CONFIGURATION)
    expect(options.store).to.equal(store)
    expect(prefixes).to.deep.equal(['/api', '/internal'])
  })

  it('shows nothing of a copy, and says why', () => {
    const impersonation = createImpersonation({ store })
    impersonation.attach(build(impersonation))
    expect(messageOf(() => insideOf({ ...impersonation }))).to.equal(
      'not what createImpersonation() returned: a copy of it, or of another installation of oidc-provider-impersonation',
    )
  })
})
