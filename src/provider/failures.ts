/** Emits `impersonation.failed` for a response of 5xx, and says what a request calls itself. */
import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import type { KoaContextWithOIDC, OIDCContext, Provider } from 'oidc-provider'
import { checkOf, RecordError, reasonOf, recordErrorOf } from '../base/errors.ts'
import { emit, type ImpersonationFailed } from '../events.ts'
import { inProvider } from './accounts.ts'

/** The route of a request; `door` is the member of the event. */
interface Route {
  readonly provider: Provider
  readonly door: ImpersonationFailed['door']
}

/** Keyed by the request of Node, because several contexts may stand for it. Written by `setRoute`, and dropped with it. */
const routes = new WeakMap<IncomingMessage, Route>()

/** Says which route a request is at. A failure of a request without one emits no event. */
export function setRoute(ctx: Pick<Context, 'req'>, route: Route): void {
  routes.set(ctx.req, route)
}

/** Emits the event of a response of 5xx, whatever caused it. */
export function emitFailure(ctx: Context, thrown: unknown): void {
  const route = routes.get(ctx.req)
  const { status, code, cause = thrown } = recordErrorOf(thrown)
  if (!route || status < 500) return
  emitFailureAt(route, ctx, { status, error: code, thrown: cause })
}

/** Emits the event for a route that responds in a way of its own. `error` is what the client read. */
export function emitFailureAt(
  { provider, door }: Route,
  ctx: Pick<Context, 'get'> & { readonly oidc?: Pick<OIDCContext, 'client'> | undefined },
  { status, error, thrown }: { readonly status: number; readonly error: string; readonly thrown: unknown },
): void {
  emit(provider, 'impersonation.failed', {
    door,
    status,
    check: checkOf(thrown) ?? error,
    // Fixed texts only: the message of another error may repeat what was sent.
    reason: thrown instanceof RecordError ? thrown.message : reasonOf(thrown),
    clientId: ctx.oidc?.client?.clientId,
    request: requestOf(ctx),
  })
}

/** The form of an `x-request-id` that events repeat: the sender's word. */
const REQUEST_ID = /^[\w.:-]{1,64}$/
/** W3C Trace Context §3.2: a version, the id of the trace, the id of its part, flags. */
const TRACE_PARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(-.*)?$/

/** The request's own id, by which the log of the proxy in front finds its events. */
export function requestOf(ctx: Pick<Context, 'get'>): string | undefined {
  const id = ctx.get('x-request-id')
  if (REQUEST_ID.test(id)) return id
  return TRACE_PARENT.exec(ctx.get('traceparent'))?.[1]
}

/** A listener that throws must not keep the client from its response. */
export function reportTo(provider: Provider, error: unknown, ctx: Context): void {
  // Listeners expect it, as on every context of the provider. It is missing before the client is known.
  if (!ctx.oidc) inProvider(provider, ctx)
  try {
    provider.emit('server_error', ctx as KoaContextWithOIDC, error)
  } catch {}
}
