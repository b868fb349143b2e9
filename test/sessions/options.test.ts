/** The option `sessions`, and what of the configuration it needs. */
import { expect } from 'chai'
import { type Configuration, Provider } from 'oidc-provider'
import { SIGNING_KEY } from '../../fixtures/keys.ts'
import { createImpersonation, type ImpersonationOptions } from '../../src/index.ts'
import { createMemoryStore } from '../../src/testing/index.ts'

const ISSUER = 'https://id.example.com/oidc'
const DOOR = 'https://id.example.com/impersonate'

const create = (sessions: object, options: Partial<ImpersonationOptions> = {}) =>
  createImpersonation({ store: createMemoryStore(), ...options, sessions: sessions as never })

const CONFIGURATION: Configuration = {
  jwks: { keys: [SIGNING_KEY] },
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  cookies: { keys: ['key'] },
  features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: false } },
  findAccount: async () => undefined,
}

describe('the option sessions', () => {
  it('takes a door, and these', () => {
    for (const sessions of [
      { door: DOOR },
      { door: 'http://127.0.0.1:3000/a-b_c.~/d', ttl: 60 },
      { door: DOOR, ttl: 900, maxAge: 1, acrValues: ['urn:acr:gold'], nameOf: () => new Map() },
    ])
      create(sessions)
  })

  const wrong: Record<string, object> = {
    'no door': {},
    'a relative door': { door: '/impersonate' },
    'a door without a path': { door: 'https://id.example.com' },
    'a door at the root': { door: 'https://id.example.com/' },
    'a door with a slash at its end': { door: `${DOOR}/` },
    'a door with a query': { door: `${DOOR}?a=1` },
    'a door with an empty query': { door: `${DOOR}?` },
    'a door with a fragment': { door: `${DOOR}#a` },
    'a door that reads as a pattern': { door: 'https://id.example.com/:door' },
    'a door with dots to resolve': { door: 'https://id.example.com/a/../impersonate' },
    'a door with a name': { door: 'https://sam@id.example.com/impersonate' },
    'a door of another scheme': { door: 'ftp://id.example.com/impersonate' },
    'too short a ttl': { door: DOOR, ttl: 59 },
    'too long a ttl': { door: DOOR, ttl: 901 },
    'part of a second': { door: DOOR, ttl: 60.5 },
    'no time since the sign-in': { door: DOOR, maxAge: 0 },
    'acrValues as a string': { door: DOOR, acrValues: 'gold' },
    'acrValues with a space': { door: DOOR, acrValues: ['gold silver'] },
    'nameOf as a map': { door: DOOR, nameOf: new Map() },
    'an unknown member': { door: DOOR, sessionTTL: 60 },
  }
  for (const [what, sessions] of Object.entries(wrong)) {
    it(`refuses ${what}`, () => {
      expect(() => create(sessions)).to.throw(TypeError, /sessions/)
    })
  }

  it('needs statusList, a store that has sessions, and a minute', () => {
    expect(() => create({ door: DOOR }, { statusList: false })).to.throw(TypeError, /statusList/)
    const { sessions: _, ...store } = createMemoryStore()
    expect(() => create({ door: DOOR }, { store })).to.throw(TypeError, /store that has sessions/)
    expect(() => create({ door: DOOR }, { maxAccessTokenTTL: 59 })).to.throw(TypeError, /maxAccessTokenTTL/)
    expect(() => create({ door: DOOR, ttl: 61 }, { maxAccessTokenTTL: 60 })).to.throw(
      TypeError,
      /sessions\.ttl/,
    )
  })

  const lacking: Record<string, [RegExp, Configuration]> = {
    'keys of cookies': [/cookies\.keys/, { cookies: { keys: [] } }],
    'Back-Channel Logout': [/backchannelLogout/, { features: {} }],
    'RP-Initiated Logout': [
      /rpInitiatedLogout/,
      { features: { ...CONFIGURATION.features, rpInitiatedLogout: { enabled: false } } },
    ],
    'a session cookie at the door': [
      /cookies\.long\.path/,
      { cookies: { keys: ['key'], long: { path: '/oidc' } } },
    ],
    'a session cookie at the door, and not beside it': [
      /cookies\.long\.path/,
      { cookies: { keys: ['key'], long: { path: '/imperson' } } },
    ],
    'a session cookie at the door, and not only below it': [
      /cookies\.long\.path/,
      { cookies: { keys: ['key'], long: { path: '/impersonate/' } } },
    ],
    findAccount: [/findAccount/, { findAccount: undefined as never }],
    'its client for itself': [
      /impersonation-door/,
      { clients: [{ client_id: 'impersonation-door', redirect_uris: [] }] },
    ],
  }
  for (const [what, [message, configuration]] of Object.entries(lacking)) {
    it(`needs ${what}`, () => {
      expect(() => create({ door: DOOR }).configure({ ...CONFIGURATION, ...configuration })).to.throw(
        TypeError,
        message,
      )
    })
  }

  it('accepts a session cookie whose path covers the door', () => {
    for (const path of ['/', '/impersonate'])
      create({ door: DOOR }).configure({ ...CONFIGURATION, cookies: { keys: ['key'], long: { path } } })
  })

  it('needs a door on the origin of the issuer', () => {
    for (const door of ['https://desk.example.com/impersonate', 'http://id.example.com/impersonate']) {
      const impersonation = create({ door })
      const provider = new Provider(ISSUER, impersonation.configure(CONFIGURATION))
      expect(() => impersonation.attach(provider)).to.throw(TypeError, /origin of the issuer/)
    }
    const impersonation = create({ door: DOOR })
    impersonation.attach(new Provider(ISSUER, impersonation.configure(CONFIGURATION)))
  })

  it('serves the door alone where only says so, and no door where there is none', () => {
    const impersonation = create({ door: DOOR })
    impersonation.attach(new Provider(ISSUER, impersonation.configure(CONFIGURATION)))
    const paths = (only?: 'door' | 'management' | 'status-lists') =>
      impersonation.router(only && { only }).match('/impersonate', 'GET').path.length > 0
    expect([paths(), paths('door'), paths('management'), paths('status-lists')]).to.deep.equal([
      true,
      true,
      false,
      false,
    ])
    const only = impersonation.router({ only: 'door' })
    expect(only.match('/api/subject-tokens', 'GET').path).to.deep.equal([])
    const without = createImpersonation({ store: createMemoryStore() })
    without.attach(new Provider(ISSUER, without.configure(CONFIGURATION)))
    expect(() => without.router({ only: 'door' })).to.throw(TypeError, /door/)
  })

  it('does not make the provider offer refresh tokens', async () => {
    const issueRefreshToken = async () => true
    const wrapped = (configuration: Configuration) =>
      create({ door: DOOR }).configure({ ...CONFIGURATION, ...configuration }).issueRefreshToken
    expect(wrapped({ scopes: ['openid'] })).to.equal(undefined)
    expect(wrapped({})).to.be.a('function')
    expect(wrapped({ scopes: ['openid'], issueRefreshToken })).to.be.a('function')
  })

  it('adds none to the response types that a deployment lists, and act to openid', () => {
    const configuration = create({ door: DOOR }).configure({
      ...CONFIGURATION,
      responseTypes: ['code'],
      claims: { openid: ['sub', 'act', 'name'] },
    })
    expect(configuration.responseTypes).to.deep.equal(['code', 'none'])
    expect(configuration.claims?.openid).to.deep.equal(['sub', 'act', 'name'])
    const plain = create({ door: DOOR }).configure(CONFIGURATION)
    expect(plain.responseTypes).to.equal(undefined)
    expect(plain.claims?.openid).to.deep.equal(['sub', 'act'])
  })
})
