import { chartOf } from './chart.ts'
import { type Html, html } from './html.ts'
import type { Summary } from './numbers.ts'
import type { Visit } from './visit.ts'

/** Numbers in cards, and a chart. */
export function overview({ base }: Visit, summary: Summary | undefined): Html {
  const today = summary?.days.at(-1)
  const sum = (name: 'replayed' | 'withoutActor') =>
    summary?.days.reduce((total, day) => total + day[name], 0)
  return html`<div class="cards">${card('Live now', summary?.live)}${card('Issued today', today?.issued)}
${card(html`<a href="${base}/alarms">Used again</a>`, sum('replayed'), 'in 30 days')}
${card(html`<a href="${base}/alarms?show=withoutActor">Without engineer</a>`, sum('withoutActor'), 'in 30 days')}
${summary ? chartOf(summary.days) : html`<div class="card"><span>Counting …</span></div>`}</div>`
}

const NUMBER = new Intl.NumberFormat('en')

const card = (label: Html | string, count: number | undefined, since?: string): Html =>
  html`<div class="card"><span>${label}</span><b>${count === undefined ? '…' : NUMBER.format(count)}</b><small>${since}</small></div>`
