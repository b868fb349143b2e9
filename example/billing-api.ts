/** The API behind the orders API. Its tokens say whose payments they are, who looks, and through which API. */
import Router from '@koa/router'
import { assertScope, createVerifier } from '../packages/resource-server/src/index.ts' // yours: 'oidc-provider-impersonation-resource-server'
import { sendRefusals } from './refusals.ts'

/** The token that the orders API received must have it, too, or it is not granted here. */
export const PAYMENTS_SCOPE = 'payments:read'

/** Everyone's payments. The token says whose are shown. */
const PAYMENTS = [
  { order: '1001', customer: 'alice', paid: true },
  { order: '1002', customer: 'alice', paid: false },
  { order: '1003', customer: 'bob', paid: true },
]

interface BillingApi {
  readonly issuer: string
  /** Its resource indicator, and where it is mounted. */
  readonly audience: string
  readonly log: (entry: object) => void
}

export function billingApi({ issuer, audience, log }: BillingApi): Router {
  const router = new Router({ prefix: new URL(audience).pathname })
  const verify = createVerifier({ issuer, audience })
  router.use(sendRefusals)

  router.get('/payments', async (ctx) => {
    const caller = await verify(ctx.req)
    assertScope(caller, PAYMENTS_SCOPE)
    const { user, actor, through, clientId, tokenId, claims } = caller
    const { impersonation } = claims
    // The whole chain: the customer, the engineer, and the APIs in between.
    const who = { customer: user, ...(actor && { actor }), through }
    log({ event: 'payments.read', ...who, client_id: clientId, jti: tokenId, impersonation })
    const payments = PAYMENTS.filter(({ customer }) => customer === user)
    ctx.body = { ...who, payments: payments.map(({ order, paid }) => ({ order, paid })) }
  })
  return router
}
