import { CompactSign, type JWK as JoseJWK } from 'jose'
import { ExternalSigningKey, type JWK } from 'oidc-provider'
import { publicJwk, type SigningAlgorithm, withKeyId } from './signing-keys.ts'

/** Signs a JWT of this type with a key of the provider, and names the key as the provider's `jwks_uri` does. */
export type JwtSigner = (typ: string, payload: object) => Promise<string>

export function jwtSigner(given: JWK | ExternalSigningKey, alg: SigningAlgorithm): JwtSigner {
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
