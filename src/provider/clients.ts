import { type Client, errors, type Provider } from 'oidc-provider'

/**
 * The client that is registered under this id. One whose metadata is no longer valid, or whose metadata document
 * cannot be had, is registered no more; the provider would answer the request with an error about it.
 */
export async function findClient(provider: Provider, clientId: string): Promise<Client | undefined> {
  try {
    return await provider.Client.find(clientId)
  } catch (error) {
    if (error instanceof errors.OIDCProviderError && error.expose) return undefined
    throw error
  }
}
