/** The identity provider as the backend sees it: an issuer, called over HTTP with the backend's own credentials. */
import * as client from 'openid-client'
import { supportBackend } from '../clients.ts'
import { type Kept, kept } from './kept.ts'
import { unavailable } from './refusal.ts'

const PATIENCE = 5
/** A management token is renewed this long before it expires, so that it does not expire on the way. */
const MARGIN = 30

export interface IdentityProvider {
  /** RFC 7662. */
  introspect(token: string): Promise<client.IntrospectionResponse>
  readonly managementToken: Kept<string>
}

interface ProviderOptions {
  readonly issuer: string
  /** The management API's resource indicator. */
  readonly managementApi: string
  readonly log: (entry: object) => void
}

export function connectProvider({ issuer, managementApi, log }: ProviderOptions): IdentityProvider {
  const { client_id, client_secret, scope } = supportBackend
  const metadata = kept(async () => {
    const authentication = client.ClientSecretBasic(client_secret)
    const options = { execute: [client.allowInsecureRequests], timeout: PATIENCE } // plain HTTP: for loopback only
    const value = await client.discovery(new URL(issuer), client_id, undefined, authentication, options)
    return { value, seconds: 3600 }
  })
  const managementToken = kept(() =>
    orUnavailable(log, async () => {
      const request = { resource: managementApi, scope }
      const tokens = await client.clientCredentialsGrant(await metadata.get(), request)
      return { value: tokens.access_token, seconds: (tokens.expires_in ?? 0) - MARGIN }
    }),
  )
  return {
    introspect: (token) =>
      orUnavailable(log, async () => {
        const introspection = client.tokenIntrospection(await metadata.get(), token)
        return introspection.catch(inactiveIfStructured)
      }),
    managementToken,
  }
}

/** oidc-provider introspects no JWTs: it responds with an error instead of `active: false`. */
function inactiveIfStructured(error: unknown): client.IntrospectionResponse {
  if (error instanceof client.ResponseBodyError && error.error === 'unsupported_token_type')
    return { active: false }
  throw error
}

/** No response, no access: a provider that is down is a 503, never a yes and never a bad token. */
export async function orUnavailable<Value>(
  log: (entry: object) => void,
  ask: () => Promise<Value>,
): Promise<Value> {
  try {
    return await ask()
  } catch (error) {
    // The message only: other members of the error may contain a token.
    log({ event: 'backend.provider_unavailable', reason: error instanceof Error ? error.message : 'unknown' })
    throw unavailable()
  }
}
