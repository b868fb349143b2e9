import type { Context, Middleware } from 'koa'
import { RETRY_AFTER } from '../outage.ts'
import { type RecordError, recordErrorOf } from './errors.ts'

/** Begins the response to an error, tells the operator of a failure, and returns what the client may read. */
export function refuse(ctx: Context, thrown: unknown): RecordError {
  const error = recordErrorOf(thrown)
  ctx.status = error.status
  if (error.status === 503) ctx.set('Retry-After', String(RETRY_AFTER))
  // Koa's way to inform the operator: the cause goes to the application's log, not to the client.
  if (error.status === 500 || error.status === 503) ctx.app.emit('error', thrown, ctx)
  return error
}

/** Turns errors into the responses of protocol.md §2.4, and keeps every response out of caches. */
export function respond(
  headersOf: (error: RecordError) => Readonly<Record<string, string>> = () => ({}),
): Middleware {
  return async (ctx, next) => {
    ctx.set('Cache-Control', 'no-store')
    try {
      await next()
    } catch (thrown) {
      const error = refuse(ctx, thrown)
      ctx.set(headersOf(error))
      ctx.body = { error: error.code, error_description: error.message }
    }
  }
}
