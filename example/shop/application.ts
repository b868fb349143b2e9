/**
 * The Corner Shop: an ordinary application that signs its customers in with OpenID Connect. It knows the issuer, and nothing
 * of the process of the provider. For impersonation it reads `act`, obeys logout tokens, as it does for customers, and has the
 * guard of read-only sessions, so its metadata may say `impersonation_read_only`.
 */
import { fileURLToPath } from 'node:url'
import Router from '@koa/router'
import Koa, { type Context } from 'koa'
import getRawBody from 'raw-body'
import { readOnly } from '../../packages/resource-server/src/index.ts' // yours: 'oidc-provider-impersonation-resource-server'
import { baseStyle, readServedFile, readServedFiles, serve } from '../files.ts'
import { type PlacedOrder, teapotFor } from '../orders.ts'
import { BadLogoutToken, logoutTokenVerifier } from './logout-token.ts'
import { type Ending, pagesOf } from './pages.ts'
import { type Found, isOpen, type Session, Sessions } from './sessions.ts'
import { signInAt } from './sign-in.ts'

const FILES = readServedFiles(`${import.meta.dirname}/public`, '/public')
FILES.set('/public/base.css', baseStyle)
/** In a program of your own: `import.meta.resolve('oidc-provider-impersonation-banner')`. */
const BANNER = fileURLToPath(import.meta.resolve('../../packages/banner/src/banner.js'))
FILES.set('/public/impersonation-banner.js', readServedFile(BANNER))

/** Cookies know no ports: at one host name, those of two applications need two names. */
const SESSION = 'shop-session'
const SIGN_IN = 'shop-sign-in'

interface Shop {
  readonly issuer: string
  readonly baseUrl: string
  /** Where engineers come from. */
  readonly desk: string
  /** The name of an engineer, such as from a directory of the company: an ID token says the id. */
  readonly nameOf: (actor: string) => string
  /** Who stopped what was opened in this session at the provider, and why, such as from a backend of the company. */
  readonly endingOf: (sid: string) => Promise<Ending | undefined>
  readonly log: (entry: object) => void
}

export function shopApplication({ issuer, baseUrl, desk, nameOf, endingOf, log }: Shop): Koa {
  const sessions = new Sessions()
  const signIn = signInAt(issuer, baseUrl)
  const verifyLogoutToken = logoutTokenVerifier(issuer, signIn.keysAddress)
  const pages = pagesOf({ issuer, desk, nameOf })
  const router = new Router()
  /** What was ordered here. It is in the memory of this process, as the sessions are. */
  const placed: PlacedOrder[] = []

  const found = (ctx: Context): Found => sessions.find(ctx.cookies.get(SESSION))

  router.get('/', async (ctx) => {
    const session = found(ctx)
    if (session === undefined) return pages.welcome(ctx)
    if (!isOpen(session)) {
      const { actedIn } = session
      return pages.ended(ctx, actedIn === undefined ? undefined : ((await endingOf(actedIn)) ?? {}))
    }
    log({ event: 'shop.orders_shown', ...peopleOf(session) })
    const own = placed.filter(({ customer }) => customer === session.customer)
    pages.account(ctx, session, own)
  })

  /** A sign-in begins here in any case, also where someone is signed in already: the provider says who it is now. */
  router.get('/login', async (ctx) => {
    const { address, id } = await signIn.begin()
    setCookie(ctx, SIGN_IN, id, '/callback')
    redirect(ctx, address)
  })

  router.get('/callback', async (ctx) => {
    const begun = ctx.cookies.get(SIGN_IN)
    setCookie(ctx, SIGN_IN, null, '/callback')
    const session = await signIn.finish(new URL(ctx.url, baseUrl), begun).catch((error) => {
      // Its message may quote what was received.
      log({ event: 'shop.sign_in_failed', reason: error.error ?? error.code ?? error.name })
    })
    if (!session) return pages.notSignedIn(ctx)
    sessions.forget(ctx.cookies.get(SESSION))
    setCookie(ctx, SESSION, sessions.begin(session))
    log({ event: 'shop.signed_in', ...peopleOf(session) })
    redirect(ctx, `${baseUrl}/`)
  })

  /** The page asks every few seconds, so that it closes when someone stops the view. */
  router.get('/session', (ctx) => {
    const session = found(ctx)
    ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
    ctx.body = isOpen(session)
      ? { state: 'open', ...peopleOf(session) }
      : { state: session ? 'ended' : 'none' }
  })

  /** A read-only session does not come here. */
  router.post('/orders', (ctx) => {
    assertOwnPage(ctx)
    const session = found(ctx)
    if (isOpen(session)) {
      placed.push(teapotFor(session.customer, 2001 + placed.length))
      log({ event: 'shop.ordered', ...peopleOf(session) })
    }
    redirect(ctx, `${baseUrl}/`)
  })

  router.post('/logout', async (ctx) => {
    assertOwnPage(ctx)
    const session = found(ctx)
    if (isOpen(session) && session.actor !== undefined) {
      await signIn.endAtProvider(session)
      sessions.end(ctx.cookies.get(SESSION))
      ctx.status = 204
      return
    }
    sessions.forget(ctx.cookies.get(SESSION))
    setCookie(ctx, SESSION, null)
    redirect(ctx, await signIn.signOutAddress())
  })

  /** From the provider, not from a browser (Back-Channel Logout 1.0 §2.5). */
  router.post('/backchannel-logout', async (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    try {
      const form = new URLSearchParams(await getRawBody(ctx.req, { limit: '16kb', encoding: 'utf-8' }))
      const sid = await verifyLogoutToken(form.get('logout_token') ?? '')
      sessions.endOf(sid)
      log({ event: 'shop.session_ended', sid })
      ctx.status = 200
      ctx.body = ''
    } catch (error) {
      if (!(error instanceof BadLogoutToken)) throw error
      log({ event: 'shop.logout_refused', reason: error.message })
      ctx.status = 400
      ctx.body = { error: 'invalid_request' }
    }
  })

  router.get('/public/*file', serve(FILES))
  const app = new Koa()
  app.use(atOwnAddress(baseUrl))
  app.use(
    readOnly<Context>({
      claims: (ctx) => {
        const session = found(ctx)
        return isOpen(session) ? session.claims : undefined
      },
      allows: ({ method, path }) => method === 'POST' && path === '/logout',
    }),
  )
  app.use(router.routes())
  return app
}

/** Who is there, for the log: both people, and the session at the provider, which the record is found by. */
const peopleOf = ({ customer, actor, sid }: Session) => ({ customer, actor, sid })

/** Browsers say which page has sent a form. Another one must not order anything, nor sign anyone out. */
function assertOwnPage(ctx: Context): void {
  if (ctx.get('Sec-Fetch-Site') !== 'same-origin') ctx.throw(403)
}

/** Only this address is registered at the provider, and no page of another name may reach this one (DNS rebinding). */
const atOwnAddress = (baseUrl: string): Koa.Middleware => {
  const { host } = new URL(baseUrl)
  return (ctx, next) => (ctx.host === host ? next() : ctx.throw(421))
}

/** `secure` is left to Koa, which sets it if the request came over HTTPS (see `app.proxy`). */
function setCookie(ctx: Context, name: string, value: string | null, path = '/'): void {
  ctx.cookies.set(name, value, { httpOnly: true, sameSite: 'lax', path, signed: false, overwrite: true })
}

function redirect(ctx: Context, address: string): void {
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
  ctx.status = 303
  ctx.redirect(address)
}
