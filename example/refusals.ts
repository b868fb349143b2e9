/** What an API sends when the verifier or a guard refuses. Whatever it sends, no browser keeps it. */
import type { Middleware } from 'koa'
// Yours: 'oidc-provider-impersonation-resource-server'.
import { Forbidden, ProviderUnavailable, Unauthorized } from '../packages/resource-server/src/index.ts'

export const sendRefusals: Middleware = async (ctx, next) => {
  ctx.set('Cache-Control', 'no-store')
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
