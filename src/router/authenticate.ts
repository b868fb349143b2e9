import type { Context } from 'koa'
import type { Client, OIDCContext, Provider } from 'oidc-provider'
import type { ManagementScope } from '../base/constants.ts'
import { RecordError } from '../base/errors.ts'
import { inProvider } from '../provider/accounts.ts'
import { findClient, registeredManagementScopes } from '../provider/client-metadata.ts'
import type { AccessTokenPayload } from '../provider/jwt-verification.ts'
import type { AccountContext } from '../provider/lib-grants.ts'
import { orOutage } from '../provider/outage.ts'
import type { Settings } from '../provider/settings.ts'

/** A request of the management API whose client is known. */
export type ManagementContext = Context & {
  oidc: OIDCContext & AccountContext['oidc'] & { readonly client: Client }
}

/** Accepts a request with a management token that has this scope, or refuses it. */
export type Authenticate = (ctx: Context, scope: ManagementScope) => Promise<ManagementContext>

/**
 * Accepts machine-to-machine clients with the scope of the route (protocol.md §2.3). The scope must be in the token and
 * still be in the client's registration, so that removing it there takes effect at once.
 */
export function authenticator(
  provider: Provider,
  settings: Pick<Settings, 'verifyAccessToken' | 'managementResource'>,
): Authenticate {
  const audience = settings.managementResource(provider)
  return async (ctx, scope) => {
    const token = await verify(bearerToken(ctx), provider, settings)
    if (token.aud !== audience) throw invalidToken('for another resource')
    if (token.sub !== token.client_id) throw invalidToken('not a token of a client for itself')
    if (token.cnf !== undefined) throw invalidToken('bound to a key')
    const client = await orOutage(findClient(provider, token.client_id))
    if (!client) throw invalidToken('the client is gone')
    const granted = typeof token.scope === 'string' ? token.scope.split(' ') : []
    if (!granted.includes(scope) || !registeredManagementScopes(client).has(scope))
      throw new InsufficientScope(scope)

    // findAccount and the policy receive the context that they know from the provider's own endpoints.
    inProvider(provider, ctx).oidc.entity('Client', client)
    return ctx as ManagementContext
  }
}

function bearerToken(ctx: Context): string {
  const { authorization } = ctx.headers
  if (!authorization) throw new MissingCredentials()
  const [, token] = /^Bearer +([\w\-.~+/]+=*)$/i.exec(authorization) ?? []
  if (!token) throw invalidToken('not a Bearer token')
  return token
}

/** The signature and the times. The rest is looked at every time. */
async function verify(
  jwt: string,
  { issuer }: Provider,
  { verifyAccessToken }: Pick<Settings, 'verifyAccessToken'>,
): Promise<AccessTokenPayload> {
  try {
    return await verifyAccessToken(jwt, issuer)
  } catch (error) {
    throw invalidToken(error)
  }
}

/** One public text for every bad management token. */
const invalidToken = (because: unknown) =>
  new RecordError({
    status: 401,
    code: 'invalid_token',
    public: 'the access token is invalid',
    private: because,
  })

class MissingCredentials extends RecordError {
  constructor() {
    super({ status: 401, code: 'invalid_token', public: 'an access token is required' })
  }
}

class InsufficientScope extends RecordError {
  readonly scope: string
  constructor(scope: string) {
    super({ status: 403, code: 'insufficient_scope', public: `the access token lacks the scope ${scope}` })
    this.scope = scope
  }
}

/** The challenge of a 401 or 403 (RFC 6750 §3). Without credentials a bare one, without an error code (§3.1). */
export function challengeOf(realm: string, error: RecordError): Readonly<Record<string, string>> {
  if (error.status !== 401 && error.status !== 403) return {}
  const scope = error instanceof InsufficientScope ? `, scope="${error.scope}"` : ''
  const details = `, error="${error.code}", error_description="${error.message}"${scope}`
  return {
    'WWW-Authenticate': `Bearer realm="${realm}"${error instanceof MissingCredentials ? '' : details}`,
  }
}
