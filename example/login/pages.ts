/** The pages of the provider: one layout, and headers that allow no scripts and no embedding. */
import type { Middleware, ParameterizedContext } from 'koa'
import type { Client, ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { findPerson, PEOPLE, type Person } from '../accounts.ts'
import { pageHeaders } from '../headers.ts'
import { documentOf, Html, html } from '../html.ts'
import type { Interaction, Missing } from './grant.ts'

interface Page {
  readonly title: string
  readonly content: Html
  /** Where a form of this page may finally redirect to. */
  readonly leadsTo?: string
}

function sendPage(ctx: ParameterizedContext, { title, content, leadsTo }: Page): void {
  // Chromium applies this to the redirects after a form as well, so the application's origin belongs here.
  ctx.set(pageHeaders({ 'form-action': `'self' ${leadsTo ? webOrigin(leadsTo) : ''}`.trim() }))
  ctx.type = 'html'
  const body = html`<main>
  <p class="issuer">Identity provider of the example</p>
  <h1>${title}</h1>
  ${content}
</main>`
  ctx.body = documentOf({ title, folder: '/login/public', style: 'login.css', body }).text
}

/** A native application's own scheme has no origin, and does not need one here. */
function webOrigin(url: string): string {
  const { origin } = new URL(url)
  return origin === 'null' ? '' : origin
}

const TEAMS = [
  { role: 'support', title: 'Support' },
  { role: 'security', title: 'Security' },
  { role: 'customer', title: 'Customers' },
] as const

/** It asks for a name and believes it: put your own authentication here. */
export function signInPage(ctx: ParameterizedContext, { params }: Interaction, message?: string): void {
  sendPage(ctx, {
    title: 'Who are you?',
    leadsTo: String(params.redirect_uri),
    content: html`
  ${message && html`<p class="message" role="alert">${message}</p>`}
  <p>This page believes whatever you choose. In your deployment, people prove here who they are.</p>
  <form method="post">
    ${TEAMS.map(({ role, title }) =>
      team(
        title,
        PEOPLE.filter((person) => person.role === role),
      ),
    )}
    <button class="quiet" name="decision" value="cancel">Cancel</button>
  </form>`,
  })
}

const team = (title: string, people: readonly Person[]): Html => html`
    <fieldset>
      <legend>${title}</legend>
      ${people.map(({ id, name }) => html`<button class="quiet" name="account" value="${id}">${name} <span>${id}</span></button>`)}
    </fieldset>`

interface Consent {
  readonly client: Client
  readonly person: Person
}

/** Which application asks for what, and who is signed in. */
export function consentPage(
  ctx: ParameterizedContext,
  { params, prompt }: Interaction,
  { client, person }: Consent,
): void {
  const name = client.clientName ?? client.clientId
  sendPage(ctx, {
    title: `Let ${name} know who you are?`,
    leadsTo: String(params.redirect_uri),
    content: html`
  <p>You are signed in as <strong>${person.name}</strong>. <strong>${name}</strong> asks to:</p>
  <ul>${requested(prompt.details).map((item) => html`<li>${item}</li>`)}</ul>
  <p>It does not get your password, and you can sign out at any time.</p>
  <form method="post">
    <button name="decision" value="allow">Allow</button>
    <button class="quiet" name="decision" value="cancel">Cancel</button>
  </form>`,
  })
}

const MEANINGS: Readonly<Record<string, string>> = {
  openid: 'learn who you are: your user id and your name',
}

const requested = ({ missingOIDCScope, missingOIDCClaims, missingResourceScopes }: Missing): string[] => [
  ...(missingOIDCScope ?? []).map((scope) => MEANINGS[scope] ?? scope),
  ...(missingOIDCClaims ?? []).map((claim) => `learn your ${claim}`),
  ...Object.entries(missingResourceScopes ?? {}).map(
    ([resource, names]) => `use ${resource} (${names.join(', ')})`,
  ),
]

/** Where a request cannot be served, and there is no safe address to send the browser to. */
export const errorPage = (ctx: ParameterizedContext, { error, error_description }: ErrorOut): void =>
  sendPage(ctx, {
    title: 'This did not work',
    content: html`
  <p class="message">${error_description ?? 'The request could not be served.'}</p>
  <p>Go back to the application and start again. If this happens again, tell its operator: <code>${error}</code>.</p>`,
  })

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
