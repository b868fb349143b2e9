import { setTimeout as wait } from 'node:timers/promises'
import { single } from '../management/query.ts'
import type { Service } from '../provider/settings.ts'
import { listSubjectTokens } from '../records/list.ts'
import { type RecordSummary, summarizeSubjectTokens } from '../records/summary.ts'
import { type Html, html, type Value } from './html.ts'
import { short } from './people.ts'
import { recordList } from './records.ts'
import { personForms } from './stop-all.ts'
import { may, type Page, type Visit } from './visit.ts'
import { clockOf, cut } from './words.ts'

export async function nowPage(visit: Visit): Promise<Page> {
  const { cursor } = single(visit.ctx.querystring, ['cursor'])
  const [list, alarm, numbers] = await Promise.all([
    recordList(visit, { live: true, cursor }, 'No one is being viewed right now.'),
    lastReplay(visit),
    numbersFor(visit),
  ])
  const stopAll = html`<details id="all"><summary id="all-of" class="danger">Stop all of a person …</summary>${personForms(visit)}</details>`
  return {
    title: 'Now',
    refresh: numbers ? 15 : 2,
    body: html`<h1>Now</h1>
${alarm}${cardsOf(visit, numbers)}
<h2>Being viewed now</h2>
${list}
${may(visit, 'stopAll') && stopAll}`,
  }
}

async function lastReplay({ service, lookup, now, base }: Visit): Promise<Value> {
  const filter = { replayed: true, createdAfter: now - 86_400 }
  const [record] = (await listSubjectTokens(service, lookup, { filter, limit: 1 })).items
  if (!record?.replay) return undefined
  const { id, userId, replay } = record
  return html`<p class="alarm"><strong>Used again.</strong> A spent subject token for ${short(userId)} was presented again by <code>${cut(replay.clientId ?? replay.by ?? '')}</code> at ${clockOf(replay.at, now)}. <a href="${base}/${id}">Look into it</a></p>`
}

const DAYS = 30
/** Milliseconds that a page waits for numbers. */
const PATIENCE = 20

const counted = new WeakMap<Service, RecordSummary>()

/** The last ones, while new ones are being counted. */
async function numbersFor({ service, lookup }: Visit): Promise<RecordSummary | undefined> {
  const counting = summarizeSubjectTokens(service, DAYS)
    .then((summary) => counted.set(service, summary))
    .catch(lookup.report)
  await Promise.race([counting, wait(PATIENCE, undefined, { ref: false })])
  return counted.get(service)
}

function cardsOf({ base }: Visit, { live, days }: Partial<RecordSummary> = {}): Html {
  const card = (label: Value, count: number | undefined, since?: string) =>
    html`<div class="card"><small>${label}</small><b>${count?.toLocaleString('en') ?? '…'}</b><small>${since}</small></div>`
  const alarms = (show: 'replayed' | 'withoutActor', label: string) => {
    const link = html`<a href="${base}/alarms?show=${show}">${label}</a>`
    const sum = days?.reduce((total, day) => total + day[show], 0)
    return card(link, sum, `in ${DAYS} days`)
  }
  return html`<div class="cards">${card('Live now', live)}${card('Issued today', days?.at(-1)?.issued)}
${alarms('replayed', 'Used again')}${alarms('withoutActor', 'Without engineer')}
<div class="card">${days ? chartOf(days) : html`<small>Counting …</small>`}</div></div>`
}

const HEIGHT = 40
const STEP = 10

/** Subject tokens issued each day, those that were used again marked; the same numbers as a table. */
function chartOf(days: RecordSummary['days']): Html {
  const highest = Math.max(1, ...days.map(({ issued }) => issued))
  const width = days.length * STEP
  const heightOf = (count: number) => Math.ceil((count / highest) * HEIGHT)
  const bars = (kind: 'issued' | 'replayed') =>
    days.map((day, place) => `M${(place + 0.5) * STEP} ${HEIGHT}v-${heightOf(day[kind])}`)
  const marked = days.some(({ replayed }) => replayed > 0) && ' (used again: red)'
  const row = ({
    date,
    issued,
    exchanged,
    withoutActor,
    ended,
    revoked,
    replayed,
  }: RecordSummary['days'][number]) =>
    html`<tr><th>${date.slice(5)}${[issued, exchanged, withoutActor, ended, revoked, replayed].map((count) => html`<td>${count}`)}`
  return html`<small>Issued, last ${DAYS} days${marked}</small>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><path d="M0 ${HEIGHT - 0.5}h${width}"/><path class="bar" d="${bars('issued')}"/><path class="bar bad" d="${bars('replayed')}"/></svg>
<details id="chart"><summary id="chart-table">As a table</summary><table class="numbers"><thead><tr><th>Day<th>Issued<th>Used<th>No engineer<th>Ended<th>Stopped<th>Used again<tbody>${days.toReversed().map(row)}</table></details>`
}
