import type { KoaContextWithOIDC } from 'oidc-provider'
import { secretInBody } from '../refusals.ts'

/**
 * Refuses a client that is registered with `client_secret_basic` and sent its secret in the body. Called once the
 * provider has authenticated the client: it compares the secret wherever it came, but takes it from one place only.
 */
export function assertSecretInHeader({ oidc: { client, params } }: KoaContextWithOIDC): void {
  if (client?.tokenEndpointAuthMethod === 'client_secret_basic' && params?.client_secret) throw secretInBody()
}
