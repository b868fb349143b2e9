/** What the provider is waiting for: a sign-in or a consent. */
import type { Provider } from 'oidc-provider'

export type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

/** The parts of the request that the pages and the grant need. */
export interface Asked {
  readonly clientId: string
  readonly redirectUri: string
}

export function askedBy({ params }: Interaction): Asked {
  return { clientId: String(params.client_id), redirectUri: String(params.redirect_uri) }
}
