/** The shop's pages. The banner is in each of them: where no one acts, it is in the way of going on unnoticed. */
import type { Context } from 'koa'
import { pageHeaders, SCRIPTS } from '../headers.ts'
import { documentOf, type Html, html } from '../html.ts'
import { type Order, ordersOf } from '../orders.ts'
import type { Session } from './sessions.ts'

interface Page {
  readonly title: string
  readonly content: Html
  readonly session?: Session
}

/** How a view ended: `by` is absent where no one stopped it. */
export interface Ending {
  readonly by?: string | undefined
  readonly reason?: string | undefined
}

interface Around {
  readonly issuer: string
  readonly desk: string
  readonly nameOf: (actor: string) => string
}

export function pagesOf({ issuer, desk, nameOf }: Around) {
  const headers = {
    // A sign-out leads to the provider, and Chromium applies `form-action` to redirects as well.
    ...pageHeaders({ ...SCRIPTS, 'form-action': `'self' ${new URL(issuer).origin}` }),
    'X-Frame-Options': 'DENY',
  }
  const show = (ctx: Context, page: Page) => {
    ctx.set(headers)
    ctx.type = 'html'
    ctx.body = pageOf(page, nameOf).text
  }
  const whoEnded = ({ by, reason }: Ending) =>
    html`${by && html`<p>${nameOf(by)} stopped it${reason && html`: ${reason}`}.</p>`}<p>The <a href="${desk}">support desk</a> has the record.</p>`
  const signIn = html`<p><a class="action" href="/login">Sign in</a></p>`
  return {
    /** `placed` are the orders that were placed here. */
    account: (ctx: Context, session: Session, placed: readonly Order[]) =>
      show(ctx, { title: `Hello, ${session.name}`, content: accountOf(session, placed), session }),
    welcome: (ctx: Context) =>
      show(ctx, { title: 'Welcome', content: html`<p>Sign in to see your orders.</p>${signIn}` }),
    /** `ending` where someone acted as the customer. */
    ended: (ctx: Context, ending?: Ending) =>
      show(ctx, {
        title: 'This session has ended',
        content: html`<p>Nothing of the account is shown any more.</p>${ending && whoEnded(ending)}${signIn}`,
      }),
    notSignedIn(ctx: Context) {
      ctx.status = 400
      const content = html`<p>The sign-in was refused, has expired, or was started in another browser.</p>${signIn}`
      show(ctx, { title: 'You are not signed in', content })
    },
  }
}

const pageOf = ({ title, content, session }: Page, nameOf: Around['nameOf']): Html =>
  documentOf({
    title: `${title} · The Corner Shop`,
    folder: '/public',
    style: 'shop.css',
    body: html`<script type="module" src="/public/shop.js"></script>
<header><a href="/">The Corner Shop</a></header>
${bannerOf(session, nameOf)}
<main${session ? html` data-open` : ''}>
  <h1>${title}</h1>
  ${content}
</main>`,
  })

/** Without `act` it shows nothing, unless this tab has shown a view before: then it says once that the view is over. */
const bannerOf = (session: Session | undefined, nameOf: Around['nameOf']): Html =>
  session?.actor === undefined
    ? html`<impersonation-banner state="over"></impersonation-banner>`
    : html`<impersonation-banner user="${session.name}" actor="${nameOf(session.actor)}" data-left="${left(session)}"${session.claims.read_only === true ? html` read-only` : ''}></impersonation-banner>`

const left = ({ endsAt }: Session): string => String(Math.max(0, Math.floor(endsAt - Date.now() / 1000)))

function accountOf({ customer, actor }: Session, placed: readonly Order[]): Html {
  const orders = [...placed, ...ordersOf(customer)]
  return html`
  <h2>Your orders</h2>
  ${orders.length === 0 ? html`<p>No orders yet.</p>` : html`<ul class="orders">${orders.map(({ id, item, state, cents }) => html`<li><strong>${item}</strong> <span>${id} · ${state}</span> <span>€ ${(cents / 100).toFixed(2)}</span></li>`)}</ul>`}
  <form method="post" action="/orders"><button>Order a new teapot</button></form>
  ${actor === undefined ? html`<form method="post" action="/logout"><button class="quiet">Sign out</button></form>` : html`<p class="note">Only the customer can change the address and the way to pay.</p>`}`
}
