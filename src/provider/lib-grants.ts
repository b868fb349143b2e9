/**
 * The one import of oidc-provider's module for custom grants. It is outside semantic versioning, so it is named here
 * once, and `attach` checks that it has every function that is used.
 */
import { createRequire } from 'node:module'
import {
  type Account,
  type Client,
  errors,
  type Provider,
  type TokenEndpointGrantContext,
} from 'oidc-provider'
import * as module from 'oidc-provider/lib/helpers/grants.js'

/** A request as the provider passes it to the handler of a grant. The handler knows its parameters. */
export type GrantContext = TokenEndpointGrantContext

const USED = [
  'buildTokenResponse',
  'checkDpopReplay',
  'checkDpopRequired',
  'checkMtlsCert',
  'findAccount',
  'resolveRequestedResources',
  'validateClientScope',
  'validateDpop',
] as const satisfies readonly (keyof typeof module)[]

/** The functions that may be called: those that `attach` has checked. */
export const grants: Pick<typeof module, (typeof USED)[number]> = module

/** @throws {TypeError} that names the version of oidc-provider and the function that it lacks. */
export function assertGrantFunctions(given: object = module): void {
  for (const name of USED) {
    if (typeof Reflect.get(given, name) === 'function') continue
    throw unsupported(`has no function ${name} in lib/helpers/grants.js`)
  }
}

/** An error that names the version of oidc-provider. */
export function unsupported(why: string): TypeError {
  const { version } = createRequire(import.meta.url)('oidc-provider/package.json')
  return new TypeError(`oidc-provider ${version} ${why}; install a version that this package supports`)
}

/**
 * Before the provider accepts a client assertion or a DPoP proof, it looks for a record of it, and writes one
 * where there is none. Requests at the same moment all find none. An adapter that writes a record once, and
 * throws `InvalidGrant` to all others, decides between them. For those `unique` returns `false`, as for a record
 * that was found, so that each endpoint refuses them as it refuses every replay.
 */
export function refuseSimultaneousReplays({ ReplayDetection }: Provider): void {
  const unique = ReplayDetection.unique.bind(ReplayDetection)
  ReplayDetection.unique = async (iss, jti, exp) => {
    try {
      return await unique(iss, jti, exp)
    } catch (error) {
      if (error instanceof errors.InvalidGrant) return false
      throw error
    }
  }
}

/** The resource servers that the request's `resource`, or `defaultResource`, names (RFC 8707). */
export function requestedResourceServers(ctx: GrantContext) {
  return grants.resolveRequestedResources(ctx.oidc.provider, ctx)
}

/** Whether the client's `scope` metadata, if present, lets it request this scope of the provider. */
export function clientMayRequest(ctx: GrantContext, scope: string, InvalidScope: typeof errors.InvalidScope) {
  try {
    grants.validateClientScope(ctx.oidc.provider, ctx, [scope])
    return true
  } catch (error) {
    if (error instanceof InvalidScope) return false
    throw error
  }
}

/** A context whose `oidc` belongs to the provider: the token endpoint's, or one made for the management API. */
export type AccountContext = Omit<TokenEndpointGrantContext, 'oidc'> & {
  oidc: { readonly provider: Provider; readonly client?: Client | undefined }
}

/**
 * The account that `findAccount` returns, checked for its shape. `source` is the access token that names the
 * account, if there is one.
 */
export function findAccount(
  ctx: AccountContext,
  accountId: string,
  source?: object,
): Promise<Account | undefined> {
  return grants.findAccount(ctx.oidc.provider, ctx as TokenEndpointGrantContext, accountId, source)
}

export const buildTokenResponse = grants.buildTokenResponse
