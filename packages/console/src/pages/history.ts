import type { RecordQuery, Seconds, SubjectTokenState } from 'oidc-provider-impersonation'
import { type Html, html, invalidRequest, single, type Value } from 'oidc-provider-impersonation/inside'
import { addressOf, field, type Typed, tried, typedIn } from '../form.ts'
import { namedIn, type People } from '../people.ts'
import { listed, PLACE, tableOf } from '../table.ts'
import { type Page, peopleOf, stopAllLinks, type Visit } from '../visit.ts'
import { capital, dateOf, LABELS } from '../words.ts'

const PERSONS = ['userId', 'actorId'] as const
const FILTER = [...PERSONS, 'clientId', 'createdBy', 'ticketId', 'state', 'from', 'to'] as const
type Filter = Typed<(typeof FILTER)[number]>

export async function historyPage(visit: Visit): Promise<Page> {
  const { querystring } = visit.ctx
  const filter = typedIn(querystring, FILTER)
  const { result: list, error } = await tried(async () =>
    listed(visit, queryIn(querystring), typedIn(querystring, [...FILTER, ...PLACE])),
  )
  const items = list?.items ?? []
  const people = await peopleOf(visit, [...namedIn(items), ...PERSONS.flatMap((name) => filter[name] ?? [])])
  const chips = chipsOf(visit, filter, people)
  const caption = chips.length > 0 ? 'Records that match the filter' : 'All records'
  const table = list && tableOf(visit, list, people, { caption, empty: emptyOf(visit, filter, people) })
  return {
    title: 'History',
    people,
    error,
    body: html`<h1>History</h1>
<p class="line">${chips}${timesOf(visit, filter)}<a class="button" href="${addressOf(`${visit.base}/history.csv`, filter)}" download title="Up to 10,000 records">Export CSV</a>${stopAllLinks(visit, filter)}</p>
<details id="filter"${error && html` open`}><summary id="filters">Filter</summary>${formOf(visit, filter)}</details>
${table}`,
  }
}

/** The filters in force, each with a link that drops it. */
function chipsOf({ base }: Visit, filter: Filter, people: People): Html[] {
  return Object.entries(filter)
    .filter(([, value]) => value !== undefined)
    .map(([name, value = '']) => {
      const label = LABELS[name] ?? name
      const text: Value = PERSONS.some((person) => person === name)
        ? people.short(value)
        : html`<bdi>${name === 'state' ? (STATES[value] ?? value) : value}</bdi>`
      const without = addressOf(`${base}/history`, { ...filter, [name]: undefined })
      return html`<a class="chip" href="${without}">${capital(label)}: ${text} <span aria-hidden="true">×</span><span class="hidden">(remove)</span></a>`
    })
}

const DAY: Seconds = 86_400

/** Days and months that are asked for most, in UTC as the records are counted. */
function timesOf({ base, now }: Visit, filter: Filter): Html {
  const today = dateOf(now)
  const month = (back: number) => {
    const [year = 0, number = 1] = today.split('-').map(Number)
    const first = (place: number) => Date.UTC(year, number - 1 - place, 1) / 1000
    const name = new Date(first(back) * 1000).toLocaleDateString('en', {
      month: 'long',
      year: 'numeric',
      timeZone: 'UTC',
    })
    return [name, dateOf(first(back)), dateOf(first(back - 1) - DAY)] as const
  }
  const times = [
    ['Today', today, today],
    ['7 days', dateOf(now - 6 * DAY), today],
    month(0),
    month(1),
    month(2),
  ] as const
  const links = times.map(([name, from, to]) => {
    const current = filter.from === from && filter.to === to && html` aria-current="true"`
    return html`<a href="${addressOf(`${base}/history`, { ...filter, from, to })}"${current}>${name}</a>`
  })
  return html`<span class="tabs">${links}</span>`
}

/** The text of an empty list: that no one was found must not read as if nothing had been done. */
function emptyOf({ base }: Visit, filter: Filter, people: People): Value {
  if (Object.values(filter).every((value) => value === undefined)) return 'No one has been impersonated yet.'
  const unknown = PERSONS.flatMap((name) => filter[name] ?? []).find((id) => !people.isKnown(id))
  const search = unknown !== undefined && addressOf(`${base}/search`, { q: unknown })
  return html`No record matches this filter.${search && html` No one is known by the account id <bdi>${unknown}</bdi>: <a href="${search}">search for it</a>.`}`
}

const STATES: Readonly<Record<string, string>> = {
  live: 'Live now',
  active: 'Not used yet',
  consumed: 'Used, not stopped',
  expired: 'Never used',
  revoked: 'Stopped or ended',
}

function formOf({ base }: Visit, { state = '', from, to, ...names }: Filter): Html {
  const option = ([value, label]: readonly [string, string]) =>
    html`<option value="${value}"${state === value && html` selected`}>${label}</option>`
  const day = html` type="date"`
  return html`<form class="filter" action="${base}/history" autocomplete="off">${field('User', 'userId', names.userId)}${field('Engineer', 'actorId', names.actorId)}
${field('Application', 'clientId', names.clientId)}${field('Backend', 'createdBy', names.createdBy)}
${field('Ticket', 'ticketId', names.ticketId)}<label>State<select name="state">${[['', 'Any state'] as const, ...Object.entries(STATES)].map(option)}</select></label>
${field('From (UTC)', 'from', from, day)}${field('To', 'to', to, day)}
<p class="line"><button>Filter</button><a class="button" href="${base}/history">Clear</a></p></form>`
}

/** The typed filters, as a query for records. */
export function queryIn(query: string): RecordQuery {
  const { state, from, to, skipped: _, ...names } = single(query, [...FILTER, ...PLACE])
  const [first, last] = [from ? dayOf('from', from) : undefined, to ? dayOf('to', to) : undefined]
  if (first !== undefined && last !== undefined && first > last)
    throw invalidRequest({ field: 'from', public: 'from must not be after to' })
  return {
    ...Object.fromEntries(Object.entries(names).filter(([, value]) => value !== '')),
    ...(state === 'live' ? { live: true } : state && { state: state as SubjectTokenState }),
    ...(first !== undefined && { createdAfter: first }),
    ...(last !== undefined && { createdBefore: last + DAY }),
  }
}

function dayOf(name: string, value: string): Seconds {
  const at = Date.parse(`${value}T00:00:00Z`) / 1000
  // Dates such as 31 February are read as others.
  if (at >= 0 && dateOf(at) === value) return at
  throw invalidRequest({ field: name, public: `${name} must be a date such as 2026-11-21` })
}
