/** A deployment that replaces what `configure` returned gets no token of a session that names no one who acts (protocol.md §10.5). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Configuration } from 'oidc-provider'
import { API } from '../../fixtures/deployment.ts'
import { type Given, type Scene, shop, startScene } from '../spec/arriving.ts'

const REQUEST = { scope: 'openid profile orders:read', resource: API }

async function redeemed(given: Given, use: (scene: Scene, id: string, redeem: Redeem) => Promise<void>) {
  const scene = await startScene({
    ...given,
    clients: [shop({ grant_types: ['authorization_code', 'refresh_token'] })],
  })
  try {
    const browser = await scene.signedIn()
    const { token, id } = await scene.issue()
    await scene.arm(browser, token)
    const arrived = await scene.authorize(browser, REQUEST)
    await use(scene, id, () => scene.redeem(arrived, { resource: API }))
  } finally {
    await scene.close()
  }
}
type Redeem = () => ReturnType<Scene['redeem']>

describe('the configuration that configure returned', () => {
  const replaced: Record<string, (configuration: Configuration) => Configuration> = {
    claims: (given) => ({ ...given, claims: { openid: ['sub'], profile: ['email'] } }),
    ttl: (given) => ({ ...given, ttl: { AccessToken: 7200, IdToken: 7200, AuthorizationCode: 600 } }),
    formats: (given) => ({ ...given, formats: {} }),
    extraTokenClaims: (given) => ({ ...given, extraTokenClaims: async () => undefined }),
    'formats and extraTokenClaims': (given) => ({
      ...given,
      formats: {},
      extraTokenClaims: async () => undefined,
    }),
    issueRefreshToken: (given) => ({ ...given, issueRefreshToken: async () => true }),
  }
  for (const [what, tamper] of Object.entries(replaced))
    it(`without its ${what} issues no token of a session, and ends it`, () =>
      redeemed({ tamper }, async (scene, id, redeem) => {
        const { status, text } = await redeem()
        expect(status, text).to.equal(500)
        expect(text).not.to.match(/token"/)
        expect(scene.errors.map(String).join()).to.match(/configure|without act/)
        if (what !== 'extraTokenClaims') expect((await scene.record(id))?.revocation?.cause).to.equal('host')
      }))

  it('with all that is there issues them', () =>
    redeemed({}, async (_, __, redeem) => {
      const { status, body } = await redeem()
      expect(status).to.equal(200)
      expect(decodeJwt(body.id_token).act).to.deep.equal({ sub: 'bob' })
    }))
})

describe('a customizer of JWTs', () => {
  it('does not prolong a token of a session, nor give it to another', () =>
    redeemed(
      {
        configuration: {
          formats: {
            customizers: {
              jwt(_ctx: unknown, _token: unknown, { payload }: { payload: Record<string, unknown> }) {
                Object.assign(payload, { exp: Number(payload.exp) + 3600, sub: 'carol' })
              },
            },
          } as never,
        },
      },
      async (scene, id, redeem) => {
        const { sub, exp } = decodeJwt((await redeem()).body.access_token)
        const endsAt = (await scene.record(id))?.use?.accessToken.expiresAt
        expect(sub).to.equal('alice')
        expect(exp).to.be.at.most(endsAt ?? 0)
      },
    ))
})

describe('extraTokenClaims', () => {
  it('may return an instance of a class: its claims are in the token, but for those that are reserved', () => {
    class Claims {
      readonly tenant = 'north'
      readonly act = { sub: 'carol' }
    }
    return redeemed(
      { configuration: { extraTokenClaims: async () => new Claims() as never } },
      async (_, __, redeem) => {
        const claims = decodeJwt((await redeem()).body.access_token)
        expect(claims).to.deep.include({ tenant: 'north', act: { sub: 'bob' } })
      },
    )
  })
})
