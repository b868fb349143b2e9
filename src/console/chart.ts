import { type Html, html } from './html.ts'
import type { Summary } from './numbers.ts'

const HEIGHT = 40
const STEP = 10

/** Subject tokens issued each day, those that were used again marked; the same numbers as a table. */
export function chartOf(days: Summary['days']): Html {
  const highest = Math.max(1, ...days.map(({ issued }) => issued))
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(1, Math.round((count / highest) * HEIGHT)))
  const bar = (count: number, place: number, kind: string) =>
    count > 0 &&
    html`<rect class="${kind}" x="${place * STEP}" y="${HEIGHT - heightOf(count)}" width="8" height="${heightOf(count)}"/>`
  return html`<div class="card"><span>Issued, last ${days.length} days${days.some(({ replayed }) => replayed > 0) && ' (used again: red)'}</span>
<svg viewBox="0 0 ${days.length * STEP} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><path d="M0 ${HEIGHT - 0.5}h${days.length * STEP}"/>${days.map(
    ({ issued, replayed }, place) => [bar(issued, place, 'bar'), bar(replayed, place, 'bar bad')],
  )}</svg>
<details id="chart"><summary id="chart-table">As a table</summary><table class="numbers"><thead><tr><th>Day<th>Issued<th>Used<th>No engineer<th>Stopped<th>Used again<tbody>${days
    .toReversed()
    .map(
      ({ date, issued, exchanged, withoutActor, revoked, replayed }) =>
        html`<tr><th>${date.slice(5)}${[issued, exchanged, withoutActor, revoked, replayed].map((count) => html`<td>${count}`)}`,
    )}</table></details></div>`
}
