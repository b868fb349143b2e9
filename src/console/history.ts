import type { Seconds } from '../clock.ts'
import { invalidRequest } from '../http/errors.ts'
import { single } from '../management/query.ts'
import { addressOf, field, type Typed, tried, typedIn } from './form.ts'
import { type Html, html } from './html.ts'
import { recordList, type Search } from './records.ts'
import { stopAllLinks } from './stop-all.ts'
import type { Page, Visit } from './visit.ts'
import { dateOf } from './words.ts'

const FILTER = ['userId', 'actorId', 'clientId', 'createdBy', 'ticketId', 'state', 'from', 'to'] as const

export async function historyPage(visit: Visit): Promise<Page> {
  const query = visit.ctx.querystring
  const filter = typedIn(query, FILTER)
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  const empty = isFiltered ? 'No record matches this filter.' : 'No one has been impersonated yet.'
  const { result: list, error } = await tried(() => recordList(visit, searchOf(query), empty))
  const address = `${visit.base}/history`
  const clear = isFiltered && html`<a class="button" href="${address}">Clear</a>`
  return {
    title: 'History',
    error,
    body: html`<h1>History</h1>
<form class="filter" action="${address}" role="search" autocomplete="off">${fieldsOf(filter)}
<p class="line"><button>Filter</button>${clear}
<a class="button" href="${addressOf(`${address}.csv`, filter)}" download title="Up to 10,000 records">Export CSV</a>${stopAllLinks(visit, filter)}</p></form>
${list}`,
  }
}

const STATES = Object.entries({
  '': 'Any state',
  live: 'Live now',
  active: 'Not used yet',
  consumed: 'Used, not stopped',
  expired: 'Never used',
  revoked: 'Ended or stopped',
})

function fieldsOf({ userId, actorId, clientId, createdBy, ticketId, state = '', from, to }: Typed): Html {
  const option = ([value, label]: readonly [string, string]) =>
    html`<option value="${value}"${state === value && html` selected`}>${label}</option>`
  const day = html` type="date"`
  return html`${field('User', 'userId', userId)}${field('Engineer', 'actorId', actorId)}
${field('Application', 'clientId', clientId)}${field('Backend', 'createdBy', createdBy)}
${field('Ticket', 'ticketId', ticketId)}<label>State<select name="state">${STATES.map(option)}</select></label>
${field('From', 'from', from, day)}${field('To', 'to', to, day)}`
}

const DAY: Seconds = 86_400

/** What was typed, as the management API is asked for it. */
export function searchOf(query: string): Search {
  const { state, from, to, ...others } = single(query, [...FILTER, 'cursor'])
  return {
    ...others,
    ...(state === 'live' ? { live: true } : { state }),
    createdAfter: from && dayOf('from', from),
    createdBefore: to && dayOf('to', to) + DAY,
  }
}

function dayOf(name: string, value: string): Seconds {
  const at = Date.parse(`${value}T00:00:00Z`) / 1000
  // Dates such as 31 February are read as others.
  if (at >= 0 && dateOf(at) === value) return at
  throw invalidRequest({ public: `${name} must be a date such as 2026-11-21` })
}
