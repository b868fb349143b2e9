/** JWT access tokens (RFC 9068 §4): of this issuer, for this API, and in force. Whose they are is read elsewhere. */
import { errors, jwtVerify } from 'jose'
import { TOKEN_ALGORITHMS } from './algorithms.ts'
import type { Claims } from './claims.ts'
import type { Issuer } from './discovery.ts'
import { difference, ProviderUnavailable, Refused } from './errors.ts'
import type { ResolvedOptions } from './options.ts'

export type VerifyJwt = (token: string) => Promise<Claims>

export function jwtVerifier(
  { issuer, audience, clockTolerance }: ResolvedOptions,
  { keyOf }: Issuer,
): VerifyJwt {
  const rules = {
    issuer,
    audience,
    clockTolerance,
    typ: 'at+jwt',
    algorithms: TOKEN_ALGORITHMS,
    // RFC 9068 §2.2
    requiredClaims: ['exp', 'iat', 'sub', 'client_id', 'jti'],
  }
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keyOf, rules)
      return payload
    } catch (error) {
      if (error instanceof ProviderUnavailable) throw error
      throw new Refused(`${reasonOf(error)}${differenceIn(error, { iss: issuer, aud: audience })}`)
    }
  }
}

/** The value of a claim that is not as expected: the issuer has signed it, or nothing would be compared. */
function differenceIn(error: unknown, expected: Readonly<Record<string, string>>): string {
  if (!(error instanceof errors.JWTClaimValidationFailed)) return ''
  const { claim, payload } = error
  return expected[claim] === undefined ? '' : `: ${difference(expected[claim], payload[claim])}`
}

/** The codes of jose, and names of claims that it was told: its messages and causes may hold what the token says. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof errors.JOSEError)) return 'the signature cannot be verified'
  const claim = error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired
  return claim ? `${error.code} ${error.claim}` : error.code
}
