/** Which page has sent a request, as browsers tell. */
import type { Context } from 'koa'

/**
 * Whether a request may change something: it reads, or a page of this origin sent it. A browser sends the cookies of this
 * origin with the requests of other pages, too.
 */
export function isOfThisOrigin(ctx: Context): boolean {
  if (ctx.method === 'GET' || ctx.method === 'HEAD') return true
  const site = ctx.req.headers['sec-fetch-site']
  // Browsers leave it out at origins that are not trustworthy, such as plain HTTP.
  return site === undefined ? isOrigin(ctx.get('Origin'), ctx) : site === 'same-origin'
}

/** An origin as browsers spell it (RFC 6454 §6.2): nothing comes after the host. */
const ORIGIN = /^(https?:\/\/)([\w.-]+|\[[\da-f:]+\])(:\d+)?$/i

/** Whether the host of an origin is that of the request, by the scheme of the origin. */
function isOrigin(origin: string, { host, req }: Context): boolean {
  const [, scheme = ''] = ORIGIN.exec(origin) ?? []
  const [own, raw] = [scheme + host, scheme + (req.headers.host ?? host)]
  // Koa reads past some of what does not belong in a Host header.
  if (![origin, own, raw].every((address) => ORIGIN.test(address) && URL.canParse(address))) return false
  return new URL(origin).host === new URL(own).host
}
