/** What only a request shows of oidc-provider: a release that does otherwise lets no one in, and spends nothing. */
import { expect } from 'chai'
import type { Browser } from '../../../fixtures/browser.ts'
import { type Patch, patchedProvider } from '../../../fixtures/patched-provider.ts'
import { armedCookie, sealOf } from '../../../src/sessions/seal.ts'
import { readToken, type TokenHash } from '../../../src/subject-tokens/secret.ts'
import { type Scene, startScene } from '../../spec/arriving.ts'

/** As the door does, whose look at the accounts takes the provider that is installed. */
async function armDirectly({ provider, issuer }: Scene, browser: Browser, token: string) {
  const own = await provider.Session.find(browser.cookie(provider.cookieName('session'))?.value ?? '')
  const { uid, loginTs = 0 } = own as unknown as { uid: string; loginTs?: number }
  const seal = sealOf(issuer, { cookies: { keys: ['a key of the tests'] } })
  const { id = '', hash } = readToken(token) ?? {}
  const content = { id, hash: hash as TokenHash, client: 'shop', session: uid, loginTs }
  browser.set(armedCookie('shop', id), await seal.seal('armed', content, 60), '/oidc/auth')
}

describe('an arrival at another release of oidc-provider', () => {
  const atArrival: Record<string, Patch> = {
    'that makes the code from another session': {
      file: 'helpers/process_response_types.js',
      from: 'accountId: ctx.oidc.session.accountId,\n    acr',
      to: "accountId: 'bob',\n    acr",
    },
    'that takes the Grant from elsewhere': {
      file: 'helpers/process_response_types.js',
      from: 'grantId: ctx.oidc.session.grantIdFor(ctx.oidc.client.clientId),\n    nonce',
      to: "grantId: 'another',\n    nonce",
    },
    'that binds the code to another session': {
      file: 'helpers/process_response_types.js',
      from: 'sessionUid: ctx.oidc.session.uid,\n    dpopJkt',
      to: "sessionUid: 'another',\n    dpopJkt",
    },
    'that gives the code an acr of the engineer': {
      file: 'helpers/process_response_types.js',
      from: 'acr: ctx.oidc.acr,\n    amr: ctx.oidc.amr,\n    authTime: ctx.oidc.session.authTime(),\n    claims',
      to: "acr: 'gold',\n    amr: ctx.oidc.amr,\n    authTime: ctx.oidc.session.authTime(),\n    claims",
    },
    'that changes the session of the request': {
      file: 'actions/authorization/session.js',
      from: 'ctx.oidc.session.ensureClientContainer(ctx.oidc.params.client_id);',
      to: 'ctx.oidc.session.touched = true;',
    },
  }
  for (const [what, patch] of Object.entries(atArrival)) {
    it(`${what} lets no one in: 500, and the token is unspent`, async () => {
      const scene = await startScene({ Provider: await patchedProvider([patch]) })
      try {
        const browser = await scene.signedIn()
        const { token, id } = await scene.issue()
        await armDirectly(scene, browser, token)
        const answer = await scene.authorize(browser)
        expect(answer.status).to.equal(500)
        expect(answer.text + String(answer.location)).not.to.include('code=')
        expect((await scene.record(id))?.use).to.equal(undefined)
        expect(String(scene.errors[0])).to.include('ctx.oidc.session')
      } finally {
        await scene.close()
      }
    })
  }

  it('that would send the session to the browser ends it, and sends nothing', async () => {
    const scene = await startScene({
      Provider: await patchedProvider([
        {
          file: 'shared/session.js',
          from: '(!ctx.oidc.session.new || ctx.oidc.session.touched) && !ctx.oidc.session.destroyed',
          to: '!ctx.oidc.session.destroyed',
        },
      ]),
    })
    try {
      const browser = await scene.signedIn()
      const { token, id } = await scene.issue()
      await armDirectly(scene, browser, token)
      const answer = await scene.authorize(browser)
      expect(answer.status).to.equal(500)
      expect(answer.headers.getSetCookie()).to.deep.equal([])
      expect(answer.location).to.equal(undefined)
      expect(await scene.provider.Session.findByUid(`imp_${id}`)).to.equal(undefined)
    } finally {
      await scene.close()
    }
  })
})
