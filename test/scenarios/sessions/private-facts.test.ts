/**
 * What sessions need of oidc-provider beyond its public types: a release in which one of these facts is gone does not start
 * with the option `sessions`, and starts without it.
 */
import { expect } from 'chai'
import type { Configuration, Provider } from 'oidc-provider'
import { storedModels } from '../../../fixtures/clients.ts'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { type Patch, patchedProvider } from '../../../fixtures/patched-provider.ts'
import { createImpersonation } from '../../../src/index.ts'
import { createMemoryStore } from '../../../src/testing/index.ts'

const ISSUER = 'https://id.example.com/oidc'
const CONFIGURATION: Configuration = {
  adapter: storedModels().adapter as never,
  jwks: { keys: [SIGNING_KEY] },
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  cookies: { keys: ['key'] },
  features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: false } },
  findAccount: async () => undefined,
}

function attach(Release: typeof Provider, sessions: boolean): void {
  const door = 'https://id.example.com/impersonate'
  const impersonation = createImpersonation({
    store: createMemoryStore(),
    ...(sessions && { sessions: { door } }),
  })
  impersonation.attach(new Release(ISSUER, impersonation.configure(CONFIGURATION)))
}

const session = (from: string, to: string): Patch => ({ file: 'models/session.js', from, to })
const context = (from: string, to: string): Patch => ({ file: 'helpers/oidc_context.js', from, to })

const atStart: Record<string, readonly [fact: string, ...Patch[]]> = {
  'a new Session says nothing of it': [
    'a new Session',
    session("Object.defineProperty(this, 'new', { value: true });", ''),
  ],
  'a new Session counts as changed': [
    'a new Session',
    session('{ value: true });', '{ value: true }); this.touched = true;'),
  ],
  'a stored Session has no state': ['members of a stored Session', session("'state',", '')],
  'a stored Session has another name for the sign-in': [
    'members of a stored Session',
    session("'loginTs',", "'signedInAt',"),
  ],
  'the Session of a request is fixed': [
    'the Session of a request',
    context(
      'this.entities = {};',
      "this.entities = {}; Object.defineProperty(this, 'session', { value: {} });",
    ),
  ],
  'the Grant of a request is kept elsewhere': [
    'the Grant of a request',
    context('this.entities[key] = value;', "this.entities['own ' + key] = value;"),
  ],
  'the claims of a request are fixed': [
    'the claims of a request',
    context('this.claims = {};', "Object.defineProperty(this, 'claims', { value: {} });"),
  ],
  'prompts are read once': [
    'the prompts of a request',
    context('return this.prompts.has(name);', 'return false;'),
  ],
  'a Grant rejects nothing': [
    'scopes that a Grant rejects',
    { file: 'models/grant.js', from: 'rejectOIDCScope(...args) {', to: 'rejectOIDCScope() { return;' },
  ],
  'a Grant rejects no claims': [
    'claims that a Grant rejects',
    { file: 'models/grant.js', from: 'rejectOIDCClaims(...args) {', to: 'rejectOIDCClaims() { return;' },
  ],
  'the request is not told': [
    'Provider.ctx',
    { file: 'provider.js', from: 'static get ctx()', to: 'static get request()' },
  ],
  'Session.findByUid has another name': [
    'Session.findByUid',
    session('static async findByUid(', 'static async byUid('),
  ],
  'AccessToken.revokeByGrantId has another name': [
    'AccessToken.revokeByGrantId',
    {
      file: 'models/access_token.js',
      from: 'static async revokeByGrantId(',
      to: 'static async revokeOfGrant(',
    },
  ],
  'client.backchannelLogout has another name': [
    'client.backchannelLogout',
    { file: 'models/client.js', from: 'async backchannelLogout(', to: 'async logout(' },
  ],
  'IdToken.validate has another name': [
    'IdToken.validate',
    { file: 'models/id_token.js', from: 'static async validate(', to: 'static async verify(' },
  ],
}

describe('a release of oidc-provider', () => {
  it('as it is starts with sessions', async () => {
    attach(await patchedProvider([]), true)
  })

  for (const [what, [fact, ...patches]] of Object.entries(atStart)) {
    it(`in which ${what} does not start with sessions, and starts without`, async () => {
      const Release = await patchedProvider(patches)
      expect(() => attach(Release, true)).to.throw(TypeError, fact)
      attach(Release, false)
    })
  }
})
