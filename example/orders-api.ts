/**
 * A resource server. It knows only the provider's issuer, and shows what an API should do about impersonation: obey
 * the user and the scopes, log who acts, refuse what was stopped, and reserve some operations for the customer.
 */
import Router from '@koa/router'
import type { Middleware } from 'koa'
import {
  assertInPerson,
  assertScope,
  type Caller,
  createVerifier,
  Forbidden,
  ProviderUnavailable,
  Unauthorized,
} from '../src/resource-server/index.ts' // yours: 'oidc-provider-impersonation/resource-server'

export const ORDERS_SCOPES = ['orders:read', 'orders:write'] as const

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
  readonly log: (entry: object) => void
}

export function ordersApi({ issuer, audience, log }: OrdersApi): Router {
  const router = new Router({ prefix: new URL(audience).pathname })
  const verify = createVerifier({ issuer, audience })
  router.use(sendRefusals)

  router.get('/orders', async (ctx) => {
    const caller = await verify(ctx.req)
    assertScope(caller, 'orders:read')
    const { user, actor, clientId, tokenId, scopes, claims } = caller
    const { impersonation } = claims
    // The audit log needs both: whose data it was, and who looked at it. `jti` leads to the record.
    log({ event: 'orders.read', customer: user, actor, client_id: clientId, jti: tokenId, impersonation })
    ctx.body = { customer: user, actor, scope: scopes.join(' '), impersonation, orders: ordersOf(caller) }
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

const sendRefusals: Middleware = async (ctx, next) => {
  try {
    await next()
  } catch (error) {
    const isRefusal =
      error instanceof Unauthorized || error instanceof Forbidden || error instanceof ProviderUnavailable
    if (!isRefusal) throw error
    ctx.status = error.status
    ctx.set(error.headers)
    ctx.body = error.body
  }
}
