/** The one page of the door: it asks, it leads to the application, or it refuses. It has no script. */
import type { Context } from 'koa'
import type { Seconds } from '../base/clock.ts'
import type { JsonObject, JsonValue } from '../base/json.ts'
import { DESIGN, documentsOf, readAsset } from '../pages/document.ts'
import { type Html, html } from '../pages/html.ts'

const style = readAsset(new URL('./page.css', import.meta.url))
const { headers, documentOf } = documentsOf({ style: DESIGN + style })

/** The headers of every response of the door, whatever becomes of the request. */
export const setHeaders = (ctx: Context): void => ctx.set(headers)

function show(ctx: Context, status: number, title: string, body: Html): void {
  ctx.status = status
  ctx.type = 'html'
  ctx.body = documentOf(title, html`<main>${body}</main>`)
}

interface Person {
  readonly id: string
  readonly name: string
}

/** The question that an engineer agrees to. */
export interface Question {
  readonly actor: Person
  readonly user: Person
  readonly application: string
  readonly ttl: Seconds
  /** The members of the context that the deployment requires. */
  readonly context: JsonObject
  /** The application cannot be told when the session ends. */
  readonly isUnended: boolean
  readonly readOnly: boolean
  /** Where the form is sent, and what it carries. */
  readonly action: string
  readonly sealed: string
}

/** Texts of any direction stand beside each other. */
const isolated = (text: string): Html => html`<bdi>${text}</bdi>`

const person = ({ id, name }: Person): Html =>
  html`${isolated(name)}${name !== id && html`<small>${isolated(id)}</small>`}`

const row = (label: Html | string, value: Html | string): Html =>
  html`<div><dt>${label}</dt><dd>${value}</dd></div>`

/** `Ticket id` for `ticketId` and `ticket_id`: the words of a deployment, as the other labels are written. */
function labelOf(key: string): string {
  const words = key.replace(/([a-z])([A-Z])|_/g, '$1 $2').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const textOf = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value))

export function showQuestion(ctx: Context, question: Question): void {
  const { actor, user, application, ttl, context, isUnended, readOnly, action, sealed } = question
  const minutes = Math.ceil(ttl / 60)
  const because = Object.entries(context).map(([key, value]) =>
    row(isolated(labelOf(key)), isolated(textOf(value))),
  )
  const body = html`<h1>Open ${isolated(application)} as ${isolated(user.name)}?</h1>
<dl>${row('You are', person(actor))}${row('You will be', person(user))}${row('Application', isolated(application))}
${row('Access', readOnly ? 'Read only' : html`<b class="changes">Can change things</b>`)}${row('Ends', minutes === 1 ? 'after one minute at the latest' : `after ${minutes} minutes at the latest`)}${because}</dl>
<p>The application will show you what ${isolated(user.name)} sees. What you do there is on the record as yours.</p>
${isUnended && html`<p class="warning">This application cannot be told when that time is over, or when someone stops you. Sign out of it when you have finished.</p>`}
<form method="post" action="${action}"><input type="hidden" name="sealed" value="${sealed}">
<button>Open as ${isolated(user.name)}</button></form>
<p><small>To say no, close this page. Nothing is opened until you press the button, and no one else can use it.</small></p>`
  show(ctx, 200, `Open ${application}?`, body)
}

/**
 * The browser goes on by itself. A redirect would be blocked by `form-action`: it is the response to a form, and no list can
 * name every address on the way.
 */
export function showWayTo(ctx: Context, application: string, address: string): void {
  const body = html`<meta http-equiv="refresh" content="0;url=${address}"><h1>Opening ${isolated(application)}</h1>
<p><a class="button" href="${address}">Continue</a></p>`
  show(ctx, 200, `Opening ${application}`, body)
}

/** One text for everything that is refused. `id` is that of the record which the browser has brought, whatever became of it. */
export function showRefusal(ctx: Context, status: 400 | 403, id: string | undefined): void {
  const body = html`<h1>This cannot be opened</h1>
<p>It is not meant for you, was used before, or has expired. Ask for a new one where you came from.</p>
${id !== undefined && html`<p><small>If you need help, quote ${isolated(id)}.</small></p>`}`
  show(ctx, status, 'This cannot be opened', body)
}

/** The browser is armed for this application already. */
export function showBusy(ctx: Context): void {
  const body = html`<h1>Not yet</h1>
<p>Another view of this application is being opened in this browser: go on there, or go back and try again in a minute.</p>`
  show(ctx, 409, 'Not yet', body)
}

/** The operators find the reason in their log. */
export function showFailure(ctx: Context, status: number): void {
  const text =
    status === 503
      ? 'Please try again in a few seconds.'
      : 'The operators of this service can find the reason in their log.'
  show(ctx, status, 'This did not work', html`<h1>This did not work</h1><p>${text}</p>`)
}

/** A request of a kind that the door does not take. */
export const showMethods = (ctx: Context, allowed: readonly string[]): void => {
  ctx.set('Allow', allowed.join(', '))
  show(ctx, 405, 'Not possible', html`<h1>This address does not take requests of this kind</h1>`)
}

/** Shown after a sign-out of the application. */
export function endedPage(ctx: Context): void {
  setHeaders(ctx)
  const body = html`<h1>The session has ended</h1>
<p>You no longer act as the customer. Your own sign-in has not changed.</p>`
  show(ctx, 200, 'The session has ended', body)
}
