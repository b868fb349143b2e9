import type { KoaContextWithOIDC, Provider } from 'oidc-provider'
import { TOKEN_EXCHANGE } from '../constants.ts'
import { tellOf } from '../http/doors.ts'
import { errorReadOf } from '../refusals.ts'

/** Requests that have reached the handler, whose outcome has an event of its own. */
const begun = new WeakSet<object>()

export const began = (ctx: object): void => void begun.add(ctx)

/**
 * Tells of a request for an exchange that fails before the handler is called: while its client is looked up, say. The
 * provider alone knows of it.
 */
export function tellEarlyFailures(provider: Provider): void {
  const tell = (ctx: KoaContextWithOIDC, thrown: unknown) => {
    const { status, oidc } = ctx
    if (status < 500 || oidc.route !== 'token' || begun.has(ctx)) return
    if (oidc.params?.grant_type !== TOKEN_EXCHANGE) return
    tellOf({ provider, door: 'exchange' }, ctx, { status, error: errorReadOf(thrown), thrown })
  }
  provider.on('server_error', tell)
  provider.on('grant.error', tell)
}
