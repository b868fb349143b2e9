/**
 * A resource server. It knows only the provider's issuer, and shows what an API should do about impersonation: obey
 * the user and the scopes, log who acts, refuse what was stopped, and reserve some operations for the customer.
 */
import Router from '@koa/router'
import { assertInPerson, assertScope, type Caller, createVerifier } from '../src/resource-server/index.ts' // yours: 'oidc-provider-impersonation/resource-server'
import { PAYMENTS_SCOPE } from './billing-api.ts'
import { paymentsReader } from './payments.ts'
import { sendRefusals } from './refusals.ts'
import { challengeWithMetadata } from './resource-metadata.ts'

/** The last one means: may see payments through this API. */
export const ORDERS_SCOPES = ['orders:read', 'orders:write', PAYMENTS_SCOPE] as const

/** Everyone's orders. The token says whose are shown. */
const ORDERS = [
  { id: '1001', customer: 'alice', item: 'A teapot' },
  { id: '1002', customer: 'alice', item: 'Six cups' },
  { id: '1003', customer: 'bob', item: 'A lamp' },
  { id: '1004', customer: 'carol', item: 'A rug' },
]

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
  const verify = createVerifier({ issuer, audience })
  const readPayments = paymentsReader({ issuer, billingApi, log })
  router.use(challengeWithMetadata(audience), sendRefusals)

  router.get('/orders', async (ctx) => {
    const caller = await verify(ctx.req)
    assertScope(caller, 'orders:read')
    const { user, actor, clientId, tokenId, scopes, claims } = caller
    const { impersonation } = claims
    // The audit log needs both: whose data it was, and who looked at it. `jti` leads to the record.
    log({ event: 'orders.read', customer: user, actor, client_id: clientId, jti: tokenId, impersonation })
    const scope = scopes.join(' ')
    const [, received = ''] = ctx.get('authorization').split(/ +/)
    const billing = scopes.includes(PAYMENTS_SCOPE) ? await readPayments(received) : undefined
    ctx.body = { customer: user, actor, scope, impersonation, orders: ordersOf(caller), billing }
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

const ordersOf = ({ user }: Caller) =>
  ORDERS.filter(({ customer }) => customer === user).map(({ id, item }) => ({ id, item }))
