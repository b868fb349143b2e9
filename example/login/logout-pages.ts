/** The pages of signing out. */
import type { KoaContextWithOIDC } from 'oidc-provider'
import { findPerson } from '../accounts.ts'
import { Html, html } from '../html.ts'
import { sendPage } from './page.ts'

/** `form` is the provider's own. It holds the proof that the request comes from this page, but no buttons. */
export function logoutPage(ctx: KoaContextWithOIDC, form: string): void {
  const { session, params } = ctx.oidc
  const leadsTo = params?.post_logout_redirect_uri
  sendPage(ctx, {
    title: 'Sign out?',
    ...(typeof leadsTo === 'string' && { leadsTo }),
    content: html`
  <p>You are signed in as <strong>${findPerson(session?.accountId ?? '')?.name}</strong> in every application.</p>
  ${new Html(form)}
  <button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>
  ${stay(leadsTo)}`,
  })
}

/** Sending the form without `logout` would end the application's own part of the session. A link ends nothing. */
function stay(leadsTo: unknown): Html {
  if (typeof leadsTo !== 'string')
    return html`<button class="quiet" form="op.logoutForm">No, stay signed in</button>`
  return html`<a class="quiet" href="${leadsTo}?stayed">No, stay signed in</a>`
}

export function loggedOutPage(ctx: KoaContextWithOIDC): void {
  sendPage(ctx, { title: 'You are signed out', content: html`<p>You can close this page.</p>` })
}
