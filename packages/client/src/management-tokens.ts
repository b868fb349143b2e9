import { Call } from './call.ts'
import { Kept } from './kept.ts'
import type { ResolvedOptions } from './options.ts'
import { instant, type Seconds } from './time.ts'
import type { RequestToken } from './token-endpoint.ts'

/** The scopes of the management API. A client that has only some of them cannot request the others. */
export type ManagementScope = 'subject-tokens:create' | 'subject-tokens:read' | 'subject-tokens:revoke'

/** A token is renewed this long before it ends, or at half its life if that is later. */
export const MARGIN: Seconds = 30
/** How long a refused token is not replaced again: a client that was removed must not flood the token endpoint. */
export const REST: Seconds = 30

/** The token of one scope. All calls that need it wait for the same request, which no call's signal ends. */
interface ManagementToken {
  get(): Promise<string>
  /** Another token than the one that was refused. `undefined` if one was refused a short time ago. */
  replace(refused: string): Promise<string | undefined>
}

export function managementTokens(
  options: ResolvedOptions,
  request: RequestToken,
): (scope: ManagementScope) => ManagementToken {
  const tokens = new Map<ManagementScope, ManagementToken>()
  return (scope) => {
    const token = tokens.get(scope) ?? managementToken(options, request, scope)
    tokens.set(scope, token)
    return token
  }
}

function managementToken(
  options: ResolvedOptions,
  request: RequestToken,
  scope: ManagementScope,
): ManagementToken {
  let replacedAt = Number.NEGATIVE_INFINITY
  const kept = new Kept(async () => {
    const call = new Call(options.timeout)
    const parameters = { resource: options.managementResource, scope }
    const response = await call.run(() => request(call, { grantType: 'client_credentials', parameters }))
    const life = response.expires_in ?? 2 * MARGIN
    return { value: response.access_token, life: Math.max(life - MARGIN, life / 2) }
  })
  return {
    get: () => kept.get(),
    async replace(refused) {
      if ((await kept.get()) === refused && instant() >= replacedAt + REST) {
        replacedAt = instant()
        return kept.renew()
      }
      // Another call may have renewed it in the same instant.
      const current = await kept.get()
      return current === refused ? undefined : current
    },
  }
}
