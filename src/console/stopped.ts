import { type Html, html } from './html.ts'
import { may, pageOf } from './page.ts'
import type { Visit } from './visit.ts'

/** After a stop: leads to a page that shows it, or says it to those who may not see that page. */
export function respondStopped(visit: Visit, address: string, text: Html): void {
  const { ctx } = visit
  if (may(visit, 'see')) {
    ctx.status = 303
    ctx.redirect(address)
    return
  }
  ctx.body = pageOf(visit, { title: 'Stopped', body: html`<h1>Stopped</h1>\n<p>${text}</p>` })
}
