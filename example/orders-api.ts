/**
 * A resource server. It knows only the provider's issuer and public keys, and shows what an API should do about
 * impersonation: obey `sub` and `scope`, log `act`, and reserve some operations for the customer.
 */
import Router from '@koa/router'
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import type { Context, Middleware, Next } from 'koa'

export const ORDERS_SCOPES = ['orders:read', 'orders:write'] as const
type Scope = (typeof ORDERS_SCOPES)[number]

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
  const allow = bearer({ issuer, audience })

  router.get('/orders', allow('orders:read'), (ctx) => {
    const { sub, act, scope, client_id, jti, impersonation }: JWTPayload = ctx.state.token
    // The audit log needs both: whose data it was, and who looked at it.
    log({ event: 'orders.read', customer: sub, actor: act, client_id, jti, impersonation })
    ctx.body = {
      customer: sub,
      actor: act,
      scope,
      impersonation,
      orders: ORDERS.filter(({ customer }) => customer === sub).map(({ id, item }) => ({ id, item })),
    }
  })

  router.delete('/orders/:id', allow('orders:write'), (ctx) => {
    const { act, impersonation }: JWTPayload = ctx.state.token
    // `act` shows an impersonation with an actor token. Our own claim shows those without one, too.
    if (act || impersonation)
      return refuse(ctx, 403, 'access_denied', 'only the customer can cancel an order')
    ctx.status = 204
  })
  return router
}

/** Accepts requests with an access token of `issuer` for `audience` that has the scope of the route (RFC 9068 §4). */
function bearer({ issuer, audience }: Omit<OrdersApi, 'log'>): (scope: Scope) => Middleware {
  // The provider's `jwks_uri`. The key set is fetched once and cached.
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`))
  const rules = {
    issuer,
    audience,
    typ: 'at+jwt',
    algorithms: ['ES256'],
    requiredClaims: ['sub', 'exp', 'client_id'],
  }
  return (scope) => async (ctx: Context, next: Next) => {
    const [, jwt] = /^Bearer +(\S+)$/i.exec(ctx.get('Authorization')) ?? []
    if (!jwt) return refuse(ctx, 401)
    const token = await jwtVerify(jwt, keys, rules).then(({ payload }) => payload, invalid)
    // A token bound to a key (`cnf`) is not a bearer token, and an `act` that names no one says nothing.
    if (!token || token.cnf || (token.act && !actorOf(token)))
      return refuse(ctx, 401, 'invalid_token', 'the access token is invalid')
    if (typeof token.scope !== 'string' || !token.scope.split(' ').includes(scope)) {
      return refuse(ctx, 403, 'insufficient_scope', `the scope ${scope} is required`)
    }
    ctx.state.token = token
    return next()
  }
}

const actorOf = ({ act }: JWTPayload): unknown => Reflect.get(Object(act), 'sub')

/** A bad token is the caller's fault; keys that cannot be fetched are ours, and a 500. */
function invalid(error: unknown): undefined {
  const ours = ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID']
  if (!(error instanceof errors.JOSEError) || ours.includes(error.code)) throw error
}

/** RFC 6750 §3: a request without credentials gets a bare challenge. */
function refuse(ctx: Context, status: 401 | 403, error?: string, description?: string): void {
  ctx.status = status
  ctx.set(
    'WWW-Authenticate',
    error ? `Bearer error="${error}", error_description="${description}"` : 'Bearer',
  )
  ctx.body = {
    error: error ?? 'invalid_token',
    error_description: description ?? 'an access token is required',
  }
}
