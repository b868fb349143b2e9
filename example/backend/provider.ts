/** The identity provider as the backend sees it: an issuer, called over HTTP with the backend's own credentials. */
import * as client from 'openid-client'
// Yours: 'oidc-provider-impersonation-client'.
import { createImpersonationClient, type ImpersonationClient } from '../../packages/client/src/index.ts'
import { supportBackend } from '../clients.ts'
import { discoverOnce } from '../discovery.ts'
import { unavailable } from './refusal.ts'

/** Seconds. */
const PATIENCE = 5

/** Requests and keeps its management tokens by itself. */
export function connectImpersonation(issuer: string): ImpersonationClient {
  const { client_id: clientId, client_secret: clientSecret } = supportBackend
  return createImpersonationClient({ issuer, clientId, clientSecret, timeout: PATIENCE })
}

/** RFC 7662. */
export type Introspect = (token: string) => Promise<client.IntrospectionResponse>

interface IntrospectionOptions {
  readonly issuer: string
  readonly log: (entry: object) => void
}

/** Asks every time: a sign-in that has ended ends here, too. */
export function connectIntrospection({ issuer, log }: IntrospectionOptions): Introspect {
  const discover = discoverOnce(issuer, supportBackend, PATIENCE)
  return async (token) => {
    try {
      return await client.tokenIntrospection(await discover(), token)
    } catch (error) {
      // oidc-provider introspects no JWTs: it responds with an error instead of `active: false`.
      if (error instanceof client.ResponseBodyError && error.error === 'unsupported_token_type')
        return { active: false }
      // No response, no access: a provider that is down is a 503, never a yes and never a bad token.
      throw unavailable(log, error)
    }
  }
}
