/** Alarms as an inbox: what waits for a look, how many there are, and what was seen. */
import { expect } from 'chai'
import { now, type StoppedClock, stopClock } from '../../../fixtures/clock.ts'
import { type ConsoleDeployment, startConsole, type Written } from '../../../fixtures/console.ts'

const again = (replayedBy: string): Written => ({
  use: { actor: { sub: 'sam' }, clientId: 'desk' },
  replayedBy,
})

describe('console: alarms', () => {
  let clock: StoppedClock
  let console: ConsoleDeployment
  beforeEach(async () => {
    clock = stopClock()
    console = await startConsole()
  })
  afterEach(async () => {
    await console.close()
    clock.restore()
  })

  const inbox = async (path = '/alarms') => (await console.get(path)).text
  const titlesIn = (text: string) =>
    [...text.matchAll(/<section class="card group"><h2>(.*?)<\/h2>/g)].map(([, title]) => title)
  const countIn = (text: string) => /<b class="count">([^<]*)</.exec(text)?.[1]
  const sentBy = (text: string) =>
    [
      ...text.matchAll(/name="id" value="(\w{32})"><input type="hidden" name="replayedAt" value="(\d*)">/g),
    ].map((match) => match.slice(1))
  const olderIn = (text: string) =>
    /href="\/impersonations(\/alarms\?cursor=\w{32})" rel="next"/.exec(text)?.[1] ?? ''
  async function keep(count: number, record: Written = { use: {} }): Promise<string[]> {
    const ids: string[] = []
    while (ids.length < count) ids.push(await console.keep(record))
    return ids
  }

  it('stand by what has caused them, and send which replay of each was shown', async () => {
    const first = now()
    const others = await keep(4, again('other-app'))
    clock.tick(60)
    const [third] = await keep(1, again('third-app'))
    const [alone] = await keep(1, { use: { clientId: 'desk' } })
    await keep(1, { use: { actor: { sub: 'sam' } } })
    const text = await inbox()
    expect(titlesIn(text)).to.deep.equal([
      'No engineer named: <bdi>desk</bdi>, 1 time',
      'Reused token: <bdi>third-app</bdi>, 1 time',
      'Reused token: <bdi>other-app</bdi>, 4 times',
    ])
    for (const part of [
      '<small>and 1 more</small>',
      'Mark all 4 as seen',
      '<a href="/impersonations/history?clientId=other-app">All records for',
      '<b class="pill alarm">1 still live</b>',
    ])
      expect(text).to.include(part)
    expect(sentBy(text)).to.deep.equal([
      [alone, ''],
      [third, String(first + 60)],
      ...others.reverse().map((id) => [id, String(first)]),
    ])
  })

  it('are counted on every page: at most every ten seconds, and at once after one was marked as seen', async () => {
    const counted = async (path: string) => countIn(await inbox(path))
    expect(await counted('/history')).to.equal(undefined)
    const [id] = await keep(1)
    expect(await counted('/history')).to.equal(undefined)
    clock.tick(10)
    for (const path of ['', '/history', '/alarms', '/search?q=x'])
      expect(await counted(path), path).to.equal('1')
    await console.post('/acknowledge', { id, replayedAt: '', note: 'a job of ours' })
    expect(await counted('/alarms')).to.equal(undefined)
    await keep(99)
    clock.tick(10)
    expect(await counted('/alarms')).to.equal('99')
    await keep(2)
    clock.tick(10)
    const text = await inbox()
    expect(countIn(text)).to.equal('99+')
    expect(text).to.include('Mark all 100 as seen')
    expect(await inbox(olderIn(text))).to.include('Mark as seen')
  })

  it('of more than six applications lead to the others, each once', async () => {
    const ids: string[] = []
    for (let number = 0; number < 8; number += 1) ids.push(...(await keep(2, again(`app-${number}`))))
    const first = await inbox()
    expect(titlesIn(first)).to.have.length(6)
    const second = await inbox(olderIn(first))
    expect(titlesIn(second)).to.deep.equal([
      'Reused token: <bdi>app-1</bdi>, 2 times',
      'Reused token: <bdi>app-0</bdi>, 2 times',
    ])
    expect([...sentBy(first), ...sentBy(second)].map(([id]) => id)).to.have.members(ids)
  })
})
