/** The keys of the provider: which of them sign, by what names, and how. */
import { CompactSign, calculateJwkThumbprint, type JWK as JoseJWK } from 'jose'
import {
  type AsymmetricSigningAlgorithm,
  type Configuration,
  ExternalSigningKey,
  type JWK,
} from 'oidc-provider'

const PUBLIC_MEMBERS = ['kty', 'kid', 'use', 'alg', 'crv', 'x', 'y', 'n', 'e', 'pub'] as const
export type PublicJwk = Partial<Record<(typeof PUBLIC_MEMBERS)[number], string>>

/**
 * The public halves of the keys that sign, and the first of them with its algorithm.
 *
 * @throws {TypeError} when the configuration has no signing key: the provider would fall back to publicly known
 * development keys, and management tokens could be forged.
 */
export function assertSigningKeys(jwks: Configuration['jwks']): {
  keys: PublicJwk[]
  signingKey: JWK | ExternalSigningKey
  signingAlgorithm: AsymmetricSigningAlgorithm
} {
  const signing = (jwks?.keys ?? []).flatMap((key) => {
    const publicHalf = publicJwk(key)
    const algorithm = algorithmOf(publicHalf)
    return algorithm ? [{ key, publicHalf, algorithm }] : []
  })
  const [first] = signing
  if (!first) throw new TypeError('configuration.jwks must hold a signing key')
  const keys = signing.map(({ publicHalf }) => publicHalf)
  return { keys, signingKey: first.key, signingAlgorithm: first.algorithm }
}

/** The provider names a key without `kid` by its thumbprint (RFC 7638), and so do the headers of its tokens. */
export async function withKeyId(key: PublicJwk): Promise<PublicJwk & { readonly kid: string }> {
  return { ...key, kid: key.kid ?? (await calculateJwkThumbprint(key as JoseJWK)) }
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

const EC_ALGORITHMS: Readonly<Record<string, AsymmetricSigningAlgorithm>> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
}

/** The algorithm that the provider uses with this key; `undefined` for keys that do not sign. */
function algorithmOf({ kty, use, alg, crv }: PublicJwk): AsymmetricSigningAlgorithm | undefined {
  if (use === 'enc') return undefined
  if (alg !== undefined) return isSigningAlgorithm(alg) ? alg : undefined
  if (kty === 'RSA') return 'RS256'
  if (kty === 'EC') return EC_ALGORITHMS[crv ?? '']
  return kty === 'OKP' && crv === 'Ed25519' ? 'EdDSA' : undefined
}

const isSigningAlgorithm = (alg: string): alg is AsymmetricSigningAlgorithm =>
  /^((RS|PS|ES)\d|Ed|ML-DSA-)/.test(alg)

/** Signs a JWT of this type with a key of the provider, and names the key as the provider's `jwks_uri` does. */
export type JwtSigner = (typ: string, payload: object) => Promise<string>

export function jwtSigner(given: JWK | ExternalSigningKey, alg: AsymmetricSigningAlgorithm): JwtSigner {
  // A copy: the library freezes the keys it is given.
  const key = given instanceof ExternalSigningKey ? given : (structuredClone(given) as JoseJWK)
  let kid: Promise<string> | undefined
  return async (typ, payload) => {
    kid ??= withKeyId(publicJwk(given)).then((named) => named.kid)
    const header = { alg, typ, kid: await kid }
    const content = Buffer.from(JSON.stringify(payload))
    if (!(key instanceof ExternalSigningKey))
      return new CompactSign(content).setProtectedHeader(header).sign(key)
    const input = `${encode(JSON.stringify(header))}.${encode(content)}`
    return `${input}.${encode(await key.sign(Buffer.from(input)))}`
  }
}

const encode = (data: string | Uint8Array): string => Buffer.from(data).toString('base64url')
