/** The identity provider as the backend knows it: by its issuer, over HTTP, with the backend's own credentials. */
import * as client from 'openid-client'
import { supportBackend } from '../clients.ts'
import { type Kept, kept } from './kept.ts'
import { unavailable } from './refusal.ts'

const PATIENCE = 5
/** A management token is renewed this long before its end, so that none runs out on its way. */
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
      const answer = await client.clientCredentialsGrant(await metadata.get(), request)
      return { value: answer.access_token, seconds: (answer.expires_in ?? 0) - MARGIN }
    }),
  )
  return {
    introspect: (token) =>
      orUnavailable(log, async () => {
        const answer = client.tokenIntrospection(await metadata.get(), token)
        return answer.catch(inactiveIfStructured)
      }),
    managementToken,
  }
}

/** oidc-provider takes no JWT at introspection, and refuses instead of answering that it is not active. */
function inactiveIfStructured(error: unknown): client.IntrospectionResponse {
  if (error instanceof client.ResponseBodyError && error.error === 'unsupported_token_type')
    return { active: false }
  throw error
}

/** Without an answer nobody gets in: a provider that is down is a 503, never a yes and never a bad token. */
export async function orUnavailable<Value>(
  log: (entry: object) => void,
  ask: () => Promise<Value>,
): Promise<Value> {
  try {
    return await ask()
  } catch (error) {
    // The message only: what hangs on the error may hold a token.
    log({ event: 'backend.provider_unavailable', reason: error instanceof Error ? error.message : 'unknown' })
    throw unavailable()
  }
}
