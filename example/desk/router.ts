/** Serves the page of the support desk. The page itself runs in the browser, and calls the other services from there. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Router from '@koa/router'
import type { Context } from 'koa'
import {
  baseStyle,
  FOREVER,
  readServedFile,
  readServedFiles,
  type ServedFile,
  sendFile,
  serve,
  servedFile,
  versionOf,
} from '../files.ts'
import { pageHeaders, SCRIPTS } from '../headers.ts'

const FILES = readServedFiles(`${import.meta.dirname}/public`, '/desk')
/** In a program of your own: `import.meta.resolve('oidc-provider-impersonation-banner')`. */
const BANNER = fileURLToPath(import.meta.resolve('../../packages/banner/src/banner.js'))
// Libraries are served like any other file: no build, and no import map, which would be an inline script.
FILES.set('/desk/vendor/oauth4webapi.js', readServedFile(fileURLToPath(import.meta.resolve('oauth4webapi'))))
FILES.set('/desk/base.css', baseStyle)
FILES.set('/desk/vendor/impersonation-banner.js', readServedFile(BANNER))

const VERSION = versionOf(FILES)
/** Modules import each other by relative addresses, so the version in that of the first one is in all of them. */
const VERSIONED = new Map([...FILES].map(([address, file]) => [inVersion(address), file]))

function inVersion(text: string): string {
  return text.replaceAll('/desk/', `/desk/${VERSION}/`)
}

const PAGE = inVersion(readFileSync(`${import.meta.dirname}/public/index.html`, 'utf8'))
/** One document. `/callback` is where the provider sends the browser back to: someone is about to be signed in. */
const PAGES = {
  '/': PAGE,
  '/callback': PAGE.replace('See what a customer sees', 'Signing in …').replace(
    'data-view="signed-out"',
    'data-view="signed-out" hidden',
  ),
}

// If the provider, the backend and the orders API have origins of their own, add each of them to `connect-src`.
const HEADERS = pageHeaders({ ...SCRIPTS, 'form-action': "'self'" })

export function deskRouter(baseUrl: string): Router {
  const { host } = new URL(baseUrl)
  const router = new Router()

  for (const [address, html] of Object.entries(PAGES)) {
    const page = servedFile('.html', Buffer.from(html))
    router.get(address, (ctx) => {
      // Only this address is registered at the provider, so `localhost` could not sign in.
      if (ctx.host !== host) return ctx.redirect(`${baseUrl}/`)
      sendPage(ctx, page)
    })
  }
  router.get('/desk/*file', serve(VERSIONED, FOREVER), serve(FILES))
  return router
}

function sendPage(ctx: Context, page: ServedFile): void {
  ctx.set(HEADERS)
  ctx.vary('Accept-Encoding')
  sendFile(ctx, page)
}
