/** Logout tokens: the provider says that one of its sessions has ended (OpenID Connect Back-Channel Logout 1.0 §2.6). */
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import { shop } from '../clients.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Seconds. */
const OLDEST = 120
const LEEWAY = 10

/** It does not end anything. */
export class BadLogoutToken extends Error {}

/** What it returns resolves to the `sid` of the session that has ended, or throws a `BadLogoutToken`. */
export function logoutTokenVerifier(issuer: string, keysAddress: () => Promise<string>) {
  let keys: ReturnType<typeof createRemoteJWKSet> | undefined
  /** When each `jti` may come again. */
  const seen = new Map<string, number>()

  async function payloadOf(token: string): Promise<JWTPayload> {
    keys ??= createRemoteJWKSet(new URL(await keysAddress()))
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: shop.client_id,
      algorithms: ['ES256'],
      typ: 'logout+jwt',
      maxTokenAge: OLDEST,
      clockTolerance: LEEWAY,
      requiredClaims: ['exp', 'iat', 'jti', 'events', 'sid'],
    }).catch((error) => {
      // Anything else, such as keys that cannot be fetched, is no one's mistake: the provider tries again.
      throw REFUSED.some((kind) => error instanceof kind) ? new BadLogoutToken(error.message) : error
    })
    return payload
  }

  return async (token: string): Promise<string> => {
    const { events, nonce, sid, jti } = await payloadOf(token)
    const event = Object(events)[EVENT]
    if (typeof event !== 'object' || event === null) throw new BadLogoutToken('events has no logout')
    // An ID token would be a valid logout token otherwise.
    if (nonce !== undefined) throw new BadLogoutToken('nonce is not allowed')
    if (typeof sid !== 'string' || sid === '') throw new BadLogoutToken('sid must be text')
    if (typeof jti !== 'string' || jti === '') throw new BadLogoutToken('jti must be text')
    const now = Date.now() / 1000
    for (const [known, until] of seen) if (until < now) seen.delete(known)
    if (seen.has(jti)) throw new BadLogoutToken('jti came before')
    seen.set(jti, now + OLDEST + 2 * LEEWAY)
    return sid
  }
}

const REFUSED = [
  errors.JWTInvalid,
  errors.JWTExpired,
  errors.JWTClaimValidationFailed,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
]
