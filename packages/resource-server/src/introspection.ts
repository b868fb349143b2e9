/** Opaque access tokens, by introspection (RFC 7662). Nothing is remembered: a token is stopped at the next request. */
import type { Claims } from './claims.ts'
import type { Issuer } from './discovery.ts'
import { difference, Refused } from './errors.ts'
import type { Send } from './http.ts'
import { parseObject } from './json.ts'
import type { ResolvedOptions } from './options.ts'
import { instant } from './time.ts'

export type Introspect = (token: string) => Promise<Claims>

/** Opaque tokens of the provider are 43 characters. A longer form might be too much for it, which is no outage. */
const MAX_TOKEN = 2048
const LIMIT = 256 * 1024

export function introspector(
  { issuer, audience, introspection, clockTolerance, timeout }: ResolvedOptions,
  { introspectionEndpoint }: Issuer,
  send: Send,
): Introspect {
  if (!introspection) {
    return async () => {
      throw new Refused('opaque, and there is no option introspection')
    }
  }
  const authorization = basic(introspection)
  return async (token) => {
    if (token.length > MAX_TOKEN) throw new Refused('the token is too long')
    const text = await send({
      what: 'introspection',
      url: await introspectionEndpoint(),
      accept: 'application/json',
      limit: LIMIT,
      timeout,
      form: { authorization, body: new URLSearchParams({ token, token_type_hint: 'access_token' }) },
    })
    const { active, token_type, ...claims } = parseObject('introspection', text)
    if (active !== true) throw new Refused('not active')
    // A refresh token is active, too, and has none (RFC 7662 §2.2).
    if (!/^(bearer|dpop)$/i.test(String(token_type))) throw new Refused('not an access token')
    if (claims.iss !== undefined && claims.iss !== issuer)
      throw new Refused(`of another issuer: ${difference(issuer, claims.iss)}`)
    if (!namesAudience(claims.aud, audience))
      throw new Refused(`for another API: ${difference(audience, claims.aud)}`)
    assertInForce(claims, clockTolerance)
    // A client's own token has no `sub` here; as a JWT it would have this one (RFC 9068 §2.2).
    return claims.sub === undefined ? { ...claims, sub: claims.client_id } : claims
  }
}

const namesAudience = (aud: unknown, audience: string): boolean =>
  Array.isArray(aud) ? aud.includes(audience) : aud === audience

/** The provider allows a clock tolerance of its own: `active` is not the last word. */
function assertInForce({ exp, nbf }: Claims, clockTolerance: number): void {
  const now = Math.floor(instant())
  if (typeof exp !== 'number' || exp <= now - clockTolerance) throw new Refused('expired')
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= now + clockTolerance))
    throw new Refused('not yet valid')
}

/** RFC 6749 §2.3.1: both are form-encoded first, so that a colon or a letter beyond ASCII survives. */
function basic({ clientId, clientSecret }: NonNullable<ResolvedOptions['introspection']>): string {
  return `Basic ${btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`)}`
}

const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)
