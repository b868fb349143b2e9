import type { ResourceServerInstance } from 'oidc-provider'
import { errors } from 'oidc-provider'
import { registeredResources } from '../provider/client-metadata.ts'
import { assertConfigured } from '../provider/configuration.ts'
import { clientMayRequest, type GrantContext, requestedResourceServers } from '../provider/grants.ts'
import { scopeRefused, subjectTokenRefused, targetRefused } from '../refusals.ts'
import type { Actor } from './actor.ts'
import type { Subject } from './subject.ts'

/** Where the access token may be used, and for what. */
export interface Target {
  readonly resource: string
  readonly resourceServer: ResourceServerInstance
  /** The granted scopes; `undefined` if none were requested. */
  readonly scope?: string
}

interface TargetRequest {
  readonly scopes: readonly string[]
  readonly subject: Subject
  readonly actor?: Actor
  readonly maxDelegationDepth: number
}

export async function resolveTarget(ctx: GrantContext, request: TargetRequest): Promise<Target> {
  const [resourceServer, ...others] = await requestedResourceServers(ctx)
  if (!resourceServer) throw targetRefused({ private: 'no resource' })
  if (others.length > 0) throw targetRefused({ private: 'more than one resource' })
  assertConfigured(ctx)

  const resource = resourceServer.identifier()
  const allowed = registeredResources(ctx.oidc.client)
  if (allowed && !allowed.includes(resource))
    throw targetRefused({ private: 'not among the resources of the client' })
  const bound = request.subject.token.resource
  if (bound !== undefined && bound !== resource)
    throw subjectTokenRefused({ private: 'bound to another resource' })
  return { resource, resourceServer, scope: grantScope(ctx, request, resourceServer) }
}

/** Granted = requested ∩ of the resource ∩ the constraint of the subject token, without what the client may not have. */
function grantScope(
  ctx: GrantContext,
  { scopes, subject, actor, maxDelegationDepth }: TargetRequest,
  resourceServer: ResourceServerInstance,
): string | undefined {
  if (scopes.length === 0) return undefined
  // Read once: the provider splits the text at every access.
  const available = resourceServer.scopes
  const ceiling = subject.token.scope === undefined ? undefined : new Set(subject.token.scope.split(' '))
  // A token with `openid` can be an actor token, so it must name its own actor: without one, the user would be named.
  const mayAct = actor !== undefined && maxDelegationDepth > 1
  const granted = scopes.filter(
    (scope) =>
      scope !== 'offline_access' &&
      (scope !== 'openid' || mayAct) &&
      available.has(scope) &&
      (!ceiling || ceiling.has(scope)) &&
      clientMayRequest(ctx, scope, errors.InvalidScope),
  )
  if (granted.length === 0) throw scopeRefused({ public: 'none of the requested scopes can be granted' })
  return granted.join(' ')
}
