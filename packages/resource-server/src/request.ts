/** A request's token (RFC 6750 §2.1, RFC 9449 §7.1), the facts that its proof must name, and whether it writes. */
import { Refused, type Scheme } from './errors.ts'
import { isObject } from './json.ts'

/** The part of a web `Request` that is read. */
export interface WebRequest {
  readonly method: string
  readonly url: string
  readonly headers: { get(name: string): string | null }
}

/** The part of Node's `IncomingMessage` that is read; Koa's, Express's and Fastify's own requests have it, too. */
export interface NodeRequest {
  readonly method?: string
  readonly url?: string
  /** Where a framework that cuts the path of a mount off `url` keeps the whole. */
  readonly originalUrl?: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly socket?: object | null
}

/** A web `Request`, or Node's `IncomingMessage`: Koa's `ctx.req`, Express's `req`, Fastify's `request.raw`. */
export type ApiRequest = WebRequest | NodeRequest

export interface Presented {
  readonly scheme: Scheme
  readonly token: string
  /** The `DPoP` header. */
  readonly proof?: string
}

/** Beyond what servers let through by default (16 KiB of headers), and little enough to be hashed in passing. */
const MAX_TOKEN = 64 * 1024

/** @throws {Refused} */
export function readPresented(request: ApiRequest): Presented {
  if (!isObject(request) || !isObject(request.headers)) {
    throw new TypeError('verify takes a Request or an IncomingMessage')
  }
  const authorization = header(request, 'authorization')
  if (authorization === undefined || !/^(Bearer|DPoP)( |$)/i.test(authorization)) {
    throw new Refused('no access token', 'missing')
  }
  if (authorization.length > MAX_TOKEN) throw new Refused('the token is too long')
  const [, scheme = '', token] = /^(\w+) +([\w\-.~+/]+=*)$/.exec(authorization) ?? []
  if (token === undefined) throw new Refused('the Authorization header is malformed')
  const proof = header(request, 'dpop')
  return {
    scheme: schemeOf(scheme),
    token,
    ...(proof !== undefined && { proof }),
  }
}

const schemeOf = (name: string): Scheme => (name.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer')

/** The scheme of a request whatever else is wrong with it. */
export const schemeOfRequest = (request: ApiRequest): Scheme =>
  schemeOf(header(request, 'authorization')?.slice(0, 4) ?? '')

export function header(request: ApiRequest, name: string): string | undefined {
  const value = headerValue(request, name)
  return typeof value === 'string' ? value : undefined
}

const headerValue = (request: ApiRequest, name: string) =>
  isWebRequest(request) ? (request.headers.get(name) ?? undefined) : request.headers[name]

const has = (request: ApiRequest, name: string): boolean => headerValue(request, name) !== undefined

export const isWebRequest = (request: ApiRequest): request is WebRequest =>
  typeof request.headers.get === 'function'

/** Whether a request reads or changes the API's data. */
export type Effect = 'read' | 'write'

/** The safe methods (RFC 9110 §9.2.1). Methods are case-sensitive. */
const READING: readonly unknown[] = ['GET', 'HEAD', 'OPTIONS', 'TRACE']
const OVERRIDES = ['x-http-method-override', 'x-http-method', 'x-method-override']

/** Whether a request changes something, as far as its method and headers tell. `effect` is what its route does. */
export function isWrite(request: ApiRequest, effect?: Effect): boolean {
  // Whatever the route does: someone behind may still read the method from it, and take another route.
  if (OVERRIDES.some((name) => has(request, name))) return true
  if (effect !== undefined) return effect !== 'read'
  // Messages after an upgrade have no method.
  return !READING.includes(request.method) || has(request, 'upgrade')
}

/**
 * The URL that a proof has to name, without query and fragment (RFC 9449 §4.3); `undefined` where the request does not
 * tell one. `origin` is the option.
 */
export function urlOf(request: ApiRequest, origin: string | undefined): string | undefined {
  if (isWebRequest(request)) {
    if (origin === undefined || !URL.canParse(request.url)) return comparable(request.url)
    return comparable(`${origin}${new URL(request.url).pathname}`)
  }
  const target = request.originalUrl ?? request.url ?? ''
  // Only the origin form: whatever else is put behind a host could name another one.
  return target.startsWith('/') ? comparable(`${origin ?? ownOrigin(request)}${target}`) : undefined
}

function ownOrigin({ headers, socket }: NodeRequest): string {
  const host = headers.host ?? headers[':authority']
  const protocol = Reflect.get(Object(socket), 'encrypted') === true ? 'https' : 'http'
  // Or what is put behind a host could make it a user's name.
  return typeof host === 'string' && /^[\w\-.:[\]]+$/.test(host) ? `${protocol}://${host}` : ''
}

/** A URL as two of them are compared; `undefined` for what is none. */
export function comparable(value: unknown): string | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined
  const { origin, pathname } = new URL(value)
  return `${origin}${pathname}`
}
