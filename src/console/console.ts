import type { Context, Middleware } from 'koa'
import { epochTime } from '../clock.ts'
import { type Impersonation, type Inside, insideOf } from '../impersonation.ts'
import { managementErrorOf } from '../management/errors.ts'
import { createHandler, type NodeHandler, originalPathOf } from '../management/handler.ts'
import { RETRY_AFTER } from '../outage.ts'
import { administratorOf, assertRight } from './admission.ts'
import { type ConsoleOptions, type ResolvedConsoleOptions, resolveConsoleOptions } from './options.ts'
import { assertSameOrigin } from './origin.ts'
import { errorPage, setHeaders } from './page.ts'
import { routeOf } from './routes.ts'
import { lookupOf, type Visit } from './visit.ts'
import { sentenceOf } from './words.ts'

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
  const owns = (path: string) => path === (prefix || '/') || path.startsWith(`${prefix}/`)
  const respond: Middleware = (ctx, next) => responding(ctx, next)
  const serve: Middleware = (ctx) =>
    visit(ctx, String(Reflect.get(ctx, 'newRouterPath')), { inside, options })
  return {
    routes: () => (ctx, next) =>
      owns(ctx.path) ? responding(ctx, () => visit(ctx, ctx.path, { inside, options })) : next(),
    handler: () => createHandler({ provider: inside.provider, prefix, owns, respond, serve }),
  }
}

interface Deployed {
  readonly inside: Inside
  readonly options: ResolvedConsoleOptions
}

/** Each step refuses before the next one looks at anything (protocol.md §9). */
async function visit(ctx: Context, path: string, { inside, options }: Deployed): Promise<void> {
  assertSameOrigin(ctx)
  const administrator = await administratorOf(ctx, options.authorize, inside.options.customClaimsTimeout)
  const { right, handlerFor } = routeOf(path.slice(options.prefix.length))
  assertRight(administrator, right)
  const base = baseOf(ctx, path, options.prefix)
  if (administrator.can.includes('see')) homes.set(ctx, base)
  const handle = handlerFor(ctx)
  const lookup = lookupOf(ctx, inside.provider)
  await handle({ ctx, service: inside, options, administrator, base, now: epochTime(), lookup })
}

/** Where the pages are, for requests whose sender may see them. */
const homes = new WeakMap<Context, Visit['base']>()

/** Where the browser finds the console: the host may have mounted it below a path of its own. */
function baseOf(ctx: Context, path: string, prefix: string): Visit['base'] {
  const original = originalPathOf(ctx)
  const base = original.endsWith(path) ? original.slice(0, original.length - path.length) : ''
  // An address that begins with two slashes would name another host.
  return /^(\/[^/\\]+)*$/.test(base) ? base + prefix : prefix
}

const TITLES: Readonly<Record<number, string>> = {
  403: 'Not allowed',
  404: 'Not found',
  405: 'Not possible',
  503: 'Not available right now',
}

async function responding(ctx: Context, next: () => Promise<unknown>): Promise<void> {
  setHeaders(ctx)
  ctx.type = 'html'
  try {
    await next()
  } catch (thrown) {
    const { status, message } = managementErrorOf(thrown)
    ctx.status = status
    ctx.body = errorPage(
      TITLES[status] ?? 'This did not work',
      SENTENCES[status] ?? sentenceOf(message),
      homes.get(ctx),
    )
    if (status === 503) ctx.set('Retry-After', String(RETRY_AFTER))
    // Koa's way to inform the operator.
    if (status >= 500) ctx.app.emit('error', thrown, ctx)
  }
}

const SENTENCES: Readonly<Record<number, string>> = {
  404: 'There is no such page, or no such record.',
  405: 'This address does not take requests of this kind.',
  500: 'Something went wrong. The operators of this service can find the reason in their log.',
  503: 'The records cannot be read right now. Try again in a few seconds.',
}
