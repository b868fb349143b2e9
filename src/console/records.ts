import type { SubjectTokenRecord } from '../management/inspect.ts'
import type { JsonObject } from '../plain-json.ts'
import { cut, type Lengths } from './cut.ts'
import { type Html, html } from './html.ts'
import type { ConsoleOptions } from './options.ts'
import { may } from './page.ts'
import { linked, type Names } from './people.ts'
import { canStop, stateCell } from './state.ts'
import type { Visit } from './visit.ts'
import { ago, clockOf } from './words.ts'

/** Records on a page. */
export const ROWS = 25

/** The table of Now, History and Alarms. `empty` is said where there are none. End tags that HTML implies are left out. */
export function recordTable(
  visit: Visit,
  records: readonly SubjectTokenRecord[],
  names: Names,
  empty: string,
  lengths: Lengths,
): Html {
  if (records.length === 0) return html`<p class="empty">${empty}</p>`
  const stops = may(visit, 'stop') && records.some((record) => canStop(record, visit.now))
  return html`<table class="records"><thead><tr><th>Engineer → user<th>Why<th>May<th>Started<th>State${stops && html`<td>`}
<tbody>${records.map((record) => row(visit, record, names, { stops, lengths }))}</table>`
}

interface Layout {
  /** Whether a row has a link to stop it. */
  readonly stops: boolean
  readonly lengths: Lengths
}

function row(visit: Visit, record: SubjectTokenRecord, names: Names, { stops, lengths }: Layout): Html {
  const { base, now, options } = visit
  const { name } = lengths
  const { id, userId, usedBy, clientId, createdBy, resource, scope, createdAt } = record
  const where = (resource ?? 'any resource').replace(/^https?:\/\//, '')
  return html`<tr><th><a href="${base}/${id}">${engineerOf(record, names, name)} → ${names.short(userId, name)}</a><small>${cut(name, usedBy ?? clientId ?? createdBy)}</small>
<td>${whyOf(record.context, options.ticketUrl, lengths)}
<td>${scope !== undefined && html`<code>${cut(name, scope)}</code>`}<small>${cut(name, where)}</small>
<td>${ago(createdAt, now)} <small>${clockOf(createdAt, now)}</small>
<td>${stateCell(record, names, now, lengths)}${stops && html`<td>${canStop(record, now) && html`<a href="${base}/${id}#stop">Stop</a>`}`}
`
}

function engineerOf({ actor, actorId, state }: SubjectTokenRecord, names: Names, longest: number): Html {
  const engineer = actor?.sub ?? (state === 'consumed' ? undefined : actorId)
  return engineer === undefined ? html`<em>no engineer named</em>` : names.short(engineer, longest)
}

/** Names that deployments use in the context; it is free-form. */
export const ticketIn = (context: JsonObject) => textIn(context, ['ticketId', 'ticket_id', 'ticket'])
export const reasonIn = (context: JsonObject) => textIn(context, ['reason'])

/** The ticket, as a link where there is one, and the reason; else the context as it is. */
export function whyOf(
  context: JsonObject,
  ticketUrl: ConsoleOptions['ticketUrl'],
  { name, text }: Lengths,
): Html {
  const ticket = ticketIn(context)
  const reason = reasonIn(context)
  if (ticket === undefined && reason === undefined) {
    const members = Object.keys(context).length > 0 ? JSON.stringify(context) : ''
    return html`${linked(urlOf(ticketUrl, context, text), html`<bdi>${cut(text, members)}</bdi>`)}`
  }
  const shown = html`${cut(name, ticket ?? 'Ticket')}`
  const url = urlOf(ticketUrl, context, text)
  return html`${(ticket !== undefined || url !== undefined) && linked(url, shown)} <bdi>${cut(text, reason ?? '')}</bdi>`
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
