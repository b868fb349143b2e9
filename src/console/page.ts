import { createHash } from 'node:crypto'
import type { Context } from 'koa'
import { Html, html } from './html.ts'
import type { ConsoleRight } from './options.ts'
import { SCRIPT, TRUSTED_TYPES_POLICY } from './script.ts'
import { STYLE } from './style.ts'
import type { Visit } from './visit.ts'

interface Page {
  /** Of the browser's tab. */
  readonly title: string
  /** The page of the navigation that it is or belongs to. */
  readonly at?: '' | '/history' | '/alarms'
  /** Seconds between two looks at what has changed, if the page is to follow it. */
  readonly refresh?: number
  readonly body: Html
  /** Who is signed in. */
  readonly who?: Html
}

const PAGES = [
  ['', 'Now'],
  ['/history', 'History'],
  ['/alarms', 'Alarms'],
] as const

/** A whole page of the console. */
export function pageOf({ base, now, administrator }: Visit, { at, who, ...page }: Page): string {
  const link = ([path, name]: (typeof PAGES)[number]) =>
    html`<a href="${base + path || '/'}"${at === path && html` aria-current="page"`}>${name}</a>`
  const navigation = html`<nav aria-label="Console">${administrator.can.includes('see') && PAGES.map(link)}</nav>`
  return documentOf(
    page,
    html`<body data-now="${now}">
<a class="skip" href="#main">Skip to main content</a>
<header><strong>Impersonation</strong>${navigation}<span class="who">${who ?? administrator.id}</span></header>
<main id="main" tabindex="-1"><p id="stale" role="status"></p><div id="fresh"${
      page.refresh !== undefined && html` data-refresh="${page.refresh}"`
    }>
${page.body}
</div></main>
<footer>Times are in UTC.<noscript> Reload the page to see what has changed.</noscript></footer>
${Html.constant('script', SCRIPT)}
</body>`,
  )
}

/** For a request that reached no page. `home` is for those who may see the console. */
export const errorPage = (title: string, text: string, home: string | undefined): string =>
  documentOf(
    { title },
    html`<body><main id="main"><h1>${title}</h1><p>${text}</p>${home !== undefined && html`<p><a href="${home || '/'}">Back to the console</a></p>`}</main></body>`,
  )

const documentOf = ({ title }: Pick<Page, 'title'>, body: Html): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Impersonation</title>
${Html.constant('style', STYLE)}</head>
${body}</html>
`.toString()

/** Whether the administrator is offered what needs this right. */
export const may = ({ administrator }: Visit, right: ConsoleRight): boolean =>
  administrator.can.includes(right)

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

const POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  `trusted-types ${TRUSTED_TYPES_POLICY}`,
].join('; ')

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // Not `no-referrer`: browsers would send the forms with `Origin: null`.
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'X-Robots-Tag': 'noindex',
}

/** On every response, errors included. */
export const setHeaders = (ctx: Context): void => ctx.set(HEADERS)
