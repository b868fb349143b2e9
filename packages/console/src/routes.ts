import type { Context } from 'koa'
import { isId, methodNotAllowed, notFound } from 'oidc-provider-impersonation/inside'
import type { ConsoleRight } from './options.ts'
import { acknowledge } from './pages/acknowledge.ts'
import { alarmsPage } from './pages/alarms.ts'
import { downloadHistory } from './pages/csv.ts'
import { historyPage } from './pages/history.ts'
import { nowPage } from './pages/now.ts'
import { recordPage, stopOne } from './pages/record.ts'
import { searchPage } from './pages/search.ts'
import { stopAll, stopAllPage } from './pages/stop-all.ts'
import type { Page, Visit } from './visit.ts'

/** Returns a page, or the address of the next one; nothing where it has responded itself. */
type Handler = (visit: Visit) => Promise<Page | string | undefined>

interface Route {
  /** Without it, the administrator does not learn whether there is such a page. */
  readonly right: ConsoleRight
  readonly GET?: Handler
  readonly POST?: Handler
}

export const ROUTES: Readonly<Record<string, Route>> = {
  '': { right: 'see', GET: nowPage },
  '/history': { right: 'see', GET: historyPage },
  '/history.csv': { right: 'see', GET: downloadHistory },
  '/alarms': { right: 'see', GET: alarmsPage },
  '/search': { right: 'see', GET: searchPage },
  '/stop': { right: 'stop', POST: stopOne },
  '/acknowledge': { right: 'stop', POST: acknowledge },
  '/stop-all': { right: 'stopAll', GET: stopAllPage, POST: stopAll },
}

/** The route of a path below the prefix. One without methods is none. */
export function routeOf(path: string): Route {
  const known = Object.hasOwn(ROUTES, path) ? ROUTES[path] : undefined
  return known ?? { right: 'see', ...(isId(path.slice(1)) && { GET: recordPage }) }
}

/** @throws a refusal where there is no such page, or not by this method. */
export function handlerOf({ GET, POST }: Route, ctx: Context): Handler {
  const methods: Readonly<Record<string, Handler | undefined>> = { GET, HEAD: GET, POST }
  const handle = Object.hasOwn(methods, ctx.method) ? methods[ctx.method] : undefined
  if (handle) return handle
  const allowed = Object.keys(methods).filter((method) => methods[method])
  if (allowed.length === 0) throw notFound({ public: 'not found' })
  ctx.set('Allow', allowed.join(', '))
  throw methodNotAllowed()
}
