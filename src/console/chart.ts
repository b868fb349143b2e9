import { type Html, html } from './html.ts'
import type { Summary } from './numbers.ts'

const HEIGHT = 40
const STEP = 10

/** Subject tokens issued each day, those that were used again marked; the same numbers as a table. */
export function chartOf(days: Summary['days']): Html {
  const highest = Math.max(1, ...days.map(({ issued }) => issued))
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(1, Math.round((count / highest) * HEIGHT)))
  const bars = (counts: readonly number[]) =>
    counts
      .map((count, place) => (count > 0 ? `M${(place + 0.5) * STEP} ${HEIGHT}v-${heightOf(count)}` : ''))
      .join('')
  return html`<div class="card"><span>Issued, last ${days.length} days${days.some(({ replayed }) => replayed > 0) && ' (used again: red)'}</span>
<svg viewBox="0 0 ${days.length * STEP} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><path d="M0 ${HEIGHT - 0.5}h${days.length * STEP}"/><path class="bar" d="${bars(days.map(({ issued }) => issued))}"/><path class="bar bad" d="${bars(days.map(({ replayed }) => replayed))}"/></svg>
<details id="chart"><summary id="chart-table">As a table</summary><table class="numbers"><thead><tr><th>Day<th>Issued<th>Used<th>No engineer<th>Stopped<th>Used again<tbody>${days
    .toReversed()
    .map(
      ({ date, issued, exchanged, withoutActor, revoked, replayed }) =>
        html`<tr><th>${date.slice(5)}${[issued, exchanged, withoutActor, revoked, replayed].map((count) => html`<td>${count}`)}`,
    )}</table></details></div>`
}
