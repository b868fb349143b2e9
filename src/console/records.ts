/** Pages of records: the table of Now, History and Alarms. */
import type { JsonObject } from '../plain-json.ts'
import { type ListRequest, listSubjectTokens, parseListRequest, type RecordPage } from '../records/list.ts'
import type { SubjectTokenRecord } from '../records/record.ts'
import { addressOf } from './form.ts'
import { type Html, html, type Look } from './html.ts'
import type { ConsoleOptions } from './options.ts'
import { linked, short } from './people.ts'
import { canStop, stateCell } from './state.ts'
import { may, type Visit } from './visit.ts'
import { ago, clockOf, cut, TEXT } from './words.ts'

const ROWS = 25

/** What to look for, as it was typed. A blank member counts as absent. */
export type Search = Readonly<Record<string, string | number | boolean | undefined>>

export const requestOf = (search: Search, limit: number): ListRequest =>
  parseListRequest({
    ...Object.fromEntries(Object.entries(search).filter(([, value]) => value !== '')),
    limit,
  })

type Pages = AsyncGenerator<RecordPage>

/** At most so many, one after the other. */
export async function* pagesOf({ service, lookup }: Visit, first: ListRequest, most: number): Pages {
  let request = first
  for (let read = 0; read < most; read += 1) {
    const page = await listSubjectTokens(service, lookup, request)
    yield page
    if (page.nextCursor === undefined) return
    request = { ...first, cursor: page.nextCursor }
  }
}

/** A table, and links to the first page and to the next. `empty` is said where there are none. */
export async function recordList(visit: Visit, search: Search, empty: string): Promise<Html> {
  const { service, lookup, ctx, base, path } = visit
  const { items, nextCursor } = await listSubjectTokens(service, lookup, requestOf(search, ROWS))
  const link = (label: string, cursor?: string) => {
    const query = { ...Object.fromEntries(new URLSearchParams(ctx.querystring)), cursor }
    return html`<a class="button" href="${addressOf(base + path || '/', query)}"${cursor && html` rel="next"`}>${label}</a>`
  }
  const newest = search.cursor !== undefined && link('Newest')
  const older = nextCursor !== undefined && link('Older', nextCursor)
  const none = older ? 'None on this page. There may be older ones.' : empty
  return html`${items.length > 0 ? tableOf(visit, items) : html`<p class="card empty">${none}</p>`}
${(newest || older) && html`<nav class="line" aria-label="Pages">${newest}${older}</nav>`}`
}

/** End tags that HTML implies are left out. */
function tableOf(visit: Visit, records: readonly SubjectTokenRecord[]): Html {
  const stops = may(visit, 'stop') && records.some((record) => canStop(record, visit.now))
  return html`<table class="records"><thead><tr><th>Engineer → user<th>Why<th>May<th>Started<th>State${stops && html`<td>`}
<tbody>${records.map((record) => rowOf(visit, record, stops))}</table>`
}

function rowOf({ base, now, options }: Visit, record: SubjectTokenRecord, stops: boolean): Html {
  const { id, usedBy, clientId, createdBy, resource, scope, createdAt, context } = record
  const where = [resource ?? 'any resource']
    .flat()
    .join(', ')
    .replaceAll(/https?:\/\//g, '')
  const stop = canStop(record, now) && html`<a class="danger" href="${base}/${id}#stop">Stop</a>`
  return html`<tr><th><a href="${base}/${id}">${titleOf(record)}</a><small>${cut(usedBy ?? clientId ?? createdBy)}</small>
<td>${whyOf(context, options.ticketUrl)}
<td>${scope !== undefined && html`<code>${cut(scope)}</code>`}<small>${cut(where)}</small>
<td>${ago(createdAt, now)} <small>${clockOf(createdAt, now)}</small>
<td>${stateCell(record, now)}${stops && html`<td>${stop}`}
`
}

/** Who acts, or until it is used: who will have to. */
export const engineerOf = ({ actor, actorId, consumedAt }: SubjectTokenRecord): string | undefined =>
  consumedAt === undefined ? actorId : actor?.sub

export function titleOf(record: SubjectTokenRecord): Html {
  const engineer = engineerOf(record)
  return html`${engineer === undefined ? html`<em>no engineer named</em>` : short(engineer)} → ${short(record.userId)}`
}

/** Names that deployments use in the context; it is free-form. */
export const ticketIn = (context: JsonObject) => textIn(context, ['ticketId', 'ticket_id', 'ticket'])
export const reasonIn = (context: JsonObject) => textIn(context, ['reason'])

const textIn = (context: JsonObject, names: readonly string[]): string | undefined =>
  names
    .map((name) => (Object.hasOwn(context, name) ? context[name] : undefined))
    .find((value) => typeof value === 'number' || (typeof value === 'string' && value.trim() !== ''))
    ?.toString()

/** The ticket, as a link where there is one, and the reason; else the context as it is. */
export function whyOf(context: JsonObject, ticketUrl: ConsoleOptions['ticketUrl'], longest = TEXT): Html {
  const url = addressBy(ticketUrl, context)
  const ticket = ticketIn(context)
  const other = ticket === undefined ? JSON.stringify(context).replace(/^{}$/, '') : ''
  // A long address would make a row long.
  const link = ({ share }: Look) =>
    linked(url.length <= longest * share && url, cut(ticket ?? (url && 'Ticket')))
  return html`${link} <bdi>${cut(reasonIn(context) ?? other, longest)}</bdi>`
}

function addressBy(ticketUrl: ConsoleOptions['ticketUrl'], context: JsonObject): string {
  try {
    const url: unknown = ticketUrl?.(context)
    // Of a function that is asynchronous by mistake: unhandled, a rejection would end the process.
    if (typeof url === 'object') Promise.resolve(url).catch(() => undefined)
    return typeof url === 'string' ? url : ''
  } catch {
    return ''
  }
}
