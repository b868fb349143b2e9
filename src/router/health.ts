import Router from '@koa/router'
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
    const failure = await ready().then(() => undefined, storageUnavailable)
    ctx.status = failure ? 503 : 200
    // Koa would send the name of the status as a body.
    ctx.body = ''
    ctx.remove('Content-Type')
    if (failure) emitFailure(ctx, failure)
  })
  router.all(HEALTH, responding, only('GET', 'HEAD'))
  return router
}
