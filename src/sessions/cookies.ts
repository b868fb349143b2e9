/** The cookies by which a browser comes back to the door, and arrives at an application. */
import { hash } from 'node:crypto'
import type { Context } from 'koa'
import type { Seconds } from '../base/clock.ts'
import { sessionRefused } from '../base/errors.ts'
import { isId } from '../tokens/id.ts'
import type { Armed } from './seal.ts'
import type { SessionService } from './service.ts'

/** Brings the token back to the door, from another site, too: after a sign-in that took place there. */
export const BROUGHT = '_imp_brought'

/** The beginning of the name of every cookie by which a browser arrives at this client. */
const armedFor = (clientId: string): string => `_imp_${hash('sha256', clientId, 'hex').slice(0, 16)}`

/** One for each client and record: two tabs are seen to be two, and neither becomes the other's. */
export const armedCookie = (clientId: string, recordId: string): string => `${armedFor(clientId)}_${recordId}`

/** The cookie by which the door sees that the browser is armed for a client. */
export const keptCookie = (clientId: string): string => `${armedFor(clientId)}_door`

/** A browser that has more of them for one client was given them by someone else: a button adds one a minute. */
const MOST_ARMED = 8

/**
 * The seal that arms the browser for this client. A cookie that no key opens, or under another's name, is none.
 * @throws {AccessDenied} if there are too many to try: the armed one may be the last of them.
 */
export async function findArmed(ctx: Context, service: SessionService, clientId: string): Promise<Armed[]> {
  const names = [...ctx.get('cookie').matchAll(/(?:^|;)\s*([^=;\s]+)=/g)].map(([, name = '']) => name)
  const beginning = armedCookie(clientId, '')
  const own = [...new Set(names)].filter(
    (name) => name.startsWith(beginning) && isId(name.slice(beginning.length)),
  )
  if (own.length > MOST_ARMED) throw sessionRefused({ private: 'more cookies than are tried' })
  const opened = await Promise.all(
    own.map(async (name) => {
      const armed = await service.seal.openArmed(readCookie(ctx, service, name))
      return armed && name === armedCookie(armed.client ?? '', armed.id) ? [armed] : []
    }),
  )
  return opened.flat()
}

/** Cookies as the provider reads its own, at any host. The door is where browsers are: its scheme says whether they are secure. */
function cookiesIn(ctx: Context, { provider, options }: SessionService): Context['cookies'] {
  const { cookies } = provider.createContext(ctx.req, ctx.res)
  return Object.assign(cookies, { secure: options.sessions.door.protocol === 'https:' })
}

export const readCookie = (ctx: Context, service: SessionService, name: string): string | undefined =>
  cookiesIn(ctx, service).get(name, { signed: false })

interface NewCookie {
  readonly name: string
  /** `null` takes it away. */
  readonly value: string | null
  readonly life: Seconds
}

/** Sends a cookie to the door alone. */
export const writeDoorCookie = (ctx: Context, service: SessionService, cookie: NewCookie): void =>
  writeCookie(ctx, service, cookie, { path: service.options.sessions.door.pathname, sameSite: 'lax' })

/** Sends a cookie to the authorization endpoint. The armed browser arrives like the session that it is bound to. */
export const writeArmedCookie = (ctx: Context, service: SessionService, cookie: NewCookie): void =>
  writeCookie(ctx, service, cookie, {
    path: service.provider.pathFor('authorization'),
    sameSite: service.configuration.cookies?.long?.sameSite ?? 'lax',
  })

function writeCookie(
  ctx: Context,
  service: SessionService,
  { name, value, life }: NewCookie,
  where: NonNullable<Parameters<Context['cookies']['set']>[2]>,
): void {
  cookiesIn(ctx, service).set(name, value, {
    ...where,
    signed: false,
    httpOnly: true,
    overwrite: true,
    secure: service.options.sessions.door.protocol === 'https:',
    ...(value !== null && { maxAge: life * 1000 }),
  })
}
