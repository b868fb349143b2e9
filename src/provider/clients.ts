import { type Client, errors, type Provider } from 'oidc-provider'

/**
 * The client that is registered under this id. One whose metadata is no longer valid, or whose metadata document
 * cannot be fetched, counts as not registered; the provider would fail the request with an error about it.
 */
export async function findClient(provider: Provider, clientId: string): Promise<Client | undefined> {
  try {
    return await provider.Client.find(clientId)
  } catch (error) {
    if (error instanceof errors.OIDCProviderError && error.expose) return undefined
    throw error
  }
}
