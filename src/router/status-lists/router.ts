import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import type { Provider } from 'oidc-provider'
import { epochTime } from '../../base/clock.ts'
import { notFound, RecordError } from '../../base/errors.ts'
import { timed } from '../../metrics/metrics.ts'
import { LIST_NUMBER } from '../../provider/status-claim.ts'
import { only, respond } from '../respond.ts'
import type { PublishedLists } from './lists.ts'

const LIST = '/status-lists/:number'
const MEDIA_TYPE = 'application/statuslist+jwt'

/** The status lists (protocol.md §4.1) below `prefix`: public, and for every origin. */
export function statusListRouter(provider: Provider, lists: PublishedLists, prefix: string): Router {
  const inJson = respond(provider, 'status-lists')
  const router = new Router({ prefix, sensitive: true, strict: true })
  const responding: Middleware = (ctx, next) => {
    // Errors have it, too: the pages of every origin may read them.
    ctx.set('Access-Control-Allow-Origin', '*')
    return inJson(ctx, next)
  }
  router.get(LIST, responding, (ctx) => send(ctx, lists))
  router.all(LIST, responding, only('GET', 'HEAD'))
  return router
}

const notOffered = (status: number, text: string) =>
  new RecordError({ status, code: 'invalid_request', public: text })

const send = timed('status_list', sendList)

async function sendList(ctx: Context, lists: PublishedLists): Promise<void> {
  const number = numberOf(ctx)
  if (number === undefined || !(await lists.has(number))) throw notFound({ public: 'status list not found' })
  // Draft-ietf-oauth-status-list §8.4.
  if (new URLSearchParams(ctx.querystring).has('time'))
    throw notOffered(501, 'time is not supported: only the present list is published')
  if (!ctx.accepts(MEDIA_TYPE)) throw notOffered(406, `a status list is ${MEDIA_TYPE} and nothing else`)
  const { jwt, etag, iat } = await lists.get(number)
  ctx.set('Cache-Control', `public, max-age=${Math.max(0, iat + lists.ttl - epochTime())}`)
  ctx.set('ETag', etag)
  if (matches(ctx.get('If-None-Match'), etag)) {
    ctx.status = 304
    return
  }
  ctx.type = MEDIA_TYPE
  ctx.body = jwt
}

/** The number in the path, not decoded: `%30` does not count as 0. */
function numberOf({ path }: Context): number | undefined {
  const text = path.slice(path.lastIndexOf('/') + 1)
  return LIST_NUMBER.test(text) ? Number(text) : undefined
}

/**
 * Whether `If-None-Match` names this entity tag (RFC 9110 §13.1.2). Koa would ignore it where the request has
 * `Cache-Control: no-cache`, which `fetch` adds to every conditional request.
 */
function matches(condition: string, etag: string): boolean {
  if (condition === '*') return true
  return [...condition.matchAll(/"[^"]*"/g)].some(([tag]) => tag === etag)
}
