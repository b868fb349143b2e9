/** The orders API as a client of the billing API: it exchanges the token that it received for one of its own. */
// Yours: 'oidc-provider-impersonation-client'.
import { createImpersonationClient, ImpersonationError } from '../packages/client/src/index.ts'
import { PAYMENTS_SCOPE } from './billing-api.ts'
import { ordersApiClient } from './clients.ts'

interface Billing {
  readonly issuer: string
  /** Its resource indicator, and where it is reached. */
  readonly billingApi: string
  readonly log: (entry: object) => void
}

/**
 * What the billing API responds for the user of the token, which must have been verified. `undefined` if it does not: the
 * orders are shown without payments then.
 */
export type ReadPayments = (received: string) => Promise<object | undefined>

/** Seconds. */
const PATIENCE = 5

export function paymentsReader({ issuer, billingApi, log }: Billing): ReadPayments {
  const { client_id: clientId, client_secret: clientSecret } = ordersApiClient
  const client = createImpersonationClient({ issuer, clientId, clientSecret, timeout: PATIENCE })
  return async (received) => {
    try {
      // Never forward it: the billing API must not accept a token that is for this API.
      const request = { subjectToken: received, resource: billingApi, scope: PAYMENTS_SCOPE }
      const { accessToken } = await client.onBehalfOf(request)
      const headers = { authorization: `Bearer ${accessToken}` }
      const signal = AbortSignal.timeout(PATIENCE * 1000)
      const response = await fetch(`${billingApi}/payments`, { headers, signal })
      if (response.ok) return Object(await response.json())
      log({ event: 'payments.unavailable', status: response.status })
    } catch (error) {
      log({
        event: 'payments.unavailable',
        code: error instanceof ImpersonationError ? error.code : 'failed',
      })
    }
    return undefined
  }
}
