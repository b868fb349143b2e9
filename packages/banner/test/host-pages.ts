/** Ten pages of other people, with the style sheets and the headers that hide a banner which is a part of the page. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const textOf = (url: string): string => readFileSync(fileURLToPath(url), 'utf8')
const BOOTSTRAP = textOf(import.meta.resolve('bootstrap/dist/css/bootstrap.css'))
const VITE = textOf(import.meta.resolve('create-vite/template-vanilla/src/style.css'))

export interface HostPage {
  readonly html: string
  readonly css: string
  readonly policy: string
  /** Stays in view when the page is scrolled. */
  readonly isHeaderPinned: boolean
}

const STRICT = `default-src 'none'; script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'`
const POLICY = `${STRICT}; style-src 'self'; frame-src 'self'`
const LONG = '<p>A teapot, six cups, and a very long list of orders.</p>'.repeat(80)

interface Given {
  readonly css?: string
  readonly header?: string
  readonly main?: string
  readonly html?: string
  readonly policy?: string
  readonly isHeaderPinned?: boolean
}

/** The one rule that a header which stays at the top of the window needs. */
const below = (selector: string) => `${selector} { top: var(--impersonation-banner-top, 0px) }`

function hostPage(given: Given): HostPage {
  const { css = '', main = `<h1>Orders</h1>${LONG}`, html = 'lang="en"', policy = POLICY } = given
  const header =
    given.header ?? '<header class="page-header"><a href="#x">ACME Shop</a> <button>Buy</button></header>'
  return {
    css,
    policy,
    isHeaderPinned: given.isHeaderPinned ?? false,
    html: `<!doctype html>
<html ${html}>
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Orders</title>
  ${css && '<link rel="stylesheet" href="/page.css">'}
  <script type="module" src="/page.js"></script>
</head>
<body>
  ${header}
  <main>${main}</main>
</body>
</html>`,
  }
}

const HEADER = '.page-header { padding: 12px; background: #1976d2; color: #fff }'
const FIXED = `${HEADER} .page-header { position: fixed; z-index: 1100; left: 0; right: 0 } body { margin: 0; padding-top: 48px }`

export const HOST_PAGES: Readonly<Record<string, HostPage>> = {
  bootstrap: hostPage({
    css: `${BOOTSTRAP}\nbody { padding-top: 56px }\n${below('.fixed-top')}`,
    header: `<nav class="page-header navbar navbar-expand bg-primary fixed-top" data-bs-theme="dark">
    <div class="container-fluid"><a class="navbar-brand" href="#x">ACME Shop</a><button class="btn btn-light">Buy</button></div>
  </nav>`,
    isHeaderPinned: true,
  }),
  'fixed header at z-index 1100': hostPage({
    css: `${FIXED} ${below('.page-header')}`,
    isHeaderPinned: true,
  }),
  'sticky header at z-index 50': hostPage({
    css: `${HEADER} body { margin: 0 } .page-header { position: sticky; z-index: 50 } ${below('.page-header')}`,
    isHeaderPinned: true,
  }),
  'body as flex': hostPage({
    css: `${HEADER} body { display: flex; place-items: center; min-height: 100vh; margin: 0 } .page-header { align-self: start }`,
  }),
  'body as grid': hostPage({
    css: `${HEADER} body { display: grid; grid-template: auto 1fr / 1fr; gap: 1rem; height: 100vh; margin: 0 }`,
  }),
  'template of vite': hostPage({
    css: VITE,
    main: `<div id="app"><section id="center"><h1>Get started</h1>${LONG}</section></div>`,
  }),
  iframe: hostPage({ css: `${FIXED} ${below('.page-header')}`, isHeaderPinned: true }),
  "default-src 'none'": hostPage({ policy: STRICT }),
  'right to left': hostPage({
    css: `${FIXED} ${below('.page-header')}`,
    html: 'lang="ar" dir="rtl"',
    header: '<header class="page-header"><a href="#x">متجر</a> <button>شراء</button></header>',
    main: `<h1>الطلبات</h1>${'<p>إبريق شاي وستة أكواب</p>'.repeat(80)}`,
    isHeaderPinned: true,
  }),
  'modal dialog': hostPage({
    css: `${FIXED} ${below('.page-header')}
      dialog { z-index: 99999 }
      dialog::backdrop { background: rgb(0 0 0 / 60%) }`,
    main: `<h1>Orders</h1>${LONG}<dialog><p>Cancel this order?</p><form method="dialog"><button>Keep it</button></form></dialog>`,
    isHeaderPinned: true,
  }),
}

/** A page that shows another one, as portals do. */
export const FRAME = hostPage({
  css: 'iframe { width: 100%; height: 600px; border: 0 }',
  main: '<h1>Portal</h1><iframe src="/" title="The shop"></iframe>',
})
