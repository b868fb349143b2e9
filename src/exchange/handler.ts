import type { Service } from '../provider/settings.ts'
import { hasTokenForm } from '../subject-tokens/secret.ts'
import { began } from './early-failures.ts'
import { exchangeSubjectToken } from './impersonation.ts'
import { exchangeReceivedToken } from './on-behalf-of.ts'
import type { ExchangeContext } from './request.ts'

/**
 * The token exchange grant (RFC 8693). What the subject token is decides which exchange it is: by its form, and never
 * by a parameter. While `onBehalfOf` is off, a token of any other form is a malformed subject token.
 */
export const exchangeHandler =
  (service: Service) =>
  (ctx: ExchangeContext): Promise<void> => {
    began(ctx)
    const { onBehalfOf } = service.options
    const { subject_token: token } = ctx.oidc.params
    return !onBehalfOf || !token || hasTokenForm(token)
      ? exchangeSubjectToken(ctx, service)
      : exchangeReceivedToken(ctx, service, onBehalfOf)
  }
