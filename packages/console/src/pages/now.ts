import { setTimeout as wait } from 'node:timers/promises'
import type { RecordSummary, Seconds, SubjectTokenRecord } from 'oidc-provider-impersonation'
import { type Html, html, type Service, single, type Value } from 'oidc-provider-impersonation/inside'
import { newestAlarms } from '../newest-alarms.ts'
import { namedIn, type People } from '../people.ts'
import { listed, PLACE, tableOf } from '../table.ts'
import { type Page, peopleOf, type Visit } from '../visit.ts'
import { shorten, timeOf } from '../words.ts'

export async function nowPage(visit: Visit): Promise<Page> {
  const typed = single(visit.ctx.querystring, PLACE)
  const [list, alarm, numbers] = await Promise.all([
    listed(visit, { live: true }, typed),
    newestAlarms(visit).then(({ items }) => items.find(({ replay }) => replay)),
    numbersFor(visit),
  ])
  const people = await peopleOf(visit, namedIn(alarm ? [...list.items, alarm] : list.items))
  const about = { caption: 'Being viewed now', empty: 'No one is being viewed right now.' }
  return {
    title: 'Now',
    people,
    refresh: numbers ? 15 : 2,
    body: html`<h1>Now</h1>
${alarm && warningOf(visit, alarm, people)}
${tableOf(visit, list, people, about)}
${numbersOf(visit, list.total, numbers)}`,
  }
}

/** The warning of the newest alarm that no one has looked into. */
function warningOf({ base, now }: Visit, { id, userId, replay }: SubjectTokenRecord, people: People): Html {
  const by = shorten(replay?.clientId ?? replay?.by ?? '', 32)
  return html`<p class="alarm"><strong>Reused token.</strong> A spent subject token for ${people.short(userId)} was presented again by <code>${by}</code> at ${timeOf(replay?.at ?? now, now)}. <a href="${base}/${id}">Look into it</a></p>`
}

const DAYS = 30
/** Milliseconds that a page waits for numbers. */
const PATIENCE = 20

interface Counted {
  readonly at: Seconds
  readonly summary: RecordSummary
}

const counted = new WeakMap<Service, Counted>()

/** The last ones, while new ones are being counted. */
async function numbersFor({ service, records, now, report }: Visit): Promise<Counted | undefined> {
  const counting = records
    .summary({ days: DAYS })
    .then((summary) => counted.set(service, { at: now, summary }))
    .catch(report)
  await Promise.race([counting, wait(PATIENCE, undefined, { ref: false })])
  return counted.get(service)
}

/** The live records were read with the page, unless the list is too long. */
function numbersOf({ base, now }: Visit, total: number | undefined, known: Counted | undefined): Html {
  const { days, live } = known?.summary ?? {}
  const card = (label: Value, count: number | undefined, since?: Value) =>
    html`<div class="card"><dt>${label}</dt><dd><b>${count?.toLocaleString('en') ?? '…'}</b>${since && html`<small>${since}</small>`}</dd></div>`
  const alarms = (show: 'replayed' | 'withoutActor', label: string) => {
    const sum = days?.reduce((all, day) => all + day[show], 0)
    return card(html`<a href="${base}/alarms?show=${show}">${label}</a>`, sum, `in ${DAYS} days`)
  }
  const asOf = html`as of ${timeOf(now, now)}`
  return html`<dl class="cards">${card('Live now', total ?? live, total !== undefined && asOf)}${card('Issued today', days?.at(-1)?.issued)}
${alarms('replayed', 'Reused token')}${alarms('withoutActor', 'No engineer named')}</dl>
<p><small>${known ? html`Counted at most a minute before ${timeOf(known.at, now)}.` : 'Counting …'}</small></p>
${days && html`<section class="card">${daysOf(days)}</section>`}`
}

/** The counts of subject tokens by day, the newest first. */
function daysOf(days: RecordSummary['days']): Html {
  const row = ({ date, ...counts }: RecordSummary['days'][number]) => {
    const { issued, exchanged, withoutActor, ended, revoked, replayed } = counts
    return html`<tr><th>${date.slice(5)}${[issued, exchanged, withoutActor, ended, revoked, replayed].map((count) => html`<td>${count}`)}`
  }
  return html`<details id="days"><summary id="by-day">Issued, last ${DAYS} days</summary><table class="numbers"><caption>Subject tokens by day of issue (UTC)</caption><thead><tr><th>Day<th>Issued<th>Used<th>No engineer<th>Ended<th>Stopped<th>Reused token<tbody>${days.toReversed().map(row)}</table></details>`
}
