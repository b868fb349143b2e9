/** Shown when a request cannot be served, and there is no safe address to send the browser to. */
import type { Middleware, ParameterizedContext } from 'koa'
import type { ErrorOut } from 'oidc-provider'
import { html } from '../html.ts'
import { sendPage } from './page.ts'

export function errorPage(ctx: ParameterizedContext, { error, error_description }: ErrorOut): void {
  sendPage(ctx, {
    title: 'This did not work',
    content: html`
  <p class="message">${error_description ?? 'The request could not be served.'}</p>
  <p>Go back to the application and start again. If this happens again, tell its operator: <code>${error}</code>.</p>`,
  })
}

/** For people, where nothing else has responded: programs get the plain response. */
export const missingPage: Middleware = async (ctx, next) => {
  await next()
  if (ctx.status !== 404 || ctx.body || !ctx.get('Accept').includes('text/html')) return
  ctx.status = 404
  sendPage(ctx, {
    title: 'There is no such page',
    content: html`
  <p>The address may be mistyped. <a href="/">Go to the support desk</a>.</p>`,
  })
}

export function expiredPage(ctx: ParameterizedContext): void {
  ctx.status = 400
  sendPage(ctx, {
    title: 'This sign-in has ended',
    content: html`
  <p>It has expired, was used before, or was started in another browser. Go back to the application and start again.</p>`,
  })
}
