/** A bar chart as SVG, readable on light and dark backgrounds. */
export interface Bar {
  readonly label: string
  readonly value: number
  readonly min: number
  readonly max: number
  /** Written after the bar. */
  readonly text: string
}

const WIDTH = 860
const LABELS = 170
const BARS = 470
const LINE = 34
const TOP = 74

const STYLE = `
  text { font: 14px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .note { font-size: 12px; fill: #59636e }
  .bar { fill: #0969da }
  .spread { stroke: #1f2328; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .note { fill: #9198a1 }
    .bar { fill: #4493f8 }
    .spread { stroke: #f0f6fc }
  }`

export function barChart(title: string, note: string, bars: readonly Bar[]): string {
  const longest = Math.max(...bars.map(({ max }) => max))
  const x = (value: number) => (LABELS + (value / longest) * BARS).toFixed(1)
  const lines = bars.map(({ label, value, min, max, text }, index) => {
    const y = TOP + index * LINE
    const middle = y + 10
    return `
  <text x="${LABELS - 10}" y="${y + 15}" text-anchor="end">${escaped(label)}</text>
  <rect class="bar" x="${LABELS}" y="${y}" width="${(Number(x(value)) - LABELS).toFixed(1)}" height="20" rx="2"/>
  <line class="spread" x1="${x(min)}" y1="${middle}" x2="${x(max)}" y2="${middle}"/>
  <text x="${Number(x(max)) + 10}" y="${y + 15}">${escaped(text)}</text>`
  })
  const height = TOP + bars.length * LINE + 8
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">
  <style>${STYLE}
  </style>
  <text class="title" x="16" y="28">${escaped(title)}</text>
  <text class="note" x="16" y="50">${escaped(note)}</text>${lines.join('')}
</svg>
`
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
