import type { ResourceServerInstance } from 'oidc-provider'
import { errors } from 'oidc-provider'
import { scopeRefused, targetRefused } from '../base/errors.ts'
import { assertConfigured } from '../provider/configuration.ts'
import { clientMayRequest, type GrantContext, requestedResourceServers } from '../provider/grants.ts'

/** Where the access token may be used, and for what. */
export interface Target {
  readonly resource: string
  readonly resourceServer: ResourceServerInstance
  /** The granted scopes; `undefined` if none were requested. */
  readonly scope?: string
}

/** How far a subject token reaches, in the hands of this client and this actor. */
export interface Limits {
  /** Refuses a resource that it does not reach. */
  assertReaches(resource: string, server: ResourceServerInstance): void
  /** Lists of scopes: one that is missing in any of them is not granted. */
  readonly ceilings: readonly string[]
  /** Whether the access token may be an actor token, which has the scope `openid`. */
  readonly mayAct: boolean
}

export async function resolveTarget(
  ctx: GrantContext,
  scopes: readonly string[],
  limits: Limits,
): Promise<Target> {
  const [resourceServer, ...others] = await requestedResourceServers(ctx)
  if (!resourceServer) throw targetRefused({ private: 'no resource' })
  if (others.length > 0) throw targetRefused({ private: 'more than one resource' })
  assertConfigured(ctx)

  const resource = resourceServer.identifier()
  limits.assertReaches(resource, resourceServer)
  return { resource, resourceServer, scope: grantScope(ctx, { scopes, ...limits }, resourceServer) }
}

interface ScopeRequest extends Pick<Limits, 'ceilings' | 'mayAct'> {
  readonly scopes: readonly string[]
}

/** Granted = requested ∩ of the resource ∩ every ceiling, without what the client may not have. */
function grantScope(
  ctx: GrantContext,
  { scopes, ceilings, mayAct }: ScopeRequest,
  resourceServer: ResourceServerInstance,
): string | undefined {
  if (scopes.length === 0) return undefined
  // Read once: the provider splits the text at every access.
  const available = resourceServer.scopes
  const allowed = ceilings.map((ceiling) => new Set(ceiling.split(' ')))
  const granted = scopes.filter(
    (scope) =>
      scope !== 'offline_access' &&
      // A token with `openid` can be an actor token, so it must name its own actor: without one, the user would be named.
      (scope !== 'openid' || mayAct) &&
      available.has(scope) &&
      allowed.every((names) => names.has(scope)) &&
      clientMayRequest(ctx, scope, errors.InvalidScope),
  )
  if (granted.length === 0) throw scopeRefused({ public: 'none of the requested scopes can be granted' })
  return granted.join(' ')
}
