/** Serves the page of the support desk. All it does happens in the browser, with the other services. */

import { fileURLToPath } from 'node:url'
import Router from '@koa/router'
import type { Context } from 'koa'
import { readServedFile, readServedFiles, serve } from '../files.ts'

const FILES = readServedFiles(`${import.meta.dirname}/public`, '/desk')
const PAGE = readServedFile(`${import.meta.dirname}/public/index.html`)
// A library is a file like any other: no build, and no import map, because that would be an inline script.
FILES.set('/desk/vendor/oauth4webapi.js', readServedFile(fileURLToPath(import.meta.resolve('oauth4webapi'))))

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The provider, the backend and the orders API. Where they have origins of their own, each belongs here.
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
      // The provider knows the page by this address only, so `localhost` could not sign in.
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
