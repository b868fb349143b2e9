import type { Context, Middleware } from 'koa'
import type { Impersonation, NodeHandler } from 'oidc-provider-impersonation'
import {
  createHandler,
  epochTime,
  insideOf,
  originalPathOf,
  recordsOf,
  type Service,
  setRoute,
} from 'oidc-provider-impersonation/inside'
import { administratorOf, assertRight, assertSameOrigin } from './admission.ts'
import { type ConsoleOptions, type ResolvedConsoleOptions, resolveConsoleOptions } from './options.ts'
import { handlerOf, routeOf } from './routes.ts'
import { type Refused, setHeaders, showError, showPage } from './shell.ts'
import { lookupOf } from './visit.ts'

/** Pages for administrators: who is viewed, what happened, and how to stop it. */
export interface Console {
  /**
   * The pages as Koa middleware. Responds to every path below the prefix, and passes all others to `next`.
   *
   * @example
   * app.use(createConsole(impersonation, { authorize }).routes())
   */
  routes(): Middleware

  /**
   * The same pages for hosts that are not Koa applications: Express, Connect, Fastify with middie, NestJS,
   * `node:http`. Calls `next` for all other paths; without `next`, they get a 404. `authorize` gets a Koa context, with
   * the request of the host in `ctx.req`.
   *
   * @example
   * app.use(createConsole(impersonation, { authorize: (ctx) => administratorOf(ctx.req) }).handler())
   */
  handler(): NodeHandler
}

/**
 * Creates the console of an impersonation service, after its `attach`. docs/console.md says how to mount it.
 *
 * @throws {TypeError} that names the option that is missing, wrong or unknown; before `attach`; for a copy of what
 *   `createImpersonation` returned, or of another installation of this package.
 * @example
 * const console = createConsole(impersonation, {
 *   authorize: async (ctx) => {
 *     const { accountId } = await provider.Session.get(ctx)
 *     return isSecurityTeam(accountId) ? { id: accountId, can: ['see', 'stop'] } : undefined
 *   },
 * })
 */
export function createConsole(impersonation: Impersonation, given: ConsoleOptions): Console {
  const inside = insideOf(impersonation)
  const options = resolveConsoleOptions(given)
  const { prefix } = options
  const owns = (path: string) => path === prefix || path.startsWith(`${prefix}/`)
  const respond: Middleware = (ctx, next) => next().catch((thrown: unknown) => showError(ctx, thrown))
  const serve: Middleware = (ctx) => visit(ctx, String(Reflect.get(ctx, 'newRouterPath')), inside, options)
  return {
    routes: () => (ctx, next) => (owns(ctx.path) ? visit(ctx, ctx.path, inside, options) : next()),
    handler: () => createHandler({ provider: inside.provider, prefix, owns, respond, serve }),
  }
}

/** Each step refuses before the next one looks at anything (protocol.md §9). */
async function visit(
  ctx: Context,
  whole: string,
  service: Service,
  options: ResolvedConsoleOptions,
): Promise<void> {
  let refused: Refused = { options }
  try {
    setRoute(ctx, { provider: service.provider, door: 'console' })
    setHeaders(ctx)
    assertSameOrigin(ctx)
    const administrator = await administratorOf(ctx, options.authorize, service.options.customClaimsTimeout)
    const base = baseOf(ctx, whole, options.prefix)
    refused = { options, administrator, ...(administrator.can.includes('see') && { console: base }) }
    const path = whole.slice(options.prefix.length).replace(/^\/$/, '')
    const route = routeOf(path)
    assertRight(administrator, route.right)
    const handle = handlerOf(route, ctx)
    const lookup = lookupOf(ctx, service.provider)
    const records = recordsOf(() => service, { revocation: { cause: 'console' }, lookupOf: () => lookup })
    const { report } = lookup
    const asked = { ctx, service, records, options, administrator, base, path, now: epochTime(), report }
    const result = await handle(asked)
    if (typeof result === 'object') await showPage(asked, result)
    if (typeof result !== 'string') return
    ctx.status = 303
    ctx.redirect(result)
  } catch (thrown) {
    showError(ctx, thrown, refused)
  }
}

/** Where the browser finds the console: the host may have mounted it below a path of its own. */
function baseOf(ctx: Context, path: string, prefix: string): string {
  const original = originalPathOf(ctx)
  const base = original.endsWith(path) ? original.slice(0, original.length - path.length) : ''
  // An address that begins with two slashes would name another host.
  return /^(\/[^/\\]+)*$/.test(base) ? base + prefix : prefix
}
