/** What a person sees when a request cannot be served and there is nowhere safe to send the browser to. */
import type { ParameterizedContext } from 'koa'
import type { ErrorOut } from 'oidc-provider'
import { html } from './html.ts'
import { sendPage } from './page.ts'

export function errorPage(ctx: ParameterizedContext, { error, error_description }: ErrorOut): void {
  sendPage(ctx, {
    title: 'This did not work',
    content: html`
  <p class="message">${error_description ?? 'The request could not be served.'}</p>
  <p>Go back to the application and begin again. If it happens again, tell its operator: <code>${error}</code>.</p>`,
  })
}

export function expiredPage(ctx: ParameterizedContext): void {
  ctx.status = 400
  sendPage(ctx, {
    title: 'This sign-in is over',
    content: html`
  <p>It has expired, has been used, or was begun in another browser. Go back to the application and begin again.</p>`,
  })
}
