import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import { epochTime } from '../clock.ts'
import { RETRY_AFTER } from '../outage.ts'
import { LIST_NUMBER } from '../provider/status-reference.ts'
import {
  historyNotOffered,
  listNotFound,
  methodNotAllowed,
  notAcceptable,
  statusListErrorOf,
} from './errors.ts'
import type { PublishedLists } from './lists.ts'

const LIST = '/status-lists/:number'
const MEDIA_TYPE = 'application/statuslist+jwt'

/** The status lists (protocol.md §4.1) below `prefix`: public, and for every origin. */
export function statusListRouter(lists: PublishedLists, prefix: string): Router {
  const router = new Router({ prefix, sensitive: true, strict: true })
  router.get(LIST, respond, (ctx) => sendList(ctx, lists))
  router.all(LIST, respond, (ctx) => {
    ctx.set('Allow', 'GET, HEAD')
    throw methodNotAllowed()
  })
  return router
}

async function sendList(ctx: Context, lists: PublishedLists): Promise<void> {
  const number = numberOf(ctx)
  if (number === undefined || !(await lists.has(number))) throw listNotFound()
  if (new URLSearchParams(ctx.querystring).has('time')) throw historyNotOffered()
  if (!ctx.accepts(MEDIA_TYPE)) throw notAcceptable()
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

/** As the path spells it: `%30` does not count as 0. */
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

/** Turns errors into responses that no cache keeps, and lets the pages of every origin read what is sent. */
const respond: Middleware = async (ctx, next) => {
  ctx.set('Access-Control-Allow-Origin', '*')
  ctx.set('Cache-Control', 'no-store')
  try {
    await next()
  } catch (thrown) {
    const { status, error, message } = statusListErrorOf(thrown)
    ctx.status = status
    ctx.body = { error, error_description: message }
    if (status === 503) ctx.set('Retry-After', String(RETRY_AFTER))
    // Koa's way to inform the operator.
    if (status === 500 || status === 503) ctx.app.emit('error', thrown, ctx)
  }
}
