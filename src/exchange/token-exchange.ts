import type { KoaContextWithOIDC, Provider } from 'oidc-provider'
import { TOKEN_EXCHANGE } from '../base/constants.ts'
import { errorReadOf } from '../base/errors.ts'
import { emitFailureAt } from '../provider/failures.ts'
import type { Service } from '../provider/settings.ts'
import { hasTokenForm } from '../tokens/secret.ts'
import { exchangeSubjectToken } from './impersonation.ts'
import { exchangeReceivedToken } from './on-behalf-of.ts'
import type { ExchangeContext } from './request.ts'

/** Requests that have reached the handler, whose outcome has an event of its own. */
const begun = new WeakSet<object>()

/**
 * The token exchange grant (RFC 8693). What the subject token is decides which exchange it is: by its form, and never
 * by a parameter. While `onBehalfOf` is off, a token of any other form is a malformed subject token.
 */
export const exchangeHandler =
  (service: Service) =>
  (ctx: ExchangeContext): Promise<void> => {
    begun.add(ctx)
    const { onBehalfOf } = service.options
    const { subject_token: token } = ctx.oidc.params
    return !onBehalfOf || !token || hasTokenForm(token)
      ? exchangeSubjectToken(ctx, service)
      : exchangeReceivedToken(ctx, service, onBehalfOf)
  }

/**
 * Emits the event of a request for an exchange that fails before the handler is called: while its client is looked up, say.
 * The provider alone knows of it.
 */
export function emitEarlyFailures(provider: Provider): void {
  const tell = (ctx: KoaContextWithOIDC, thrown: unknown) => {
    const { status, oidc } = ctx
    if (status < 500 || oidc.route !== 'token' || begun.has(ctx)) return
    if (oidc.params?.grant_type !== TOKEN_EXCHANGE) return
    emitFailureAt({ provider, door: 'exchange' }, ctx, { status, error: errorReadOf(thrown), thrown })
  }
  provider.on('server_error', tell)
  provider.on('grant.error', tell)
}
