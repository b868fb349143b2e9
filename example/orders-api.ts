/**
 * A resource server. It knows only the provider's issuer, and shows what an API should do about impersonation: obey
 * the user and the scopes, log who acts, refuse what was stopped, and reserve some operations for the customer.
 */
import Router from '@koa/router'
import type { Context } from 'koa'
import {
  assertInPerson,
  assertScope,
  type Caller,
  createVerifier,
} from '../packages/resource-server/src/index.ts' // yours: 'oidc-provider-impersonation-resource-server'
import { PAYMENTS_SCOPE } from './billing-api.ts'
import { invoiceOf, ordersOf, profileOf } from './orders.ts'
import { paymentsReader } from './payments.ts'
import { sendRefusals } from './refusals.ts'
import { challengeWithMetadata } from './resource-metadata.ts'
import { watchStatusLists } from './status-list-metrics.ts'

/** The last one means: may see payments through this API. */
export const ORDERS_SCOPES = ['orders:read', 'orders:write', PAYMENTS_SCOPE] as const
/** A read-only token is not granted these. */
export const WRITE_SCOPES = ['orders:write'] as const

interface OrdersApi {
  readonly issuer: string
  /** Its resource indicator, and where it is mounted. */
  readonly audience: string
  /** The API behind it. */
  readonly billingApi: string
  readonly log: (entry: object) => void
}

export function ordersApi({ issuer, audience, billingApi, log }: OrdersApi): Router {
  const router = new Router({ prefix: new URL(audience).pathname })
  const verify = createVerifier({ issuer, audience, onStatusList: watchStatusLists() })
  const readPayments = paymentsReader({ issuer, billingApi, log })
  router.use(challengeWithMetadata(audience), sendRefusals)

  async function reader(ctx: Context, event: string): Promise<Caller> {
    const caller = await verify(ctx.req)
    assertScope(caller, 'orders:read')
    const { user, actor, clientId, tokenId, claims } = caller
    const { impersonation } = claims
    // The audit log needs both: whose data it was, and who looked at it. `jti` leads to the record.
    log({ event, customer: user, actor, client_id: clientId, jti: tokenId, impersonation })
    return caller
  }

  router.get('/orders', async (ctx) => {
    const { user, actor, scopes, claims } = await reader(ctx, 'orders.read')
    const { impersonation } = claims
    const scope = scopes.join(' ')
    const [, received = ''] = ctx.get('authorization').split(/ +/)
    const billing = scopes.includes(PAYMENTS_SCOPE) ? await readPayments(received) : undefined
    ctx.body = { customer: user, actor, scope, impersonation, orders: ordersOf(user), billing }
  })

  router.get('/profile', async (ctx) => {
    const { user } = await reader(ctx, 'profile.read')
    ctx.body = profileOf(user)
  })

  router.get('/orders/:id/invoice', async (ctx) => {
    const { user } = await reader(ctx, 'invoice.read')
    const invoice = invoiceOf(user, ctx.params.id ?? '')
    // Someone else's order is not there either.
    ctx.status = invoice ? 200 : 404
    ctx.body = invoice ?? { error: 'not_found', error_description: 'there is no such invoice' }
  })

  router.delete('/orders/:id', async (ctx) => {
    const caller = await verify(ctx.req)
    assertScope(caller, 'orders:write')
    // Also refuses an impersonation without an actor token: its access token has a `status`.
    assertInPerson(caller)
    ctx.status = 204
  })
  return router
}
