import type { Middleware } from 'koa'
import { RETRY_AFTER } from '../outage.ts'
import { type ManagementError, MissingCredentials, managementErrorOf } from './errors.ts'

/** Turns errors into the responses of protocol.md §2.4, and keeps every response out of caches. */
export function respond(realm: string): Middleware {
  return async (ctx, next) => {
    ctx.set('Cache-Control', 'no-store')
    try {
      await next()
    } catch (thrown) {
      const error = managementErrorOf(thrown)
      ctx.status = error.status
      ctx.body = { error: error.error, error_description: error.message }
      if (error.status === 401 || error.status === 403) ctx.set('WWW-Authenticate', challenge(realm, error))
      if (error.status === 503) ctx.set('Retry-After', String(RETRY_AFTER))
      // Koa's way to inform the operator: the cause goes to the application's log, not to the client.
      if (error.status >= 500) ctx.app.emit('error', thrown, ctx)
    }
  }
}

function challenge(realm: string, error: ManagementError): string {
  if (error instanceof MissingCredentials) return `Bearer realm="${realm}"`
  const scope = error.scope === undefined ? '' : `, scope="${error.scope}"`
  return `Bearer realm="${realm}", error="${error.error}", error_description="${error.message}"${scope}`
}
