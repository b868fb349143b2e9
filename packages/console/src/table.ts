/** Pages of records: one line for each. */
import type { JsonObject, RecordQuery, SubjectTokenRecord } from 'oidc-provider-impersonation'
import { type Html, html, linked, type Value } from 'oidc-provider-impersonation/inside'
import { addressOf, type Typed } from './form.ts'
import type { ConsoleOptions } from './options.ts'
import type { People } from './people.ts'
import { isStoppableRecord, stateCell } from './state.ts'
import { may, type Visit } from './visit.ts'
import { shorten, timeOf, ZONE } from './words.ts'

const ROWS = 25
/** Records that are read at once: more than a page has, so that it can say how many there are. */
const READ = 100

/** Some records of a list, and what the page says of the others. */
export interface Listed {
  readonly items: readonly SubjectTokenRecord[]
  /** How many there are in all, where that was read. */
  readonly total: number | undefined
  /** `1–25 of 41`, and links to the first page and to the next. */
  readonly pages: Html
  readonly isMore: boolean
}

/** The parameter that leads to a later page, beside its query. */
export const PLACE = ['cursor', 'skipped'] as const

/** One page of a list. `typed` is its query as the browser sent it. */
export async function listed(
  { records, base, path }: Visit,
  query: RecordQuery,
  typed: Typed,
): Promise<Listed> {
  const { cursor = undefined, skipped: before = '' } = typed.cursor === '' ? {} : typed
  const skipped = cursor !== undefined && /^\d{1,6}$/.test(before) ? Number(before) : 0
  const { items: read, nextCursor } = await records.list({ ...query, cursor, limit: READ })
  const items = read.slice(0, ROWS)
  const next = read.length > ROWS ? items.at(-1)?.id : nextCursor
  const known = skipped + read.length
  const last = skipped + items.length
  const total = nextCursor === undefined ? known : undefined
  const link = (label: string, place: Typed) => {
    const address = addressOf(base + path || '/', {
      ...typed,
      cursor: undefined,
      skipped: undefined,
      ...place,
    })
    return html`<a class="button" href="${address}"${place.cursor !== undefined && html` rel="next"`}>${label}</a>`
  }
  const newest = cursor !== undefined && link('Newest', {})
  const older = next !== undefined && link('Older', { cursor: next, skipped: String(last) })
  const count: Value =
    items.length > 0 &&
    html`<span>${last === skipped + 1 ? last : `${skipped + 1}–${last}`} of ${total ?? `${known} or more`}</span>`
  const links = (newest || older) && html`<nav aria-label="Pages">${newest} ${older}</nav>`
  return {
    items,
    total,
    isMore: next !== undefined,
    pages: html`<div class="line">${count}${links}</div>`,
  }
}

/** Longest address of a link in a row, in characters. The record has those that are longer. */
const LONGEST_ADDRESS = 120

/** A link of the console among many, if its address is not so long that they would make the page large. */
export const linkIn = (address: string, text: Value, longest = LONGEST_ADDRESS): Value =>
  address.length > longest ? text : html`<a href="${address}">${text}</a>`

/** A table by its name, for those who do not see where it stands, or what is said where there are none. */
export function tableOf(
  visit: Visit,
  list: Listed,
  people: People,
  { caption, empty }: Readonly<Record<'caption' | 'empty', Value>>,
): Html {
  const { items, pages, isMore } = list
  const none = isMore ? 'None on this page. There may be older ones.' : empty
  return items.length > 0
    ? html`${rowsOf(visit, items, people, caption)}\n${pages}`
    : html`<p class="card empty">${none}</p>${pages}`
}

/** End tags that HTML implies are left out. */
export function rowsOf(
  visit: Visit,
  records: readonly SubjectTokenRecord[],
  people: People,
  caption: Value,
): Html {
  const stops = may(visit, 'stop') && records.some((record) => isStoppableRecord(record, visit.now))
  return html`<table class="records"><caption>${caption}</caption><thead><tr><th>Started, ${ZONE}<th>Engineer<th>User<th>Ticket<th>Why<th>State${stops && html`<td>`}
<tbody>${records.map((record) => rowOf(visit, record, people, stops))}</table>`
}

function rowOf(visit: Visit, record: SubjectTokenRecord, people: People, stops: boolean): Html {
  const { base, now, options } = visit
  const { id, userId, createdAt, context } = record
  const engineer = engineerOf(record)
  const stop: Value =
    isStoppableRecord(record, now) &&
    html`<a class="danger" href="${base}/${id}#stop" aria-label="Stop ${whomOf(record, people)}">Stop</a>`
  const personIn = (name: 'userId' | 'actorId', person: string): Value =>
    linkIn(addressOf(`${base}/history`, { [name]: person }), people.text(person))
  const who = engineer === undefined ? html`<em>not named</em>` : personIn('actorId', engineer)
  const why = shorten(whyIn(context))
  const cells = [
    who,
    personIn('userId', userId),
    ticketOf(context, options.ticketUrl),
    why,
    stateCell(record, now, people),
  ]
  return html`<tr><th><a href="${base}/${id}">${timeOf(createdAt, now)}</a>${[...cells, ...(stops ? [stop] : [])].map((cell) => html`<td>${cell}`)}
`
}

/** Who acts, or until it is used: who will have to. */
export const engineerOf = ({ actor, actorId, consumedAt }: SubjectTokenRecord): string | undefined =>
  consumedAt === undefined ? actorId : actor?.sub

/** Tells one record from the others. */
function whomOf(record: SubjectTokenRecord, people: People): string {
  const engineer = engineerOf(record)
  return `${engineer === undefined ? 'someone' : people.text(engineer)} viewing ${people.text(record.userId)}`
}

export function titleOf(record: SubjectTokenRecord, people: People): Html {
  const engineer = engineerOf(record)
  const who = engineer === undefined ? html`<em>no engineer named</em>` : people.short(engineer)
  return html`${who} → ${people.short(record.userId)}`
}

/** Names that deployments use in the context; it is free-form. */
export const ticketIn = (context: JsonObject) => textIn(context, ['ticketId', 'ticket_id', 'ticket'])
export const reasonIn = (context: JsonObject) => textIn(context, ['reason'])

const textIn = (context: JsonObject, names: readonly string[]): string | undefined =>
  names
    .map((name) => (Object.hasOwn(context, name) ? context[name] : undefined))
    .find((value) => typeof value === 'number' || (typeof value === 'string' && value.trim() !== ''))
    ?.toString()

/** The reason; without one and without a ticket, the context as it is. */
export const whyIn = (context: JsonObject): string =>
  reasonIn(context) ?? (ticketIn(context) === undefined ? JSON.stringify(context).replace(/^{}$/, '') : '')

/** The ticket, as a link where there is one. */
export function ticketOf(
  context: JsonObject,
  ticketUrl: ConsoleOptions['ticketUrl'],
  { longestText = 32, longestUrl = LONGEST_ADDRESS } = {},
): Value {
  const url = addressBy(ticketUrl, context)
  const text = ticketIn(context) ?? (url && 'Ticket')
  return text !== '' && linked(url.length <= longestUrl && url, shorten(text, longestText))
}

function addressBy(ticketUrl: ConsoleOptions['ticketUrl'], context: JsonObject): string {
  try {
    const url: unknown = ticketUrl?.(context)
    // A promise comes from a function that is asynchronous by mistake: unhandled, its rejection would end the process.
    if (typeof url === 'object') Promise.resolve(url).catch(() => undefined)
    return typeof url === 'string' ? url : ''
  } catch {
    return ''
  }
}
