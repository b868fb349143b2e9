import type { SubjectTokenRecord } from '../management/inspect.ts'
import type { JsonObject } from '../plain-json.ts'
import { type Html, html } from './html.ts'
import { linked, type Names } from './names.ts'
import type { ConsoleOptions } from './options.ts'
import { may } from './page.ts'
import { canStop, stateCell } from './state.ts'
import type { Visit } from './visit.ts'
import { ago, clockOf, cut, NAME } from './words.ts'

/** Records on a page. */
export const ROWS = 25

/** The table of Now, History and Alarms. `empty` is said where there are none. End tags that HTML implies are left out. */
export function recordTable(
  visit: Visit,
  records: readonly SubjectTokenRecord[],
  names: Names,
  empty: string,
): Html {
  if (records.length === 0) return html`<p class="empty">${empty}</p>`
  const stops = may(visit, 'stop') && records.some((record) => canStop(record, visit.now))
  return html`<table class="records"><thead><tr><th scope="col">Engineer → user<th scope="col">Why<th scope="col">May<th scope="col">Started<th scope="col">State${stops && html`<td>`}
<tbody>${records.map((record) => row(visit, record, names, stops))}</table>`
}

function row(visit: Visit, record: SubjectTokenRecord, names: Names, stops: boolean): Html {
  const { base, now, options } = visit
  const { id, userId, usedBy, clientId, createdBy, resource, scope, createdAt } = record
  const where = (resource ?? 'any resource').replace(/^https?:\/\//, '')
  return html`<tr><th><a href="${base}/${id}">${engineerOf(record, names)} → ${names.short(userId)}</a><small>${cut(NAME, usedBy ?? clientId ?? createdBy)}</small>
<td>${whyOf(record.context, options.ticketUrl, 120)}
<td>${scope !== undefined && html`<code>${cut(NAME, scope)}</code>`}<small>${cut(NAME, where)}</small>
<td>${ago(createdAt, now)}<small>${clockOf(createdAt, now)}</small>
<td>${stateCell(record, names, now)}${stops && html`<td>${canStop(record, now) && html`<a class="danger" href="${base}/${id}#stop">Stop</a>`}`}
`
}

function engineerOf({ actor, actorId, state }: SubjectTokenRecord, names: Names): Html {
  const engineer = actor?.sub ?? (state === 'consumed' ? undefined : actorId)
  return engineer === undefined ? html`<em>no engineer named</em>` : names.short(engineer)
}

/** Names that deployments use in the context; it is free-form. */
export const ticketIn = (context: JsonObject) => textIn(context, ['ticketId', 'ticket_id', 'ticket'])
export const reasonIn = (context: JsonObject) => textIn(context, ['reason'])

/** The ticket, as a link where there is one, and the reason; else the context as it is. */
export function whyOf(context: JsonObject, ticketUrl: ConsoleOptions['ticketUrl'], longest: number): Html {
  const ticket = ticketIn(context)
  const reason = reasonIn(context)
  if (ticket === undefined && reason === undefined) {
    const members = Object.keys(context).length > 0 ? JSON.stringify(context) : ''
    return html`${linked(urlOf(ticketUrl, context, longest), html`<bdi>${cut(longest, members)}</bdi>`)}`
  }
  const shown = html`${cut(NAME, ticket ?? 'Ticket')}`
  const url = urlOf(ticketUrl, context, longest)
  return html`${(ticket !== undefined || url !== undefined) && linked(url, shown)} <bdi>${cut(longest, reason ?? '')}</bdi>`
}

function textIn(context: JsonObject, names: readonly string[]): string | undefined {
  const found = names.filter((name) => Object.hasOwn(context, name)).map((name) => context[name])
  return found
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .map(String)
    .find((text) => text.trim() !== '')
}

/** A function that fails has no address to give, and a long one would make a row long. */
function urlOf(ticketUrl: ConsoleOptions['ticketUrl'], context: JsonObject, longest: number): unknown {
  try {
    const url: unknown = ticketUrl?.(context)
    // Of a function that is asynchronous by mistake: unhandled, a rejection would end the process.
    if (typeof url === 'object') Promise.resolve(url).catch(() => undefined)
    return typeof url === 'string' && url.length <= longest ? url : undefined
  } catch {
    return undefined
  }
}
