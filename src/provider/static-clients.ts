import type { ClientMetadata, Configuration } from 'oidc-provider'
import { CLIENT_CREDENTIALS } from '../constants.ts'
import { managementScopesIn } from './clients.ts'

/**
 * The provider validates static clients when they are first used. A deployment should learn of a mistake at start-up.
 *
 * @throws {TypeError} naming the static client that would get management scopes without credentials.
 */
export function assertStaticClients({ clients = [], clientDefaults = {} }: Configuration): void {
  for (const client of clients) {
    const method = client.token_endpoint_auth_method ?? clientDefaults.token_endpoint_auth_method
    const [scope] = method === 'none' ? managementScopesIn(scopeOf(client, clientDefaults)) : []
    if (!scope) continue
    throw new TypeError(
      `configuration.clients: "${client.client_id}" does not authenticate (token_endpoint_auth_method: none), so its scope cannot name ${scope}`,
    )
  }
}

/** Every client inherits a default scope; it matters for those that could ask for a token with it. */
function scopeOf(client: ClientMetadata, defaults: Partial<ClientMetadata>): string | undefined {
  const grantTypes = client.grant_types ?? defaults.grant_types
  return client.scope ?? (grantTypes?.includes(CLIENT_CREDENTIALS) ? defaults.scope : undefined)
}
