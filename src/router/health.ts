import Router from '@koa/router'
import type { Context } from 'koa'
import type { Provider } from 'oidc-provider'
import { emitFailure } from '../provider/failures.ts'
import { storageUnavailable } from '../provider/outage.ts'
import { only, respond } from './respond.ts'

const HEALTH = '/health'

/**
 * Whether impersonation can work (protocol.md §2.5), below `prefix`: for probes, which learn yes or no. The reason goes to
 * the event.
 */
export function healthRouter(provider: Provider, prefix: string, ready: () => Promise<unknown>): Router {
  const router = new Router({ prefix, sensitive: true, strict: true })
  const responding = respond(provider, 'health')
  router.get(HEALTH, responding, async (ctx) => {
    const failure = await ready().then(
      () => undefined,
      (thrown: unknown) => storageUnavailable(thrown),
    )
    withoutBody(ctx, failure ? 503 : 200)
    if (failure) emitFailure(ctx, failure)
  })
  router.all(HEALTH, responding, only('GET', 'HEAD'))
  return router
}

/** Koa would send the name of the status as a body. */
function withoutBody(ctx: Context, status: number): void {
  ctx.status = status
  ctx.body = ''
  ctx.remove('Content-Type')
}
