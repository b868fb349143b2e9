/**
 * What sessions need of oidc-provider beyond its public types. A release in which one of these facts is gone does not start
 * with the option `sessions`, and starts without it. What only a request shows lets no one in, and spends nothing.
 */
import { expect } from 'chai'
import type { Configuration, Provider } from 'oidc-provider'
import { storedModels } from '../../../fixtures/clients.ts'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { createMemoryStore } from '../../../packages/store-contract/src/index.ts'
import { createImpersonation } from '../../../src/index.ts'
import { armedCookie } from '../../../src/sessions/cookies.ts'
import { inScene, type Scene, sealed } from '../../spec/arriving.ts'
import { type Patch, patchedProvider } from './patched-provider.ts'

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

const AT_START: Record<string, readonly [fact: string, Patch]> = {
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

const CODE = 'helpers/process_response_types.js'
const AT_ARRIVAL: Record<string, Patch> = {
  'the code is made from another session': {
    file: CODE,
    from: 'accountId: ctx.oidc.session.accountId,\n    acr',
    to: "accountId: 'bob',\n    acr",
  },
  'the Grant is taken from elsewhere': {
    file: CODE,
    from: 'grantId: ctx.oidc.session.grantIdFor(ctx.oidc.client.clientId),\n    nonce',
    to: "grantId: 'another',\n    nonce",
  },
  'the code is bound to another session': {
    file: CODE,
    from: 'sessionUid: ctx.oidc.session.uid,\n    dpopJkt',
    to: "sessionUid: 'another',\n    dpopJkt",
  },
  'the code gets an acr of the engineer': {
    file: CODE,
    from: 'acr: ctx.oidc.acr,\n    amr: ctx.oidc.amr,\n    authTime: ctx.oidc.session.authTime(),\n    claims',
    to: "acr: 'gold',\n    amr: ctx.oidc.amr,\n    authTime: ctx.oidc.session.authTime(),\n    claims",
  },
  'the session of the request changes': {
    file: 'actions/authorization/session.js',
    from: 'ctx.oidc.session.ensureClientContainer(ctx.oidc.params.client_id);',
    to: 'ctx.oidc.session.touched = true;',
  },
}

/** An arrival at a release with this change. */
const arriving = async (
  patch: Patch,
  use: (scene: Scene, answer: Awaited<ReturnType<Scene['authorize']>>, id: string) => Promise<void>,
) =>
  inScene({ Provider: await patchedProvider([patch]) }, async (scene) => {
    const browser = await scene.signedIn()
    const { token, id } = await scene.issue()
    // As the door does, whose look at the accounts takes the provider that is installed.
    browser.set(armedCookie('shop', id), await sealed(scene, browser, 'armed', token), '/oidc/auth')
    const answer = await scene.authorize(browser)
    expect(answer.status).to.equal(500)
    await use(scene, answer, id)
  })

describe('a release of oidc-provider', () => {
  it('as it is starts with sessions', async () => {
    attach(await patchedProvider([]), true)
  })

  for (const [what, [fact, patch]] of Object.entries(AT_START)) {
    it(`in which ${what} does not start with sessions, and starts without`, async () => {
      const Release = await patchedProvider([patch])
      expect(() => attach(Release, true)).to.throw(TypeError, fact)
      attach(Release, false)
    })
  }

  for (const [what, patch] of Object.entries(AT_ARRIVAL)) {
    it(`in which ${what} lets no one in: 500, and the token is unspent`, () =>
      arriving(patch, async (scene, answer, id) => {
        expect(answer.text + String(answer.location)).not.to.include('code=')
        expect((await scene.record(id))?.use).to.equal(undefined)
        expect(String(scene.errors[0])).to.include('ctx.oidc.session')
      }))
  }

  it('that would send the session to the browser ends it, and sends nothing', () =>
    arriving(
      {
        file: 'shared/session.js',
        from: '(!ctx.oidc.session.new || ctx.oidc.session.touched) && !ctx.oidc.session.destroyed',
        to: '!ctx.oidc.session.destroyed',
      },
      async ({ provider }, answer, id) => {
        expect([answer.headers.getSetCookie(), answer.location]).to.deep.equal([[], undefined])
        expect(await provider.Session.findByUid(`imp_${id}`)).to.equal(undefined)
      },
    ))
})
