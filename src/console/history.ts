import { listSubjectTokens } from '../management/inspect.ts'
import { fitting } from './cut.ts'
import { type Html, html } from './html.ts'
import { pageOf } from './page.ts'
import { addressOf, pager } from './pager.ts'
import { recordTable } from './records.ts'
import { inputErrorOf } from './refusal.ts'
import { searchOf, type Typed, typedIn } from './search.ts'
import { stopAllLinks } from './stop-all-form.ts'
import { errorLine } from './stop-form.ts'
import { namesIn, type Visit } from './visit.ts'
import { sentenceOf } from './words.ts'

/** All records, filtered. */
export async function showHistory(visit: Visit): Promise<void> {
  const { ctx, service, lookup } = visit
  const typed = typedIn(ctx.querystring)
  let error: string | undefined
  const request = (() => {
    try {
      return searchOf(ctx.querystring)
    } catch (thrown) {
      error = sentenceOf(inputErrorOf(thrown))
      return undefined
    }
  })()
  const { items, nextCursor } = request ? await listSubjectTokens(service, lookup, request) : { items: [] }
  const names = await namesIn(visit, items)
  const { cursor, ...filter } = typed
  if (error !== undefined) ctx.status = 400
  ctx.body = fitting((lengths) =>
    pageOf(visit, {
      title: 'History',
      at: '/history',
      who: names.short(visit.administrator.id),
      body: html`<h1>History</h1>
${errorLine(error)}${filterForm(visit, filter)}
${request && recordTable(visit, items, names, emptyText(filter, nextCursor), lengths)}
${pager(visit, '/history', filter, { cursor, nextCursor })}`,
    }),
  )
}

/** A page may be empty although there are more. */
function emptyText(filter: Typed, nextCursor: string | undefined): string {
  if (nextCursor !== undefined) return 'None on this page. There may be older ones.'
  return Object.keys(filter).length === 0
    ? 'No one has been impersonated yet.'
    : 'No record matches this filter.'
}

const STATES = [
  ['', 'Any state'],
  ['live', 'Live now'],
  ['active', 'Not used yet'],
  ['consumed', 'Used, not stopped'],
  ['expired', 'Never used'],
  ['revoked', 'Stopped'],
] as const

function filterForm(visit: Visit, filter: Typed): Html {
  const { base } = visit
  const field = (
    name: 'userId' | 'actorId' | 'clientId' | 'createdBy' | 'from' | 'to',
    label: string,
    type?: 'date',
  ) =>
    html`<label>${label}<input name="${name}"${type && html` type="${type}"`}${filter[name] !== undefined && html` value="${filter[name]}"`}></label>`
  const option = ([value, label]: (typeof STATES)[number]) =>
    html`<option value="${value}"${(filter.state ?? '') === value && html` selected`}>${label}</option>`
  const isFiltered = Object.keys(filter).length > 0
  return html`<form class="filter" method="get" action="${base}/history" role="search" autocomplete="off">${field('userId', 'User')}${field('actorId', 'Engineer')}${field('clientId', 'Application')}${field('createdBy', 'Backend')}
<label>State<select name="state">${STATES.map(option)}</select></label>${field('from', 'From', 'date')}${field('to', 'To', 'date')}
<p><button>Filter</button>${isFiltered && html`<a href="${base}/history">Clear</a>`}
<a href="${addressOf(`${base}/history.csv`, filter)}" download title="Up to 10,000 records">Export CSV</a>${stopAllLinks(visit, filter)}</p></form>`
}
