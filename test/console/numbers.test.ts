/** The numbers of Now: cards, a chart of 30 days, and the same numbers as a table. */
import { expect } from 'chai'
import { type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'

const DAY = 86_400

describe('console: the numbers of Now', () => {
  let clock: StoppedClock
  let console: ConsoleDeployment
  before(async () => {
    const noon = Math.floor(Date.now() / 1000 / DAY) * DAY + DAY / 2
    // The day before yesterday: ids are not of the future.
    clock = stopClock((noon - 2 * DAY) * 1000)
    console = await startConsole()
    await console.keep({ use: { actor: { sub: 'sam' } } })
    clock.tick(DAY)
    for (let number = 0; number < 4; number += 1) await console.keep()
  })
  after(async () => {
    await console.close()
    clock.restore()
  })

  /** The page, once its numbers are counted. */
  async function counted(isCounted: (text: string) => boolean = () => true): Promise<string> {
    let text = ''
    for (let attempts = 0; attempts < 100; attempts += 1) {
      text = (await console.get()).text
      if (!text.includes('Counting') && isCounted(text)) break
    }
    return text
  }

  /** The bars as the chart draws them: each in the middle of its day, with the height of its count. */
  const barsOf = (heights: readonly number[]): string =>
    heights.map((height, day) => (height > 0 ? `M${(day + 28) * 10 + 5} 40v-${height}` : '')).join('')

  /** The last two rows of the table. */
  const rowsOf = (text: string): string[][] =>
    [...text.matchAll(/<tr><th>\d\d-\d\d((?:<td>\d+)+)/g)]
      .slice(0, 2)
      .map(([, cells = '']) => cells.split('<td>').slice(1))

  it('are drawn in proportion to the day with the most', async () => {
    const text = await counted()
    expect(text).to.include('<small>Issued, last 30 days</small>')
    expect(text).to.match(
      /<small>\d{4}-\d\d-\d\d<\/small><small>Most on one day: 4<\/small><small>\d{4}-\d\d-\d\d<\/small>/,
    )
    expect(text).to.include('<svg viewBox="0 0 300 40"').and.to.include('<path d="M0 39.5h300"/>')
    expect(text).to.include(`<path class="bar" d="${barsOf([10, 40])}"/>`)
    expect(text).to.include(`<path class="bar again" d="${barsOf([])}"/>`)
    expect(rowsOf(text)).to.deep.equal([
      ['4', '0', '0', '0', '0', '0'],
      ['1', '1', '0', '0', '0', '0'],
    ])
  })

  it('mark what was used again', async () => {
    await console.keep({ use: { actor: { sub: 'sam' } }, replayedBy: 'thief' })
    // Counts are kept for a minute.
    clock.tick(61)
    const text = await counted((page) => page.includes('</i> used again'))
    expect(text).to.include('<small>Issued, last 30 days <i class="again"></i> used again</small>')
    expect(text).to.include(`<path class="bar" d="${barsOf([8, 40])}"/>`)
    expect(text).to.include(`<path class="bar again" d="${barsOf([0, 8])}"/>`)
    expect(rowsOf(text)[0]).to.deep.equal(['5', '1', '0', '0', '1', '1'])
  })

  it('keep what was ended apart from what was stopped', async () => {
    for (const cause of ['self', 'continued', 'console'] as const)
      await console.keep({ use: { actor: { sub: 'sam' } }, revocation: { cause } })
    clock.tick(61)
    const text = await counted((page) => rowsOf(page)[0]?.[0] === '8')
    expect(text).to.include('<th>Ended<th>Stopped<th>')
    expect(rowsOf(text)[0]).to.deep.equal(['8', '4', '0', '2', '2', '1'])
  })
})
