import type { AsymmetricSigningAlgorithm, Configuration, ExternalSigningKey, JWK } from 'oidc-provider'

export type SigningAlgorithm = AsymmetricSigningAlgorithm

const PUBLIC_MEMBERS = ['kty', 'kid', 'use', 'alg', 'crv', 'x', 'y', 'n', 'e', 'pub'] as const
export type PublicJwk = Partial<Record<(typeof PUBLIC_MEMBERS)[number], string>>

/**
 * The public halves of the keys that sign, and the algorithm of the first.
 *
 * @throws {TypeError} when the configuration has no signing key: the provider would fall back to publicly known
 * development keys, and management tokens could be forged.
 */
export function assertSigningKeys(jwks: Configuration['jwks']): {
  keys: PublicJwk[]
  signingAlgorithm: SigningAlgorithm
} {
  const keys = (jwks?.keys ?? []).map(publicJwk).filter((key) => algorithmOf(key) !== undefined)
  const signingAlgorithm = keys[0] && algorithmOf(keys[0])
  if (!signingAlgorithm) throw new TypeError('configuration.jwks must hold a signing key')
  return { keys, signingAlgorithm }
}

/** Copies named members only, so that no private member comes along. Works for an ExternalSigningKey too. */
function publicJwk(key: JWK | ExternalSigningKey): PublicJwk {
  const jwk: PublicJwk = {}
  for (const member of PUBLIC_MEMBERS) {
    const value: unknown = Reflect.get(key, member)
    if (typeof value === 'string') jwk[member] = value
  }
  return jwk
}

const EC_ALGORITHMS: Readonly<Record<string, SigningAlgorithm>> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
}

/** The algorithm that the provider uses with this key; `undefined` for keys that do not sign. */
function algorithmOf({ kty, use, alg, crv }: PublicJwk): SigningAlgorithm | undefined {
  if (use === 'enc') return undefined
  if (alg !== undefined) return isSigningAlgorithm(alg) ? alg : undefined
  if (kty === 'RSA') return 'RS256'
  if (kty === 'EC') return EC_ALGORITHMS[crv ?? '']
  return kty === 'OKP' && crv === 'Ed25519' ? 'EdDSA' : undefined
}

const isSigningAlgorithm = (alg: string): alg is SigningAlgorithm => /^((RS|PS|ES)\d|Ed|ML-DSA-)/.test(alg)
