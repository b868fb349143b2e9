/** Consent becomes a Grant: what this person allows this application from now on. */
import type { Provider } from 'oidc-provider'
import { askedBy, type Interaction } from './interaction.ts'
import { missingFrom } from './missing.ts'

/** Adds what was requested to the existing grant, or creates one. Resolves to its id. */
export async function allowWhatIsMissing(provider: Provider, interaction: Interaction): Promise<string> {
  const { grantId, session } = interaction
  const found = grantId && (await provider.Grant.find(grantId))
  const grant =
    found || new provider.Grant({ accountId: session?.accountId, clientId: askedBy(interaction).clientId })

  const { scopes, claims, resourceScopes } = missingFrom(interaction)
  if (scopes.length > 0) grant.addOIDCScope(scopes.join(' '))
  if (claims.length > 0) grant.addOIDCClaims([...claims])
  for (const [resource, names] of Object.entries(resourceScopes)) {
    grant.addResourceScope(resource, names.join(' '))
  }
  return grant.save()
}
