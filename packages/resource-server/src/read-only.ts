/** For applications: who looks at a customer by a read-only session changes nothing there (docs/sessions.md). */
import { saysReadOnly } from './claims.ts'
import { isObject, isText } from './json.ts'
import {
  type ApiRequest,
  header,
  isWebRequest,
  isWrite,
  type NodeRequest,
  type WebRequest,
} from './request.ts'

/** The options of `readOnly`. `Given` is the argument of its functions: the first argument of the middleware, or the `Request`. */
export interface ReadOnlyOptions<Given> {
  /**
   * The claims of the ID token that the session of the application began with, all of them, or a promise of them; `undefined`
   * only for a visitor who is not signed in. What it throws goes to the application, and the request does not pass.
   */
  readonly claims: (request: Given) => unknown
  /**
   * Whether a request passes that writes in a read-only session: sign-out, and the callback of a new sign-in. Only `true` is
   * yes. Default: none passes.
   */
  readonly allows?: (request: Given) => boolean
}

/** The part of Koa's `ctx` that is used. */
export interface KoaContext extends NodeRequest {
  status: number
  body: unknown
  set(headers: Record<string, string>): void
}

/** The part of Node's `ServerResponse` that is used. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): { end(body: string): unknown }
}

/** Middleware of Koa, Express or `node:http`, or a function that fetch handlers call first. The arguments say which. */
export interface ReadOnlyGuard<Given> {
  /** Express, Connect, `node:http`. What `claims` or `allows` throws goes to `next`. */
  (request: Given & NodeRequest, response: NodeResponse, next: (error?: unknown) => unknown): Promise<void>
  /** Koa. */
  (ctx: Given & KoaContext, next: () => Promise<unknown>): Promise<void>
  /** Fetch handlers: resolves to what to respond with, or to `undefined` where the request passes. */
  (request: Given & WebRequest): Promise<Response | undefined>
}

type Next = (error?: unknown) => unknown
type KoaNext = () => Promise<unknown>

/**
 * Makes the guard of an application that read-only sessions may open (client metadata `impersonation_read_only`): in such a
 * session, what writes is 403. Use it behind the session and everything that rewrites the method, and before all routes.
 *
 * @throws {TypeError} naming the option that is missing, unknown or no function.
 * @example
 * ```ts
 * app.use(readOnly({
 *   claims: (req) => req.session.claims, // of the ID token; undefined if no one is signed in
 *   allows: (req) => req.method === 'POST' && ['/logout', '/callback'].includes(req.originalUrl),
 * }))
 * ```
 */
export function readOnly<Given = ApiRequest>(options: ReadOnlyOptions<Given>): ReadOnlyGuard<Given> {
  const { claims, allows = () => false } = options
  if (typeof claims !== 'function') throw new TypeError('option claims must be a function')
  if (typeof allows !== 'function') throw new TypeError('option allows must be a function')
  const unknown = Object.keys(options).find((name) => name !== 'claims' && name !== 'allows')
  if (unknown !== undefined) throw new TypeError(`unknown option: ${unknown}`)

  async function isRefused(request: Given & ApiRequest): Promise<boolean> {
    if (!isWrite(request)) return false
    try {
      return isReadOnly(await claims(request)) && allows(request) !== true
    } catch (error) {
      // Express takes next(undefined), next('route') and next('router') for no error, and Koa does not respond to undefined.
      throw error instanceof Error ? error : new Error('claims or allows threw no Error', { cause: error })
    }
  }

  async function forNode(request: Given & NodeRequest, response: NodeResponse, next: Next): Promise<void> {
    let refused: boolean
    try {
      refused = await isRefused(request)
    } catch (error) {
      return void next(error)
    }
    if (!refused) return void next()
    const { headers, body } = refusalOf(request)
    response.writeHead(403, headers).end(body)
  }

  async function forKoa(ctx: Given & KoaContext, next: KoaNext): Promise<void> {
    if (!(await isRefused(ctx))) return void (await next())
    const { headers, body } = refusalOf(ctx)
    ctx.status = 403
    ctx.set(headers)
    ctx.body = body
  }

  async function forFetch(request: Given & WebRequest): Promise<Response | undefined> {
    if (!(await isRefused(request))) return undefined
    const { headers, body } = refusalOf(request)
    return new Response(body, { status: 403, headers })
  }

  function guard(request: Given & NodeRequest, response: NodeResponse, next: Next): Promise<void>
  function guard(ctx: Given & KoaContext, next: KoaNext): Promise<void>
  function guard(request: Given & WebRequest): Promise<Response | undefined>
  function guard(first: Given & ApiRequest, second?: NodeResponse | KoaNext, third?: Next): Promise<unknown> {
    if (isWebRequest(first)) {
      if (second === undefined) return forFetch(first)
    } else if (typeof second === 'function') {
      if (isKoaContext(first)) return forKoa(first, second)
    } else if (second && typeof third === 'function') return forNode(first, second, third)
    throw new TypeError('the guard of readOnly takes (req, res, next), (ctx, next) or (request)')
  }
  return guard
}

const isKoaContext = (request: object): request is KoaContext =>
  typeof Reflect.get(request, 'set') === 'function'

/** A value that is not clearly the claims of someone who may write counts as read-only. */
function isReadOnly(claims: unknown): boolean {
  if (claims === undefined) return false
  if (!isObject(claims) || !isText(claims.sub)) return true
  // A session always says `read_only`: where it is missing beside `act`, it was lost on the way.
  return saysReadOnly(claims) || (claims.act !== undefined && claims.read_only === undefined)
}

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Read only</title>
<h1>Read only</h1>
<p>You see this application as the customer does, and cannot change anything. This request was refused.</p>
</html>
`
/** RFC 9457. */
const PROBLEM = JSON.stringify({ title: 'Forbidden', status: 403, detail: 'the session is read-only' })

function refusalOf(request: ApiRequest) {
  const isPage = /\btext\/html\b/i.test(header(request, 'accept') ?? '')
  const type = isPage ? 'text/html; charset=utf-8' : 'application/problem+json'
  return {
    body: isPage ? PAGE : PROBLEM,
    headers: { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
  }
}
