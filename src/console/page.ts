import { createHash } from 'node:crypto'
import type { Context } from 'koa'
import { refuse } from '../http/respond.ts'
import { Html, html } from './html.ts'
import { NO_NAMES, peopleIn, short } from './people.ts'
import { SCRIPT, TRUSTED_TYPES_POLICY } from './script.ts'
import { STYLE } from './style.ts'
import { may, type Page, type Visit } from './visit.ts'
import { sentenceOf } from './words.ts'

const PAGES = { Now: '', History: '/history', Alarms: '/alarms' }

/** Bytes of a page with rows: texts are cut until it fits. */
const MOST = 30_000

export async function showPage(visit: Visit, { title, error, body, isWhole, refresh }: Page): Promise<void> {
  const { ctx, base, now, administrator } = visit
  const links = Object.entries(PAGES).map(([name, path]) => {
    const current = name === title && html` aria-current="page"`
    return html`<a href="${base + path || '/'}"${current}>${name}</a>`
  })
  const page = documentOf(
    title,
    html`<a class="skip" href="#main">Skip to main content</a>
<header><strong>Impersonation</strong><nav aria-label="Console">${may(visit, 'see') && links}</nav><small>${short(administrator.id)}</small></header>
<main id="main" tabindex="-1"><p id="stale" role="status"></p><div id="fresh" data-now="${now}"${refresh !== undefined && html` data-refresh="${refresh}"`}>
${error && html`<p class="error" id="error" role="alert">${sentenceOf(error.message)}</p>`}${body}
</div></main>
<footer>Times are in UTC.<noscript> Reload the page to see what has changed.</noscript></footer>
${Html.constant('script', SCRIPT)}`,
  )
  const personOf = await peopleIn(page, visit)
  let text = page.write({ share: 1, personOf })
  for (let share = 0.7; !isWhole && Buffer.byteLength(text) > MOST && share > 0.05; share *= 0.7)
    text = page.write({ share, personOf })
  if (error) ctx.status = 400
  ctx.body = text
}

const ERRORS: Readonly<Record<number, readonly [title: string, text?: string]>> = {
  403: ['Not allowed'],
  404: ['Not found', 'There is no such page, or no such record.'],
  405: ['Not possible', 'This address does not take requests of this kind.'],
  500: ['This did not work', 'The operators of this service can find the reason in their log.'],
  503: ['Not available right now', 'The records cannot be read right now. Try again in a few seconds.'],
}

/** For a request that reached no page. `home` is for those who may see the console. */
export function showError(ctx: Context, thrown: unknown, home?: string): void {
  setHeaders(ctx)
  const { status, message } = refuse(ctx, thrown)
  const [title, text = sentenceOf(message)] = ERRORS[status] ?? ['This did not work']
  const back = home !== undefined && html`<p><a href="${home || '/'}">Back to the console</a></p>`
  if (status === 413) ctx.status = 400
  const body = html`<main id="main"><h1>${title}</h1><p>${text}</p>${back}</main>`
  ctx.body = documentOf(title, body).write(NO_NAMES)
}

const documentOf = (title: string, body: Html): Html =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Impersonation</title>
${Html.constant('style', STYLE)}</head>
<body>${body}</body></html>
`

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': [
    "default-src 'none'",
    `script-src ${hashOf(SCRIPT)}`,
    `style-src ${hashOf(STYLE)}`,
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${TRUSTED_TYPES_POLICY}`,
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // Not `no-referrer`: browsers would send the forms with `Origin: null`.
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'X-Robots-Tag': 'noindex',
}

/** On every response, errors included. */
export function setHeaders(ctx: Context): void {
  ctx.set(HEADERS)
  ctx.type = 'html'
}
