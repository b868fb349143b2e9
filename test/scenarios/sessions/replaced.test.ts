/** A deployment that replaces what `configure` returned gets no token of a session that names no one who acts (docs/protocol.md §10.5). */
import { expect } from 'chai'
import type { Configuration } from 'oidc-provider'
import { API } from '../../../fixtures/deployment.ts'
import { inScene, shop } from '../../spec/arriving.ts'

const REPLACED: Record<string, Partial<Configuration>> = {
  claims: { claims: { openid: ['sub'], profile: ['email'] } },
  ttl: { ttl: { AccessToken: 7200, IdToken: 7200, AuthorizationCode: 600 } },
  formats: { formats: {} },
  extraTokenClaims: { extraTokenClaims: async () => undefined },
  'formats and extraTokenClaims': { formats: {}, extraTokenClaims: async () => undefined },
  issueRefreshToken: { issueRefreshToken: async () => true },
}

describe('the configuration that configure returned', () => {
  for (const [what, changes] of Object.entries(REPLACED))
    it(`without its ${what} issues no token of a session, and ends it`, () =>
      inScene(
        {
          tamper: (configuration) => ({ ...configuration, ...changes }),
          clients: [shop({ grant_types: ['authorization_code', 'refresh_token'] })],
        },
        async (scene) => {
          const browser = await scene.signedIn()
          const { token, id } = await scene.issue()
          await scene.arm(browser, token)
          const asked = { scope: 'openid profile orders:read', resource: API }
          const { status, text } = await scene.redeem(await scene.authorize(browser, asked), {
            resource: API,
          })
          expect(status, text).to.equal(500)
          expect(text).not.to.match(/token"/)
          expect(scene.errors.map(String).join()).to.match(/configure|without act/)
          if (what !== 'extraTokenClaims')
            expect((await scene.record(id))?.revocation?.cause).to.equal('host')
        },
      ))
})
