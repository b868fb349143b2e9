/** What the provider is waiting for, and consent: it becomes a Grant, what this person allows this application from now on. */
import type { Provider } from 'oidc-provider'

/** A sign-in or a consent. */
export type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

/** What the application asks for and the person has not allowed yet, as oidc-provider lists it in the consent prompt. */
export interface Missing {
  readonly missingOIDCScope?: readonly string[]
  readonly missingOIDCClaims?: readonly string[]
  /** By resource indicator. */
  readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>>
}

/** Adds what was requested to the existing grant, or creates one. Resolves to its id. */
export async function allowWhatIsMissing(
  provider: Provider,
  { grantId, session, params, prompt }: Interaction,
): Promise<string> {
  const found = grantId && (await provider.Grant.find(grantId))
  const owner = { accountId: session?.accountId, clientId: String(params.client_id) }
  const grant = found || new provider.Grant(owner)
  const { missingOIDCScope, missingOIDCClaims, missingResourceScopes = {} }: Missing = prompt.details
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '))
  if (missingOIDCClaims) grant.addOIDCClaims([...missingOIDCClaims])
  for (const [resource, names] of Object.entries(missingResourceScopes)) {
    grant.addResourceScope(resource, names.join(' '))
  }
  return grant.save()
}
