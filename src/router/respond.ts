import type { Context, Middleware } from 'koa'
import type { Provider } from 'oidc-provider'
import { methodNotAllowed, RETRY_AFTER, type RecordError, recordErrorOf } from '../base/errors.ts'
import type { ImpersonationFailed } from '../events.ts'
import { emitFailure, setRoute } from '../provider/failures.ts'

/** Begins the response to an error, reports a failure to the operator, and returns what the client may read. */
export function refuse(ctx: Context, thrown: unknown): RecordError {
  const error = recordErrorOf(thrown)
  ctx.status = error.status
  if (error.status === 503) ctx.set('Retry-After', String(RETRY_AFTER))
  // Koa's way to inform the operator: the cause goes to the application's log, not to the client.
  if (error.status === 500 || error.status === 503) ctx.app.emit('error', thrown, ctx)
  emitFailure(ctx, thrown)
  return error
}

/** Turns errors of a route into the responses of protocol.md §2.4, and keeps every response out of caches. */
export function respond(
  provider: Provider,
  door: ImpersonationFailed['door'],
  headersOf?: (error: RecordError) => Readonly<Record<string, string>>,
): Middleware {
  return (ctx, next) => {
    setRoute(ctx, { provider, door })
    return answer(ctx, next, headersOf)
  }
}

/** Responds to every other method of a path. */
export const only =
  (...methods: readonly string[]): Middleware =>
  (ctx) => {
    ctx.set('Allow', methods.join(', '))
    throw methodNotAllowed()
  }

/** Turns errors into these responses without an event: the path belongs to no route. */
export const inJson: Middleware = (ctx, next) => answer(ctx, next)

async function answer(
  ctx: Context,
  next: () => Promise<unknown>,
  headersOf: (error: RecordError) => Readonly<Record<string, string>> = () => ({}),
): Promise<void> {
  ctx.set('Cache-Control', 'no-store')
  try {
    await next()
  } catch (thrown) {
    const error = refuse(ctx, thrown)
    ctx.set(headersOf(error))
    ctx.body = { error: error.code, error_description: error.message }
  }
}
