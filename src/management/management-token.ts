import { createHash } from 'node:crypto'
import type { Provider } from 'oidc-provider'
import { epochTime } from '../clock.ts'
import type { AccessTokenPayload } from '../provider/access-token-jwt.ts'
import type { Settings } from '../provider/settings.ts'
import { invalidToken } from './errors.ts'

/** Returns the claims of a management token (protocol.md §2.3), or refuses it as invalid. */
export type ManagementTokenVerifier = (jwt: string) => Promise<AccessTokenPayload>

/** Far more than a deployment has backends, each of which uses its token until it expires. */
const MAX_REMEMBERED = 1000

/**
 * Verifies each token once: the same bytes stay signed by the same key. Expiry is checked every time; the caller looks
 * up what can change, the client and its scopes. Tokens are remembered by hash, so that none is kept.
 */
export function managementTokenVerifier(provider: Provider, settings: Settings): ManagementTokenVerifier {
  const verified = new Map<string, AccessTokenPayload>()
  return async (jwt) => {
    const key = createHash('sha256').update(jwt).digest('base64')
    const known = verified.get(key)
    if (known && known.exp > epochTime()) return known
    verified.delete(key)
    const payload = Object.freeze(await verify(jwt, provider, settings))
    const [oldest] = verified.size < MAX_REMEMBERED ? [] : verified.keys()
    if (oldest !== undefined) verified.delete(oldest)
    verified.set(key, payload)
    return payload
  }
}

async function verify(jwt: string, provider: Provider, settings: Settings): Promise<AccessTokenPayload> {
  const token = await verifyJwt(jwt, provider, settings)
  if (token.aud !== settings.managementResource(provider))
    throw invalidToken({ private: 'for another resource' })
  if (token.sub !== token.client_id) throw invalidToken({ private: 'not a token of a client for itself' })
  if (token.cnf !== undefined) throw invalidToken({ private: 'bound to a key' })
  return token
}

async function verifyJwt(jwt: string, provider: Provider, settings: Settings): Promise<AccessTokenPayload> {
  try {
    return await settings.verifyAccessToken(jwt, provider.issuer)
  } catch (error) {
    throw invalidToken({ private: error })
  }
}
