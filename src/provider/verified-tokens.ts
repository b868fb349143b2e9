import { hash } from 'node:crypto'
import { epochTime } from '../clock.ts'
import { frozenCopy } from '../plain-json.ts'
import type { AccessTokenPayload, AccessTokenVerifier } from './access-token-jwt.ts'

/** Far more than are in use at the same time; and a token that is longer than most is verified each time. */
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
