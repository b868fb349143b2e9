/** Access tokens that an API received, for the rows in which it exchanges them. */
import { decodeJwt } from 'jose'
import type { JWK } from 'oidc-provider'
import { now } from '../../fixtures/clock.ts'
import { signJwt } from '../../fixtures/jwts.ts'
import { DAY } from './deployment.ts'

/**
 * As many JWTs as are needed, all of the impersonation that `accessToken` is of, and as long as each other. Signed here,
 * with the key of the provider, so that the server has seen none of them.
 */
export function receivedTokens(accessToken: string, key: JWK): (count: number) => Promise<string[]> {
  const claims = { ...decodeJwt(accessToken), exp: now() + DAY }
  let made = 0
  return async (count) => {
    const tokens: string[] = []
    for (let done = 0; done < count; done += 1) {
      made += 1
      tokens.push(await signJwt({ ...claims, jti: `received-${String(made).padStart(12, '0')}` }, { key }))
    }
    return tokens
  }
}
