import type { Context } from 'koa'
import type { Client, OIDCContext, Provider } from 'oidc-provider'
import type { ManagementScope } from '../constants.ts'
import { storageUnavailable } from '../outage.ts'
import { registeredManagementScopes } from '../provider/client-metadata.ts'
import { findClient } from '../provider/clients.ts'
import type { AccountContext } from '../provider/grants.ts'
import { insufficientScope, invalidToken, MissingCredentials } from './errors.ts'
import type { ManagementTokenVerifier } from './management-token.ts'

/** A request of the management API whose client is known. */
export type ManagementContext = Context & {
  oidc: OIDCContext & AccountContext['oidc'] & { readonly client: Client }
}

/**
 * Accepts a machine-to-machine client with the scope of the route (protocol.md §2.3). The scope must be in the token and
 * still be in the client's registration, so that removing it there takes effect at once.
 */
export async function authenticate(
  ctx: Context,
  scope: ManagementScope,
  { provider, verify }: { readonly provider: Provider; readonly verify: ManagementTokenVerifier },
): Promise<ManagementContext> {
  const token = await verify(bearerToken(ctx))
  const client = await findCaller(provider, token.client_id)
  if (!client) throw invalidToken({ private: 'the client is gone' })
  const granted = typeof token.scope === 'string' ? token.scope.split(' ') : []
  if (!granted.includes(scope) || !registeredManagementScopes(client).has(scope))
    throw insufficientScope(scope)

  // findAccount and the policy receive the context that they know from the provider's own endpoints.
  const oidc = new provider.OIDCContext(ctx)
  oidc.entity('Client', client)
  return Object.assign(ctx, { oidc }) as ManagementContext
}

async function findCaller(provider: Provider, clientId: string): Promise<Client | undefined> {
  try {
    return await findClient(provider, clientId)
  } catch (error) {
    throw storageUnavailable(error)
  }
}

function bearerToken(ctx: Context): string {
  const { authorization } = ctx.headers
  if (!authorization) throw new MissingCredentials()
  const [, token] = /^Bearer +([\w\-.~+/]+=*)$/i.exec(authorization) ?? []
  if (!token) throw invalidToken({ private: 'not a Bearer token' })
  return token
}
