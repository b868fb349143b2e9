/** The option `sessions`, and what of the configuration it needs (docs/protocol.md §10). */
import { expect } from 'chai'
import { type Configuration, Provider } from 'oidc-provider'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { createMemoryStore } from '../../../packages/store-contract/src/index.ts'
import { createImpersonation, type ImpersonationOptions } from '../../../src/index.ts'

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
const configured = (changes: Partial<Configuration> = {}) =>
  create({ door: DOOR }).configure({ ...CONFIGURATION, ...changes })
const cookies = (path: string): Partial<Configuration> => ({ cookies: { keys: ['key'], long: { path } } })
function attached(door = DOOR) {
  const impersonation = create({ door })
  impersonation.attach(new Provider(ISSUER, impersonation.configure(CONFIGURATION)))
  return impersonation
}

const { sessions: _, ...withoutSessions } = createMemoryStore()
/** What does not start, and what the error names. */
const WRONG: Record<string, readonly [message: RegExp, start: () => unknown]> = {
  ...Object.fromEntries(
    Object.entries({
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
    }).map(([what, sessions]) => [what, [/sessions/, () => create(sessions)] as const]),
  ),
  'no statusList': [/statusList/, () => create({ door: DOOR }, { statusList: false })],
  'a store without sessions': [
    /store that has sessions/,
    () => create({ door: DOOR }, { store: withoutSessions }),
  ],
  'less than a minute': [/maxAccessTokenTTL/, () => create({ door: DOOR }, { maxAccessTokenTTL: 59 })],
  'a ttl beyond maxAccessTokenTTL': [
    /sessions\.ttl/,
    () => create({ door: DOOR, ttl: 61 }, { maxAccessTokenTTL: 60 }),
  ],
  'no keys of cookies': [/cookies\.keys/, () => configured({ cookies: { keys: [] } })],
  'no Back-Channel Logout': [/backchannelLogout/, () => configured({ features: {} })],
  'no RP-Initiated Logout': [
    /rpInitiatedLogout/,
    () => configured({ features: { ...CONFIGURATION.features, rpInitiatedLogout: { enabled: false } } }),
  ],
  'a session cookie elsewhere': [/cookies\.long\.path/, () => configured(cookies('/oidc'))],
  'a session cookie beside the door': [/cookies\.long\.path/, () => configured(cookies('/imperson'))],
  'a session cookie below the door': [/cookies\.long\.path/, () => configured(cookies('/impersonate/'))],
  'no findAccount': [/findAccount/, () => configured({ findAccount: undefined as never })],
  'a client of the name of its own': [
    /impersonation-door/,
    () => configured({ clients: [{ client_id: 'impersonation-door', redirect_uris: [] }] }),
  ],
  'a door on another host': [/origin of the issuer/, () => attached('https://desk.example.com/impersonate')],
  'a door of another scheme than the issuer': [
    /origin of the issuer/,
    () => attached('http://id.example.com/impersonate'),
  ],
}

describe('the option sessions', () => {
  it('takes a door, and these', () => {
    create({ door: 'http://127.0.0.1:3000/a-b_c.~/d', ttl: 60 })
    create({ door: DOOR, ttl: 900, maxAge: 1, acrValues: ['urn:acr:gold'], nameOf: () => new Map() })
    for (const path of ['/', '/impersonate']) configured(cookies(path))
  })

  for (const [what, [message, start]] of Object.entries(WRONG))
    it(`does not start with ${what}`, () => expect(start).to.throw(TypeError, message))

  it('serves the door alone where only says so, and no door where there is none', () => {
    const impersonation = attached()
    const serves = (path: string, only?: 'door' | 'management' | 'status-lists') =>
      impersonation.router(only && { only }).match(path, 'GET').path.length > 0
    for (const only of [undefined, 'door', 'management', 'status-lists'] as const)
      expect(serves('/impersonate', only), only).to.equal(only === undefined || only === 'door')
    expect(serves('/api/subject-tokens', 'door')).to.equal(false)
    const without = createImpersonation({ store: createMemoryStore() })
    without.attach(new Provider(ISSUER, without.configure(CONFIGURATION)))
    expect(() => without.router({ only: 'door' })).to.throw(TypeError, /door/)
  })

  it('does not make the provider offer refresh tokens', async () => {
    const issueRefreshToken = async () => true
    expect(configured({ scopes: ['openid'] }).issueRefreshToken).to.equal(undefined)
    expect(configured().issueRefreshToken).to.be.a('function')
    expect(configured({ scopes: ['openid'], issueRefreshToken }).issueRefreshToken).to.be.a('function')
  })

  it('adds none to the response types that a deployment lists, and act and read_only to openid', () => {
    const given = configured({ responseTypes: ['code'], claims: { openid: ['sub', 'act', 'name'] } })
    expect(given.responseTypes).to.deep.equal(['code', 'none'])
    expect(given.claims?.openid).to.deep.equal(['sub', 'act', 'name', 'read_only'])
    expect(configured().responseTypes).to.equal(undefined)
    expect(configured().claims?.openid).to.deep.equal(['sub', 'act', 'read_only'])
  })
})
