/** The routes for hosts that are not Koa applications. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type Router from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import type { Provider } from 'oidc-provider'
import { notFound } from '../base/errors.ts'
import { reportTo } from '../provider/failures.ts'
import { inJson } from './respond.ts'

/**
 * A request listener of `node:http`, and middleware of Express and Connect. Calls `next`, without an argument, for
 * paths of the host; if there is no `next`, they get a 404.
 */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void

/** The routes to serve, and where. */
interface Routes {
  readonly provider: Provider
  /** The prefix of the paths. */
  readonly prefix: string
  /** Whether a path is one of them. */
  readonly owns: (path: string) => boolean
  /** The paths that are served only as the client sent them, wherever the host has mounted them. */
  readonly asSent?: readonly string[]
  /** Turns an error into a response. */
  readonly respond: Middleware
  /** Finds the path in `ctx.newRouterPath`, by which @koa/router overrides the path of the request. */
  readonly serve: Middleware
}

/** Serves the paths of a router, whose routes turn their own errors into responses. */
export const routerHandler = ({ provider, prefix, asSent, router }: RouterRoutes): NodeHandler =>
  createHandler({
    provider,
    prefix,
    asSent,
    owns: (path) => router.match(path, 'GET').path.length > 0,
    respond: inJson,
    serve: router.routes() as Middleware,
  })

type RouterRoutes = Pick<Routes, 'provider' | 'prefix'> &
  Required<Pick<Routes, 'asSent'>> & { readonly router: Router }

/** Serves paths by a private Koa application. */
export function createHandler(routes: Routes): NodeHandler {
  const serve = applicationFor(routes).callback()
  return (request, response, next) => {
    if (next && ownPath(routes, request) === undefined) next()
    else void serve(request, response)
  }
}

/** The settings of the provider, changed at any time, that say how requests reach it. */
const PROVIDERS_SETTINGS = ['keys', 'proxy', 'proxyIpHeader', 'maxIpsCount', 'subdomainOffset']

function applicationFor(routes: Routes): Koa {
  const { provider } = routes
  const app = new Koa()
  for (const setting of PROVIDERS_SETTINGS)
    Object.defineProperty(app, setting, { get: () => Reflect.get(provider, setting) })
  app.on('error', (error, ctx) => reportTo(provider, error, ctx))
  app.use(routes.respond)
  app.use((ctx, next) => {
    const path = ownPath(routes, ctx.req)
    if (path === undefined) throw notFound({ public: 'not found' })
    // `ctx.newRouterPath` is @koa/router's own override of the path. The URL itself belongs to the host.
    Object.assign(ctx, { newRouterPath: path })
    return next()
  })
  app.use(routes.serve)
  return app
}

/** A proxy's client names the origin, too (RFC 9112 §3.2.2). */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i
const withoutOrigin = (url: unknown): string => (typeof url === 'string' ? url.replace(ORIGIN, '') : '')
const pathOf = (url: string): string => url.replace(/[?#].*/s, '')

/** The path of a request as the client sent it, whatever the host has taken off since. */
export const originalPathOf = ({ req, originalUrl }: Context): string =>
  pathOf(withoutOrigin(Reflect.get(req, 'originalUrl') ?? originalUrl))

/** The router, whose `routes()` find these paths as the client sent them, whatever the host has taken off. */
export function servedAsSent(router: Router, paths: readonly string[]): Router {
  const find = router.routes()
  const routes = (ctx: Parameters<typeof find>[0], next: Parameters<typeof find>[1]) => {
    const sent = originalPathOf(ctx)
    if (paths.includes(sent)) Object.assign(ctx, { newRouterPath: sent })
    return find(ctx, next)
  }
  return Object.assign(router, { routes: () => Object.assign(routes, { router }) })
}

/** The whole path of a request to one of the routes, else `undefined`. */
function ownPath(routes: Routes, request: IncomingMessage): string | undefined {
  const { asSent = [] } = routes
  const sent = pathOf(withoutOrigin(Reflect.get(request, 'originalUrl') ?? request.url))
  if (asSent.includes(sent)) return sent
  const path = mountedPath(routes, request)
  return path !== undefined && asSent.includes(path) ? undefined : path
}

function mountedPath({ owns, prefix }: Routes, request: IncomingMessage): string | undefined {
  const url = withoutOrigin(request.url)
  if (owns(pathOf(url))) return pathOf(url)
  // Hosts take off the path that they mount at. Without proof that it was the prefix, the path is the host's own.
  const original = withoutOrigin(Reflect.get(request, 'originalUrl'))
  // A path that is the prefix and nothing more becomes a slash.
  return [prefix + url, prefix + url.replace(/^\/(?=\?|$)/, '')]
    .map((whole) => {
      const mountedAtPrefix = original.endsWith(whole) && pathOf(original).endsWith(pathOf(whole))
      return mountedAtPrefix && owns(pathOf(whole)) ? pathOf(whole) : undefined
    })
    .find((path) => path !== undefined)
}
