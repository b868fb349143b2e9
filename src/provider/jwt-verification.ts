import { hash } from 'node:crypto'
import { createLocalJWKSet, type JWK, type JWTPayload, jwtVerify } from 'jose'
import { epochTime } from '../base/clock.ts'
import { nameOf } from '../base/errors.ts'
import { frozenCopy } from '../base/json.ts'
import { type PublicJwk, withKeyId } from './keys.ts'

/** The claims in every JWT access token of this provider (RFC 9068 §2.2). */
export interface AccessTokenPayload extends JWTPayload {
  readonly sub: string
  readonly client_id: string
  readonly exp: number
}

/**
 * Verifies a JWT access token that this provider signed: signature by an asymmetric key of ours, `typ`, `iss`,
 * `exp` and `nbf` to the second (RFC 9068 §4, RFC 8725 §3). The caller compares audience and scope.
 *
 * @throws when the token is anything else. The message is the code of the rule it breaks: the library's own message
 * quotes the header, which anyone can write.
 */
export type AccessTokenVerifier = (jwt: string, issuer: string) => Promise<AccessTokenPayload>

const ASYMMETRIC = [
  ...['RS', 'PS', 'ES'].flatMap((kind) => [256, 384, 512].map((size) => `${kind}${size}`)),
  ...['EdDSA', 'Ed25519', 'ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87'],
]

/** RFC 7515 §3.1. The decoder of the library would skip white space, so that one token had many spellings. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/

export function createAccessTokenVerifier(keys: readonly PublicJwk[]): AccessTokenVerifier {
  let resolveKey: ReturnType<typeof createLocalJWKSet> | undefined
  return async (jwt, issuer) => {
    if (!COMPACT.test(jwt)) throw new Error('ERR_JWS_INVALID')
    resolveKey ??= createLocalJWKSet({ keys: (await Promise.all(keys.map(withKeyId))) as JWK[] })
    const { payload } = await jwtVerify(jwt, resolveKey, {
      issuer,
      typ: 'at+jwt',
      algorithms: ASYMMETRIC,
      requiredClaims: ['exp', 'sub', 'client_id'],
    }).catch((error: unknown) => {
      throw new Error(nameOf(error))
    })
    // The library has seen to it that all are there, and that `exp` is a number.
    const { sub, client_id, exp = 0 } = payload
    if (typeof sub !== 'string' || typeof client_id !== 'string') {
      throw new TypeError('claims of a wrong type')
    }
    return { ...payload, sub, client_id, exp }
  }
}

/** Limits of the memory: far more tokens than are in use at the same time, and none of unusual length, in characters. */
const MAX_REMEMBERED = 4096
const MAX_LENGTH = 4096

/**
 * Has each token verified once: the same bytes stay signed by the same key, of the same type and issuer. Times are
 * looked at every time. All else, audience, client and binding among it, is for the caller to check, every time, because
 * the same token may be sent to another endpoint. Tokens are remembered by hash, so that none is kept.
 */
export function rememberVerified(verify: AccessTokenVerifier): AccessTokenVerifier {
  const verified = new Map<string, AccessTokenPayload>()
  return async (jwt, issuer) => {
    const key = hash('sha256', jwt)
    const known = verified.get(key)
    if (known?.iss === issuer && isNow(known)) return known
    verified.delete(key)
    const payload = frozenCopy(await verify(jwt, issuer))
    if (jwt.length > MAX_LENGTH) return payload
    const [oldest] = verified.size < MAX_REMEMBERED ? [] : verified.keys()
    if (oldest !== undefined) verified.delete(oldest)
    verified.set(key, payload)
    return payload
  }
}

function isNow({ exp, nbf }: AccessTokenPayload): boolean {
  const now = epochTime()
  // A clock that stepped back can make a token one of the future again.
  return exp > now && (nbf === undefined || nbf <= now)
}
