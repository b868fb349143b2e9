import type { Context } from 'koa'
import { forbidden } from './refusal.ts'

/**
 * Refuses a request that may change something, unless a page of this origin sent it. The console may share its origin
 * with the provider, and a browser sends its cookies with the requests of other pages, too.
 */
export function assertSameOrigin(ctx: Context): void {
  if (ctx.method === 'GET' || ctx.method === 'HEAD') return
  const site = ctx.req.headers['sec-fetch-site']
  // Browsers leave it out at origins that are not trustworthy, such as plain HTTP.
  const isOwn = site === undefined ? isOrigin(ctx.req.headers.origin, ctx) : site === 'same-origin'
  if (!isOwn) throw forbidden('This request did not come from a page of the console')
}

/** As browsers spell them (RFC 6454 §6.2): nothing after the host. */
const ORIGIN = /^(https?:\/\/)([\w.-]+|\[[\da-f:]+\])(:\d+)?$/i

/** Whether the host of an origin is that of the request, by the scheme of the origin. */
function isOrigin(origin: string | undefined, { host, req }: Context): boolean {
  const [, scheme = ''] = ORIGIN.exec(origin ?? '') ?? []
  const [own, sent, raw] = [origin ?? '', scheme + host, scheme + (req.headers.host ?? host)]
  // Koa reads past some of what does not belong in a Host header.
  if (![own, sent, raw].every((address) => ORIGIN.test(address) && URL.canParse(address))) return false
  return new URL(own).host === new URL(sent).host
}
