/** Serves the page of the support desk. The page itself runs in the browser, and calls the other services from there. */

import { fileURLToPath } from 'node:url'
import Router from '@koa/router'
import type { Context } from 'koa'
import { readServedFile, readServedFiles, serve } from '../files.ts'

const FILES = readServedFiles(`${import.meta.dirname}/public`, '/desk')
/** In a program of your own: `import.meta.resolve('oidc-provider-impersonation/banner.js')`. */
const BANNER = fileURLToPath(import.meta.resolve('../../src/banner/banner.js'))
const PAGE = readServedFile(`${import.meta.dirname}/public/index.html`)
// Libraries are served like any other file: no build, and no import map, which would be an inline script.
FILES.set('/desk/vendor/oauth4webapi.js', readServedFile(fileURLToPath(import.meta.resolve('oauth4webapi'))))
FILES.set('/desk/vendor/impersonation-banner.js', readServedFile(BANNER))

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The provider, the backend and the orders API. If they have origins of their own, add each of them here.
  "connect-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

export function deskRouter(baseUrl: string): Router {
  const { host } = new URL(baseUrl)
  const router = new Router()

  // One document. `/callback` is where the provider sends the browser back to.
  for (const address of ['/', '/callback']) {
    router.get(address, (ctx) => {
      // Only this address is registered at the provider, so `localhost` could not sign in.
      if (ctx.host !== host) return ctx.redirect(`${baseUrl}/`)
      sendPage(ctx)
    })
  }
  router.get('/desk/*file', serve(FILES))
  return router
}

function sendPage(ctx: Context): void {
  ctx.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': CONTENT_SECURITY_POLICY,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  })
  ctx.type = PAGE.type
  ctx.body = PAGE.content
}
