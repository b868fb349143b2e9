/** The console: who is being viewed, and how to stop it. The provider's own session says who is there. */
import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import type { Provider } from 'oidc-provider'
import { createConsole } from '../packages/console/src/index.ts' // yours: 'oidc-provider-impersonation-console'
import type { Impersonation } from '../src/index.ts' // yours: 'oidc-provider-impersonation'
import { findPerson, searchPeople } from './accounts.ts'
import { consoleCallback, consoleClient } from './clients.ts'

/** Where it is. Yours is better off under a host name of its own, with `prefix: ''`. */
export const CONSOLE = '/impersonations'

interface Console {
  readonly provider: Provider
  readonly impersonation: Impersonation
  readonly baseUrl: string
}

export function consoleOf({ provider, impersonation, baseUrl }: Console): Middleware {
  return createConsole(impersonation, {
    prefix: CONSOLE,
    // The cookie of the provider's session. A browser sends it to this host only.
    async authorize(ctx) {
      const id = await signedIn(provider, ctx)
      return id !== undefined && { id, can: findPerson(id)?.console ?? [] }
    },
    nameOf: (ids) => new Map(ids.map((id) => [id, findPerson(id)?.name ?? id])),
    find: (text) => searchPeople(text).map(({ id }) => id),
    ticketUrl: ({ ticketId }) => `https://tickets.example.com/${encodeURIComponent(String(ticketId))}`,
    title: 'Corner Shop security',
    home: '/',
    signOut: `${provider.issuer}/session/end?${new URLSearchParams({
      client_id: consoleClient.client_id,
      post_logout_redirect_uri: consoleCallback(baseUrl),
    })}`,
  }).routes()
}

/** Leads people to the provider before the console asks who they are, and back to the page that they have asked for. */
export function consoleSignIn({ provider, baseUrl }: Omit<Console, 'impersonation'>): Router {
  const callback = consoleCallback(baseUrl)
  const router = new Router()
  router.get(`${CONSOLE}{/*page}`, async (ctx, next) => {
    // What the script of the console reads is refused instead.
    const isPage = ctx.get('Sec-Fetch-Mode') === 'navigate'
    if (!isPage || (await signedIn(provider, ctx)) !== undefined) return next()
    const { client_id } = consoleClient
    const query = { client_id, response_type: 'none', redirect_uri: callback, state: ctx.path }
    redirect(ctx, `${provider.issuer}/auth?${new URLSearchParams(query)}`)
  })
  router.get(new URL(callback).pathname, (ctx) => {
    const { state } = ctx.query
    const isPage = typeof state === 'string' && PAGE.test(state)
    redirect(ctx, `${baseUrl}${isPage ? state : CONSOLE}`)
  })
  return router
}

/** Anyone can send a browser back with any state. */
const PAGE = new RegExp(`^${CONSOLE}(/[\\w-]+)?$`)

function redirect(ctx: Context, address: string): void {
  ctx.set('Cache-Control', 'no-store')
  ctx.redirect(address)
}

async function signedIn(provider: Provider, ctx: Context): Promise<string | undefined> {
  const { accountId } = await provider.Session.get(ctx)
  return accountId
}
