import type { Provider } from 'oidc-provider'
import type { AccessTokenPayload } from '../provider/access-token-jwt.ts'
import type { Settings } from '../provider/settings.ts'
import { invalidToken } from './errors.ts'

/** Returns the claims of a management token (protocol.md §2.3), or refuses it as invalid. */
export type ManagementTokenVerifier = (jwt: string) => Promise<AccessTokenPayload>

/** The caller looks up what can change, the client and its scopes. */
export function managementTokenVerifier(
  provider: Provider,
  settings: Pick<Settings, 'verifyAccessToken' | 'managementResource'>,
): ManagementTokenVerifier {
  return async (jwt) => {
    const token = await verifyJwt(jwt, provider, settings)
    if (token.aud !== settings.managementResource(provider))
      throw invalidToken({ private: 'for another resource' })
    if (token.sub !== token.client_id) throw invalidToken({ private: 'not a token of a client for itself' })
    if (token.cnf !== undefined) throw invalidToken({ private: 'bound to a key' })
    return token
  }
}

async function verifyJwt(
  jwt: string,
  provider: Provider,
  settings: Pick<Settings, 'verifyAccessToken'>,
): Promise<AccessTokenPayload> {
  try {
    return await settings.verifyAccessToken(jwt, provider.issuer)
  } catch (error) {
    throw invalidToken({ private: error })
  }
}
