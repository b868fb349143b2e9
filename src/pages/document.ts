/** Documents of pages that this service renders, and the headers that protect them. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Html, html, type Value } from './html.ts'

/** The one style sheet of a kind of pages, and their one script. Neither can end its element. */
interface Parts {
  readonly style: string
  readonly script?: string
}

/** The name of the one policy of Trusted Types. */
const TRUSTED_TYPES_POLICY = 'impersonation-console'

/** A file beside the code, without comments and the spaces that only its readers need. */
export function readAsset(url: URL): string {
  const text = readFileSync(url, 'utf8')
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/^\s*(\/\/.*)?/gm, '')
  if (!url.pathname.endsWith('.css')) return text
  return text
    .replaceAll(/\s*([{};,>+]) *\n?|(:) /g, '$1$2')
    .replaceAll(';}', '}')
    .replaceAll(/(?<=[ :(])0\./g, '.')
}

/** The colours, measures and elements of every page. */
export const DESIGN = ['design', 'base']
  .map((name) => readAsset(new URL(`./${name}.css`, import.meta.url)))
  .join('')

/** The parts that pages of one kind share. */
export function documentsOf({ style, script }: Parts) {
  const policy = [
    "default-src 'none'",
    script && `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'img-src data:',
    script && "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${script ? TRUSTED_TYPES_POLICY : "'none'"}`,
  ]
  return {
    /** For every response, errors included. */
    headers: {
      'Cache-Control': 'no-store',
      'Content-Security-Policy': policy.filter((rule) => rule !== undefined).join('; '),
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      // Not `no-referrer`: browsers would send the forms with `Origin: null`.
      'Referrer-Policy': 'same-origin',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'X-Robots-Tag': 'noindex',
    },
    documentOf(title: string, body: Html): string {
      const code: Value = script !== undefined && Html.constant('script', script)
      return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><link rel="icon" href="data:,">
${Html.constant('style', style)}</head>
<body>${body}
${code}</body></html>
`.toString()
    },
  }
}

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
