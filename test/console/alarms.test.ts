/** Alarms as an inbox: what waits for a look, how many there are, what each asks of the reader, and what was seen. */
import { expect } from 'chai'
import { now, type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import { show } from '../../fixtures/management.ts'

const bySam = { actor: { sub: 'sam' }, clientId: 'desk' }

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

  const inbox = async () => (await console.get('/alarms')).text
  const groupsIn = (text: string) =>
    [...text.matchAll(/<section class="card group"><h2>(.*?)<\/h2>/g)].map(([, title]) => title)
  const countIn = (text: string) => /<b class="count">([^<]*)</.exec(text)?.[1]

  it('stand by what has caused them', async () => {
    for (let number = 0; number < 4; number += 1) {
      await console.keep({ use: bySam, replayedBy: 'other-app' })
      clock.tick(60)
    }
    await console.keep({ use: bySam, replayedBy: 'third-app' })
    await console.keep({ use: { clientId: 'desk' } })
    await console.keep({ use: bySam })
    const text = await inbox()
    expect(groupsIn(text)).to.deep.equal([
      'Without engineer: <bdi>desk</bdi>, 1 time',
      'Used again: <bdi>third-app</bdi>, 1 time',
      'Used again: <bdi>other-app</bdi>, 4 times',
    ])
    expect(text).to.include('<small>and 1 more</small>').and.to.include('Mark all 4 as seen')
    expect(text).to.include('<a href="/impersonations/history?clientId=other-app">Everything of')
    expect(text).to.include('<b class="pill alarm">1 still live</b>')
  })

  it('are counted on every page, at most every ten seconds', async () => {
    expect(countIn((await console.get('/history')).text)).to.equal(undefined)
    await console.keep({ use: {} })
    expect(countIn((await console.get('/history')).text)).to.equal(undefined)
    clock.tick(10)
    for (const path of ['', '/history', '/alarms', '/search?q=x'])
      expect(countIn((await console.get(path)).text), path).to.equal('1')
    for (let number = 0; number < 98; number += 1) await console.keep({ use: {} })
    clock.tick(10)
    expect(countIn(await inbox())).to.equal('99')
    await console.keep({ use: {} })
    clock.tick(10)
    expect(countIn(await inbox())).to.equal('99+')
  })

  it('are counted at once after one was marked as seen', async () => {
    const id = await console.keep({ use: {} })
    expect(countIn(await inbox())).to.equal('1')
    const response = await console.post('/acknowledge', { id, replayedAt: '', note: 'a job of ours' })
    expect(response.status).to.equal(303)
    expect(response.headers.get('location')).to.equal('/impersonations/alarms')
    const text = await inbox()
    expect(countIn(text)).to.equal(undefined)
    expect(text).to.include('No alarms to look into.')
    expect((await console.get('/alarms?show=withoutActor')).text).to.include(id)
    expect((await show(console, id)).body.acknowledged).to.deep.equal([
      { at: now(), by: 'dora', note: 'a job of ours' },
    ])
  })

  it('send with the form which replay of each the page has shown', async () => {
    const again = await console.keep({ use: bySam, replayedBy: 'app' })
    const other = await console.keep({ use: bySam, replayedBy: 'app' })
    const alone = await console.keep({ use: {} })
    const text = await inbox()
    const pairs = [
      ...text.matchAll(/name="id" value="(\w{32})"><input type="hidden" name="replayedAt" value="(\d*)">/g),
    ].map((match) => match.slice(1))
    expect(pairs).to.deep.equal([
      [alone, ''],
      [other, String(now())],
      [again, String(now())],
    ])
    expect(
      text.match(/<form class="line" method="post" action="\/impersonations\/acknowledge"/g),
    ).to.have.length(2)
  })

  it('are not marked where they have changed since, and the page says so with the note', async () => {
    const id = await console.keep({ use: {} })
    const changed = await console.keep({ use: {}, replayedBy: 'thief' })
    const response = await console.post('/acknowledge', {
      id: [id, changed],
      replayedAt: ['', ''],
      note: 'ours "',
    })
    expect(response.status).to.equal(409)
    expect(response.text).to.include('role="alert">What was not marked has changed since this page was made')
    expect(response.text).to.include('name="note" value="ours &quot;"')
    expect((await show(console, id)).body.acknowledged).to.have.length(1)
    expect((await show(console, changed)).body).not.to.have.property('acknowledged')
  })

  it('offer no form to those who may not stop', async () => {
    const id = await console.keep({ use: {} })
    console.change({ authorize: () => ({ id: 'dora', can: ['see'] }) })
    for (const path of ['/alarms', `/${id}`])
      expect((await console.get(path)).text, path).not.to.include('/acknowledge')
  })

  it('of more than six applications lead to the others, each once', async () => {
    const ids: string[] = []
    for (let number = 0; number < 8; number += 1)
      for (const _ of [1, 2]) ids.push(await console.keep({ use: bySam, replayedBy: `app-${number}` }))
    const first = await inbox()
    expect(groupsIn(first)).to.have.length(6)
    const [, older = ''] = /href="\/impersonations(\/alarms\?cursor=\w{32})" rel="next"/.exec(first) ?? []
    const second = (await console.get(older)).text
    expect(groupsIn(second)).to.deep.equal([
      'Used again: <bdi>app-1</bdi>, 2 times',
      'Used again: <bdi>app-0</bdi>, 2 times',
    ])
    const sent = [...(first + second).matchAll(/name="id" value="(\w{32})"/g)].map(([, id]) => id)
    expect(sent.sort()).to.deep.equal(ids.sort())
  })

  it('of more than a hundred lead to the older ones', async () => {
    for (let number = 0; number < 101; number += 1) await console.keep({ use: {} })
    const text = await inbox()
    expect(text).to.include('Mark all 100 as seen')
    const [, older = ''] = /href="\/impersonations(\/alarms\?cursor=\w{32})" rel="next"/.exec(text) ?? []
    expect((await console.get(older)).text).to.include('Mark as seen')
  })

  describe('on the record', () => {
    const about = async (id: string) => {
      const { text } = await console.get(`/${id}`)
      const [, section = ''] = /<section class="card"><h2>(Alarm.*?)<\/section>/s.exec(text) ?? []
      return section
    }
    const time = (at: number) => `<time datetime="${new Date(at * 1000).toISOString().replace('.000', '')}">`

    it('say that nothing is open, and from when on APIs refuse it', async () => {
      const id = await console.keep({ use: bySam, replayedBy: 'app', revocation: { cause: 'replay' } })
      clock.tick(3)
      const text = await about(id)
      expect(text).to.include(`Nothing is open: it was stopped at ${time(now() - 3)}`)
      expect(text).to.include(`Every API refuses it from ${time(now() - 3 + 32)}`)
      expect(text).to.include('href="/impersonations/history?clientId=app"')
      expect(text).to.include('href="/impersonations/history?createdBy=backend"')
    })

    const SAID: Readonly<Record<string, [by: string, after: number, said: string]>> = {
      'by the same application at once': [
        'desk',
        1,
        'Sent again by the same application one second later: most likely a repeated request.',
      ],
      'by the same application, later': [
        'desk',
        61,
        'Sent again by the same application 1 minute later: someone may have a copy.',
      ],
      'by another application': [
        'app',
        0,
        'Sent again by another application, <code>app</code>, within a second: someone may have a copy.',
      ],
    }
    for (const [title, [replayedBy, after, said]] of Object.entries(SAID)) {
      it(`say that it was sent again ${title}, and what to do, until someone has looked`, async () => {
        const id = await console.keep({ use: { ...bySam, at: now() - after }, replayedBy })
        const text = await about(id)
        expect(text).to.include(said).and.to.include('<h3>What to do now</h3><ol><li>The same application')
        expect(text).not.to.include('https://')
        await console.post('/acknowledge', { id, replayedAt: String(now()), note: 'ours' })
        expect(await about(id))
          .to.include(said)
          .and.not.to.include('What to do now')
      })
    }

    it('say until when it is open', async () => {
      const id = await console.keep({ use: { clientId: 'desk' } })
      expect(await about(id)).to.include(
        `Still open: the access token can be used until ${time(now() + 600)}`,
      )
      clock.tick(600)
      expect(await about(id)).to.include(`Nothing is open: the access token expired at ${time(now())}`)
    })

    it('are there as long as the record is, with the form until someone has looked', async () => {
      const id = await console.keep({ use: {} })
      expect(await about(id)).to.match(/^Alarm<\/h2>.*Mark as seen/s)
      await console.post('/acknowledge', { id, replayedAt: '', note: 'ours' })
      expect(await about(id))
        .to.match(/^Alarm, looked into<\/h2>/)
        .and.not.to.include('Mark as seen')
      expect(await about(await console.keep({ use: bySam }))).to.equal('')
    })
  })
})
