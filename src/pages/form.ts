/** Forms as browsers send them, or as a parser of the host application has left them, and which page has sent one. */
import type { Context } from 'koa'
import { LIMIT, parsedBody, read } from '../base/body.ts'
import { invalidRequest } from '../base/errors.ts'
import { isPlainObject } from '../base/json.ts'

const notAForm = () => invalidRequest({ public: 'the body must be a form' })

/** The form in the body, of at most `limit` bytes, as text: what a query is without its question mark. */
export async function readForm(ctx: Context, limit = LIMIT): Promise<string> {
  if (ctx.request.type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') throw notAForm()
  const body = parsedBody(ctx) ?? (await read(ctx, limit))
  if (typeof body === 'string' || Buffer.isBuffer(body)) return body.toString()
  if (!isPlainObject(body)) throw notAForm()
  const form = new URLSearchParams()
  for (const [name, values] of Object.entries(body)) {
    for (const value of [values].flat()) {
      if (typeof value !== 'string') throw notAForm()
      form.append(name, value)
    }
  }
  return String(form)
}

/** The members of a form. None may come twice: which of them counts is not for us to say. */
export async function readMembers(ctx: Context, limit: number): Promise<ReadonlyMap<string, string>> {
  const form = new URLSearchParams(await readForm(ctx, limit))
  const members = new Map(form)
  if (members.size < form.size) throw invalidRequest({ public: 'a member of the form was sent twice' })
  return members
}

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
