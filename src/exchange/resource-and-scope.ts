import { errors, type ResourceServerInstance } from 'oidc-provider'
import { scopeRefused, targetRefused } from '../base/errors.ts'
import { assertConfigured } from '../provider/configuration.ts'
import { clientMayRequest, type GrantContext, requestedResourceServers } from '../provider/lib-grants.ts'
import type { SubjectToken } from '../tokens/subject-token.ts'

/** The resource that the access token is for, and its scopes. */
export interface Target {
  readonly resource: string
  readonly resourceServer: ResourceServerInstance
  /** The granted scopes; `undefined` if none were requested. */
  readonly scope?: string
}

/** Whether the resource is among those of the record, if it names any. */
export const isAllowedResource = ({ resource: allowed }: SubjectToken, resource: string): boolean =>
  allowed === undefined || [allowed].flat().includes(resource)

/** The one resource server that the request names (RFC 8707 §2). */
export async function getResourceServer(ctx: GrantContext): Promise<ResourceServerInstance> {
  const [resourceServer, ...others] = await requestedResourceServers(ctx)
  if (!resourceServer) throw targetRefused({ private: 'no resource' })
  if (others.length > 0) throw targetRefused({ private: 'more than one resource' })
  assertConfigured(ctx)
  return resourceServer
}

interface ScopeRequest {
  readonly scopes: readonly string[]
  /** Lists of scopes: one that is missing in any of them is not granted. `undefined` is no limit. */
  readonly ceilings: readonly (string | undefined)[]
  /** Scopes of the resource that are not granted. */
  readonly withheld: ReadonlySet<string>
  /** Whether the access token may be an actor token, which has the scope `openid`. */
  readonly mayAct: boolean
}

/** Granted = requested ∩ of the resource ∩ every ceiling, without what the client may not have. */
export function grantScope(
  ctx: GrantContext,
  resourceServer: ResourceServerInstance,
  { scopes, ceilings, withheld, mayAct }: ScopeRequest,
): string | undefined {
  if (scopes.length === 0) return undefined
  // Read once: the provider splits the text at every access.
  const available = resourceServer.scopes
  const limits = ceilings.flatMap((ceiling) => (ceiling === undefined ? [] : [new Set(ceiling.split(' '))]))
  const granted = scopes.filter(
    (scope) =>
      scope !== 'offline_access' &&
      // A token with `openid` can be an actor token, so it must name its own actor: without one, the user would be named.
      (scope !== 'openid' || mayAct) &&
      available.has(scope) &&
      !withheld.has(scope) &&
      limits.every((names) => names.has(scope)) &&
      clientMayRequest(ctx, scope, errors.InvalidScope),
  )
  if (granted.length === 0) throw scopeRefused({ public: 'none of the requested scopes can be granted' })
  return granted.join(' ')
}
