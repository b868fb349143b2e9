import type { Context } from 'koa'
import { methodNotAllowed, notFound } from '../http/errors.ts'
import { isId } from '../subject-tokens/id.ts'
import { alarmsPage } from './alarms.ts'
import { downloadHistory } from './csv.ts'
import { historyPage } from './history.ts'
import { nowPage } from './now.ts'
import type { ConsoleRight } from './options.ts'
import { recordPage, stopOne } from './record.ts'
import { confirmStopAll, stopAll } from './stop-all.ts'
import type { Page, Visit } from './visit.ts'

/** Returns a page, or the address of the next one; nothing where it has responded itself. */
type Handler = (visit: Visit) => Promise<Page | string | undefined>

/** Without the right, the administrator does not learn whether there is such a page. */
type Route = readonly [ConsoleRight, { readonly GET?: Handler; readonly POST?: Handler }]

export const ROUTES: Readonly<Record<string, Route>> = {
  '': ['see', { GET: nowPage }],
  '/history': ['see', { GET: historyPage }],
  '/history.csv': ['see', { GET: downloadHistory }],
  '/alarms': ['see', { GET: alarmsPage }],
  '/stop': ['stop', { POST: stopOne }],
  '/stop-all': ['stopAll', { GET: confirmStopAll, POST: stopAll }],
}

/** The route of a path below the prefix. One without methods is none. */
export function routeOf(path: string): Route {
  const known = Object.hasOwn(ROUTES, path) ? ROUTES[path] : undefined
  return known ?? ['see', isId(path.slice(1)) ? { GET: recordPage } : {}]
}

/** @throws a refusal where there is no such page, or not by this method. */
export function handlerOf([, methods]: Route, ctx: Context): Handler {
  const handle = methods[ctx.method === 'HEAD' ? 'GET' : (ctx.method as 'GET' | 'POST')]
  if (handle) return handle
  const allowed = Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  if (allowed.length === 0) throw notFound({ public: 'not found' })
  ctx.set('Allow', allowed.join(', '))
  throw methodNotAllowed()
}
