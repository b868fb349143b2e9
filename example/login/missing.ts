/** What the application asks for and the person has not allowed yet, as oidc-provider lists it in the consent prompt. */
import type { Interaction } from './interaction.ts'

export interface Missing {
  readonly scopes: readonly string[]
  readonly claims: readonly string[]
  /** By resource indicator. */
  readonly resourceScopes: Readonly<Record<string, readonly string[]>>
}

interface ConsentDetails {
  readonly missingOIDCScope?: readonly string[]
  readonly missingOIDCClaims?: readonly string[]
  readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>>
}

export function missingFrom({ prompt }: Interaction): Missing {
  const { missingOIDCScope, missingOIDCClaims, missingResourceScopes }: ConsentDetails = prompt.details
  return {
    scopes: missingOIDCScope ?? [],
    claims: missingOIDCClaims ?? [],
    resourceScopes: missingResourceScopes ?? {},
  }
}
