/** What all pages of the provider share: the layout, and headers that allow no scripts and no embedding. */
import type { ParameterizedContext } from 'koa'
import { PAGE_HEADERS } from '../headers.ts'
import { type Html, html } from '../html.ts'

interface Page {
  readonly title: string
  readonly content: Html
  /** Where a form of this page may finally redirect to. */
  readonly leadsTo?: string
}

export function sendPage(ctx: ParameterizedContext, { title, content, leadsTo }: Page): void {
  ctx.set({
    ...PAGE_HEADERS,
    'Content-Security-Policy': [
      "default-src 'none'",
      "style-src 'self'",
      "img-src 'self'",
      // Chromium applies this to the redirects after a form as well, so the application's origin belongs here.
      `form-action 'self' ${leadsTo ? webOrigin(leadsTo) : ''}`.trim(),
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  })
  ctx.type = 'html'
  ctx.body = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/login/public/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/login/public/base.css">
<link rel="stylesheet" href="/login/public/login.css">
<main>
  <p class="issuer">Identity provider of the example</p>
  <h1>${title}</h1>
  ${content}
</main>
</html>
`.text
}

/** A native application's own scheme has no origin, and does not need one here. */
function webOrigin(url: string): string {
  const { origin } = new URL(url)
  return origin === 'null' ? '' : origin
}
