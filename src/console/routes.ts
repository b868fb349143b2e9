import type { Context } from 'koa'
import { methodNotAllowed, pathNotFound } from '../management/errors.ts'
import { isId } from '../subject-tokens/id.ts'
import { showAlarms } from './alarms.ts'
import { downloadHistory } from './csv.ts'
import { showHistory } from './history.ts'
import { showNow } from './now.ts'
import type { ConsoleRight } from './options.ts'
import { showRecord } from './record.ts'
import { stopOne } from './stop.ts'
import { confirmStopAll, stopAll } from './stop-all.ts'
import type { Visit } from './visit.ts'

type Handler = (visit: Visit) => Promise<void>

interface Route {
  /** Without it the administrator does not learn whether there is such a page. */
  readonly right: ConsoleRight
  /** @throws a refusal where there is no such page, or not by this method. */
  handlerFor(ctx: Context): Handler
}

interface Methods {
  readonly GET?: Handler
  readonly POST?: Handler
}

const ROUTES: Readonly<Record<string, readonly [ConsoleRight, Methods]>> = {
  '': ['see', { GET: showNow }],
  '/history': ['see', { GET: showHistory }],
  '/history.csv': ['see', { GET: downloadHistory }],
  '/alarms': ['see', { GET: showAlarms }],
  '/stop': ['stop', { POST: stopOne }],
  '/stop-all': ['stopAll', { GET: confirmStopAll, POST: stopAll }],
}

/** The route of a path below the prefix. */
export function routeOf(path: string): Route {
  // Of a console at the root.
  const known = Object.hasOwn(ROUTES, path === '/' ? '' : path) ? ROUTES[path === '/' ? '' : path] : undefined
  if (known) return { right: known[0], handlerFor: byMethod(known[1]) }
  const id = path.slice(1)
  if (isId(id)) return { right: 'see', handlerFor: byMethod({ GET: (visit) => showRecord(visit, id) }) }
  return {
    right: 'see',
    handlerFor() {
      throw pathNotFound()
    },
  }
}

const byMethod = (methods: Methods) => (ctx: Context) => {
  const handle = methods[ctx.method === 'HEAD' ? 'GET' : (ctx.method as 'GET' | 'POST')]
  if (handle) return handle
  ctx.set('Allow', [...(methods.GET ? ['GET', 'HEAD'] : []), ...(methods.POST ? ['POST'] : [])].join(', '))
  throw methodNotAllowed()
}
