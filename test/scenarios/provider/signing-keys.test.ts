/** Which keys of `jwks` sign, and by which algorithm when a key does not say (RFC 7517 §4). */
import { expect } from 'chai'
import type { JWK } from 'oidc-provider'
import { SIGNING_KEY, signingKey } from '../../../fixtures/keys.ts'
import { assertSigningKeys } from '../../../src/provider/keys.ts'

/** The algorithm of the one key; `undefined` where it does not sign. */
function algorithmOf(key: object): string | undefined {
  const jwks = { keys: [key as JWK, SIGNING_KEY] }
  const { keys, signingAlgorithm } = assertSigningKeys(jwks)
  // The second key always signs: alone, the first does not.
  return keys.length === 2 ? signingAlgorithm : undefined
}

const EC = { kty: 'EC', crv: 'P-384' }
const RSA = { kty: 'RSA' }

const CASES: [key: object, algorithm: string | undefined][] = [
  // What the provider picks for a key without `alg`.
  [{ kty: 'RSA' }, 'RS256'],
  [{ kty: 'EC', crv: 'P-256' }, 'ES256'],
  [{ kty: 'EC', crv: 'P-384' }, 'ES384'],
  [{ kty: 'EC', crv: 'P-521' }, 'ES512'],
  [{ kty: 'OKP', crv: 'Ed25519' }, 'EdDSA'],
  [{ kty: 'RSA', use: 'sig' }, 'RS256'],

  // Keys that do not sign.
  [{ kty: 'EC', crv: 'secp256k1' }, undefined],
  [{ kty: 'EC' }, undefined],
  [{ kty: 'OKP', crv: 'X25519' }, undefined],
  [{ kty: 'OKP', crv: 'Ed448' }, undefined],
  [{ kty: 'OKP' }, undefined],
  [{ kty: 'EC', crv: 'Ed25519' }, undefined],
  [{ kty: 'oct' }, undefined],
  [{ kty: 'oct', crv: 'Ed25519' }, undefined],
  [{ kty: 'AKP' }, undefined],
  [{}, undefined],

  // Keys for encryption.
  [{ ...RSA, use: 'enc' }, undefined],
  [{ ...EC, use: 'enc' }, undefined],
  [{ kty: 'OKP', crv: 'Ed25519', use: 'enc' }, undefined],
  [{ ...RSA, use: 'enc', alg: 'RS256' }, undefined],
  [{ ...RSA, alg: 'RSA-OAEP' }, undefined],
  [{ ...RSA, alg: 'RSA-OAEP-256' }, undefined],
  [{ ...EC, alg: 'ECDH-ES' }, undefined],
  [{ ...EC, alg: 'ECDH-ES+A128KW' }, undefined],

  // `alg` decides where it is there.
  [{ ...RSA, alg: 'PS512' }, 'PS512'],
  [{ ...RSA, alg: 'RS384' }, 'RS384'],
  [{ ...EC, alg: 'ES384' }, 'ES384'],
  [{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA' }, 'EdDSA'],
  [{ kty: 'OKP', crv: 'Ed25519', alg: 'Ed25519' }, 'Ed25519'],
  [{ kty: 'AKP', alg: 'ML-DSA-65' }, 'ML-DSA-65'],
  [{ kty: 'oct', alg: 'HS256' }, undefined],
  [{ ...RSA, alg: '' }, undefined],
  [{ ...RSA, alg: 'XRS256' }, undefined],
]

describe('the signing keys of a configuration', () => {
  for (const [key, algorithm] of CASES) {
    it(`${JSON.stringify(key)}: ${algorithm ?? 'does not sign'}`, () =>
      expect(algorithmOf(key)).to.equal(algorithm))
  }

  it('are all that sign, in their order, and the first names the algorithm', () => {
    const keys = [{ kty: 'RSA', use: 'enc' } as JWK, signingKey('ES384'), SIGNING_KEY]
    const found = assertSigningKeys({ keys })
    expect(found.signingAlgorithm).to.equal('ES384')
    expect(found.keys.map(({ kid }) => kid)).to.deep.equal(['ES384-1', 'ES256-1'])
  })

  it('are copied: without what is private and what is no string, and from getters, as an ExternalSigningKey has', () => {
    const { d: _, use: __, ...shared } = SIGNING_KEY as JWK & { d: string }
    class External {
      get kty() {
        return 'EC'
      }
      get crv() {
        return 'P-521'
      }
    }
    const given = [{ ...SIGNING_KEY, use: 7, other: 'x' }, new External()] as unknown as JWK[]
    expect(assertSigningKeys({ keys: given }).keys).to.deep.equal([shared, { kty: 'EC', crv: 'P-521' }])
  })
})
