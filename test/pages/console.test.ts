/** What an administrator does in the console: with and without script, by keyboard, and on paper. */
import { expect } from 'chai'
import type { Locator, Page } from 'playwright-core'
import { show } from '../../fixtures/management.ts'
import { consoleInChromium, type OpenConsole, stopClock } from './console.ts'
import { look, OVERFLOW } from './look.ts'

const heading = (page: Page, name: string) =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

async function stopAlice(page: Page, { ids }: OpenConsole): Promise<void> {
  await page.goto('/impersonations')
  await heading(page, 'Now')
  await page.getByRole('link', { name: 'Stop Sam Sawyer viewing Alice Archer' }).click()
  await heading(page, 'Sam Sawyer → Alice Archer')
  await page.getByLabel('Reason').fill('wrong customer')
  await page.getByRole('button', { name: 'Stop now' }).click()
  await page.locator('.timeline').getByText('stopped by Dora Dorn').waitFor()
  expect(new URL(page.url()).pathname).to.equal(`/impersonations/${ids.live}`)
}

/** Tab until this is focused, as someone does who cannot use a mouse. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let presses = 0; presses < 120; presses += 1) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`no way by keyboard to ${target}`)
}

async function press(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.press('Enter')
}

async function type(page: Page, label: string, text: string): Promise<void> {
  await tabTo(page, page.getByLabel(label, { exact: true }))
  await page.keyboard.type(text)
}

consoleInChromium('the console: by keyboard alone', (open) => {
  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? 'with script' : 'without script'
    const link = (page: Page, name: string | RegExp) => page.getByRole('link', { name }).first()
    const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

    it(`skips to the content, and stops one, ${how}`, async () => {
      const console = await open()
      const page = await console.open({ javaScriptEnabled })
      await page.goto('/impersonations')
      await press(page, link(page, 'Skip to main content'))
      await press(page, link(page, 'Stop Sam Sawyer viewing Alice Archer'))
      await heading(page, 'Sam Sawyer → Alice Archer')
      // The address leads to the field.
      expect(await page.evaluate('document.activeElement.name')).to.equal('reason')
      await page.keyboard.type('wrong customer')
      await page.keyboard.press('Enter')
      await page.locator('.timeline').getByText('stopped by Dora Dorn').waitFor()
      const { body } = await show(console, console.ids.live)
      expect(body.revocation).to.deep.equal({ cause: 'console', by: 'dora', reason: 'wrong customer' })
      await press(page, link(page, 'Now'))
      await heading(page, 'Now')
      expect(await page.getByRole('row', { name: 'Alice Archer' }).count()).to.equal(1)
    })

    it(`filters, pages, clears, and looks into an alarm, ${how}`, async () => {
      const console = await open()
      for (let copies = 0; copies < 26; copies += 1) await console.keep({ userId: 'carol' })
      const page = await console.open({ javaScriptEnabled })
      await page.goto('/impersonations')
      await press(page, link(page, 'History'))
      await heading(page, 'History')
      await press(page, page.locator('#filters'))
      await type(page, 'User', 'carol')
      await tabTo(page, page.getByLabel('State'))
      await page.keyboard.type('Not used')
      await press(page, button(page, 'Filter'))
      await page.waitForURL(/state=active/)
      await press(page, link(page, 'Older'))
      await link(page, 'Newest').waitFor()
      expect(await page.getByRole('row', { name: 'carol' }).count()).to.equal(1)
      if (!javaScriptEnabled || !(await link(page, 'Clear').isVisible()))
        await press(page, page.locator('#filters'))
      await press(page, link(page, 'Clear'))
      await page.waitForURL(/history$/)
      await press(page, link(page, 'Alarms'))
      await heading(page, 'Alarms')
      await press(page, link(page, 'Without engineer'))
      await page.waitForURL(/withoutActor/)
      await press(page, link(page, 'Used again'))
      await page.waitForURL(/replayed/)
      await press(page, page.getByRole('row', { name: 'Sam Sawyer Alice Archer' }).getByRole('link').first())
      await page.getByText('used again by other-app').waitFor()
    })

    it(`stops all of an engineer, from Now, ${how}`, async () => {
      const console = await open()
      const page = await console.open({ javaScriptEnabled })
      await page.goto('/impersonations')
      await press(page, page.getByText('Stop all …', { exact: true }))
      await type(page, 'Engineer id', 'sam')
      await page.keyboard.press('Enter')
      await page.getByText('2 impersonations').waitFor()
      await type(page, 'Reason', 'laptop stolen')
      await type(page, 'Type sam to confirm', 'robin')
      await press(page, button(page, 'Stop all of Sam Sawyer'))
      await page.getByRole('alert').waitFor()
      expect(await page.getByLabel('Reason').inputValue()).to.equal('laptop stolen')
      await page.getByLabel('Type sam to confirm').fill('sam')
      await press(page, button(page, 'Stop all of Sam Sawyer'))
      await heading(page, 'Stopped all of Sam Sawyer')
      // Another one may have been stopped in this very second.
      await page.getByText(/^[23] impersonations stopped at/).waitFor()
      expect((await show(console, console.ids.live)).body.revocation.reason).to.equal('laptop stolen')
      expect((await show(console, console.ids.other)).body.state).to.equal('consumed')
    })
  }
})

/** Until they are counted, Now looks more often. */
async function numbersOf({ get }: OpenConsole): Promise<void> {
  while ((await get()).text.includes('Counting')) await new Promise(setImmediate)
}

/** How often this page has asked for itself from now on. */
function looksOf(page: Page): () => number {
  let looks = 0
  page.on('request', () => {
    looks += 1
  })
  return () => looks
}

/** Lets time pass in a page, second by second, until this is so: what follows from a response may come late. */
async function passUntil(page: Page, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let seconds = 0; !(await isSo()); seconds += 1) {
    if (seconds === 60) throw new Error(`not within a minute: ${isSo}`)
    await page.clock.runFor(1000)
  }
}

consoleInChromium('the console: its script', (open) => {
  it('counts down, and marks the last minute', async () => {
    const console = await open()
    const page = await console.open()
    await stopClock(page)
    await page.goto('/impersonations')
    const left = page.locator('[data-until]').first()
    expect(await left.textContent()).to.match(/^(10:00|9:5\d)$/)
    // The server's clock goes on as usual.
    await page.route('**/impersonations', (route) => route.abort())
    await page.clock.runFor(545_000)
    expect(await left.textContent()).to.match(/^0:[45]\d$/)
    expect(await left.getAttribute('class')).to.equal('soon')
  })

  it("counts down by the server's clock, however wrong that of the browser is", async () => {
    const console = await open()
    const page = await console.open()
    await page.clock.install({ time: Date.now() - 3_600_000 })
    await page.goto('/impersonations')
    await page.clock.runFor(2_000)
    expect(await page.locator('[data-until]').first().textContent()).to.match(/^(10:00|9:5\d)$/)
  })

  it('shows what has changed, and keeps focus, place and what is open', async () => {
    const console = await open()
    const page = await console.open({ viewport: { width: 800, height: 400 } })
    await numbersOf(console)
    await stopClock(page)
    await page.goto('/impersonations')
    await page.locator('#chart-table').click()
    const link = page.getByRole('link', { name: 'Stop Robin Reed viewing Bob Baker' })
    await link.focus()
    await page.evaluate('scrollTo(0, 200)')
    await console.post('/stop', { id: console.ids.live, reason: 'x' })
    const stopped = page.getByRole('link', { name: 'Stop Sam Sawyer viewing Alice Archer' })
    await passUntil(page, async () => (await stopped.count()) === 0)
    expect(await page.evaluate('document.activeElement.ariaLabel')).to.equal(
      'Stop Robin Reed viewing Bob Baker',
    )
    expect(await page.evaluate('scrollY')).to.equal(200)
    expect(await page.locator('#chart').getAttribute('open')).to.equal('')
  })

  it('keeps the focus in a field before anything is typed', async () => {
    const console = await open()
    const page = await console.open()
    await stopClock(page)
    await page.goto('/impersonations')
    await page.getByText('Stop all …', { exact: true }).click()
    await page.getByLabel('Engineer id').fill('sa')
    await console.post('/stop', { id: console.ids.live, reason: 'x' })
    const stopped = page.getByRole('link', { name: 'Stop Sam Sawyer viewing Alice Archer' })
    await passUntil(page, async () => (await stopped.count()) === 0)
    expect(await page.getByLabel('Engineer id').inputValue()).to.equal('sa')
    expect(await page.evaluate('document.activeElement.name')).to.equal('actorId')
  })

  it('takes nothing away that was typed', async () => {
    const console = await open()
    const page = await console.open()
    await stopClock(page)
    await page.goto(`/impersonations/${console.ids.live}`)
    await page.getByLabel('Reason').fill('wrong cust')
    await page.clock.runFor(60_000)
    expect(await page.getByLabel('Reason').inputValue()).to.equal('wrong cust')
  })

  it('says since when it was not updated, once two looks have failed, and leaves when the right is gone', async () => {
    const console = await open()
    const page = await console.open()
    await numbersOf(console)
    await stopClock(page)
    await page.goto('/impersonations')
    const stale = page
      .getByRole('status')
      .filter({ hasText: /Not updated since \d{4}-\d\d-\d\d [\d:]{8} GMT/ })
    const isStale = () => stale.isVisible()
    const looks = looksOf(page)
    await page.route('**/impersonations', (route) => route.abort())
    await passUntil(page, () => looks() === 1)
    expect(await isStale()).to.equal(false)
    await passUntil(page, isStale)
    expect(looks()).to.equal(2)
    await page.unroute('**/impersonations')
    await page.getByRole('button', { name: 'Retry' }).click()
    await stale.waitFor({ state: 'detached' })
    await page.route('**/impersonations', (route) => route.fulfill({ status: 503, body: 'down' }))
    await passUntil(page, isStale)
    await page.unroute('**/impersonations')
    console.change({ authorize: () => undefined })
    await passUntil(page, () => page.getByRole('heading', { name: 'Not allowed' }).isVisible())
  })

  for (const [title, address] of [
    ['', () => ''],
    [', also while someone types', ({ ids }: OpenConsole) => `/${ids.live}`],
  ] as const) {
    it(`gives up a look that takes ten seconds, and says so after two${title}`, async () => {
      const console = await open()
      const page = await console.open()
      await numbersOf(console)
      await stopClock(page)
      await page.goto(`/impersonations${address(console)}`)
      // A server that accepts, and never responds.
      await page.route(/impersonations/, () => undefined)
      if (title) await page.getByLabel('Reason').fill('wrong cust')
      const looks = looksOf(page)
      const stale = page.locator('#stale')
      await passUntil(page, () => looks() === 1)
      await page.clock.runFor(9_000)
      expect([looks(), await stale.textContent()]).to.deep.equal([1, ''])
      await passUntil(page, () => looks() === 2)
      await page.clock.runFor(8_000)
      expect([looks(), await stale.textContent()]).to.deep.equal([2, ''])
      await passUntil(page, async () => (await stale.textContent())?.startsWith('Not updated since') === true)
      expect(looks()).to.equal(2)
      if (title) expect(await page.getByLabel('Reason').inputValue()).to.equal('wrong cust')
    })
  }

  it('calls what has run out ended, whatever it last heard of its server', async () => {
    const console = await open()
    const page = await console.open()
    await stopClock(page)
    await page.goto('/impersonations')
    await page.route('**/impersonations', (route) => route.abort())
    const row = page.getByRole('row', { name: 'Robin Reed Bob Baker' })
    await page.clock.runFor(603_000)
    expect(await row.locator('.pill').textContent()).to.equal('Expired')
    expect(await row.locator('.pill').getAttribute('class')).to.equal('pill ended')
    expect(await row.locator('small').textContent()).to.equal('ended')
    expect(await page.locator('[data-until]').count()).to.equal(0)
  })

  it('counts the alarms again, beside the page', async () => {
    const console = await open()
    const page = await console.open()
    await numbersOf(console)
    await stopClock(page)
    await page.goto('/impersonations')
    const { text } = await console.get('/alarms')
    const pairs = [...text.matchAll(/name="id" value="(\w+)"><[^>]*value="(\d*)">/g)]
    const fields = {
      id: pairs.map(([, id = '']) => id),
      replayedAt: pairs.map(([, , at = '']) => at),
      note: 'x',
    }
    await page.locator('.count').waitFor()
    expect((await console.post('/acknowledge', fields)).status).to.equal(303)
    await numbersOf(console)
    await passUntil(page, async () => (await page.locator('.count').count()) === 0)
  })

  it('shows times in the zone of the reader, names it, and has UTC on hover', async () => {
    const console = await open()
    const page = await console.open({ timezoneId: 'Asia/Kolkata' })
    await page.goto(`/impersonations/${console.ids.live}`)
    const time = page.locator('.timeline time').first()
    const at = new Date((await time.getAttribute('datetime')) ?? '')
    const shown = at.toLocaleTimeString('sv', { timeZone: 'Asia/Kolkata' })
    expect(await time.textContent()).to.match(new RegExp(`${shown}$`))
    expect(await time.getAttribute('title')).to.equal(
      `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`,
    )
    expect(await page.locator('footer').textContent()).to.match(/^Times are in GMT\+0530\./)
    await page.goto('/impersonations/history')
    await page.getByRole('columnheader', { name: 'Started, GMT+0530' }).waitFor()
  })

  it('leads to the search by a slash, unless one is typed', async () => {
    const console = await open()
    const page = await console.open()
    await page.goto(`/impersonations/${console.ids.live}`)
    await page.keyboard.press('/')
    await page.keyboard.type('a/b')
    expect(await page.getByRole('searchbox').inputValue()).to.equal('a/b')
    await page.getByLabel('Reason').focus()
    await page.keyboard.type('c/d')
    expect(await page.getByLabel('Reason').inputValue()).to.equal('c/d')
  })
})

consoleInChromium('the console: on a slow network', (open) => {
  /** As on a train: 400 ms each way, and 50 kB/s. */
  async function slow(page: Page): Promise<void> {
    const session = await page.context().newCDPSession(page)
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 400,
      downloadThroughput: 50_000,
      uploadThroughput: 50_000,
    })
  }

  it('needs one request for a page, and stops one', async () => {
    const console = await open()
    const page = await console.open()
    await slow(page)
    const requests: string[] = []
    page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    await page.goto('/impersonations')
    await heading(page, 'Now')
    expect(requests.filter((address) => address !== '/favicon.ico')).to.deep.equal(['/impersonations'])
    await stopAlice(page, console)
  })

  it('takes nothing away that was typed while the page asks for itself', async () => {
    const console = await open()
    const page = await console.open()
    await stopClock(page)
    await page.goto(`/impersonations/${console.ids.live}`)
    let respond: () => void = () => undefined
    const asked = new Promise<void>((resolve) => {
      void page.route(`**/${console.ids.live}`, async (route) => {
        resolve()
        await new Promise<void>((go) => {
          respond = go
        })
        await route.continue()
      })
    })
    const ticking = page.clock.runFor(16_000)
    await asked
    await page.getByLabel('Reason').fill('wrong cust')
    const answered = page.waitForResponse(`**/${console.ids.live}`)
    respond()
    await answered
    await ticking
    await page.clock.runFor(1_000)
    expect(await page.getByLabel('Reason').inputValue()).to.equal('wrong cust')
  })
})

consoleInChromium('the console: its policy', (open) => {
  it('lets no text become HTML, and no injected script or style in', async () => {
    const console = await open()
    const page = await console.open()
    await page.goto('/impersonations')
    const write = `try { document.body.innerHTML = '<p>x</p>' } catch (error) { error.name }`
    const seen: string[] = []
    page.removeAllListeners('console')
    page.on('console', (message) => seen.push(message.text()))
    expect(await page.evaluate(write)).to.equal('TypeError')
    await page.evaluate(`{
      const script = document.createElement('style')
      script.textContent = 'body { outline: 7px solid }'
      document.head.append(script)
    }`)
    expect(await page.evaluate('getComputedStyle(document.body).outlineWidth')).not.to.equal('7px')
  })

  it('takes no form from another site', async () => {
    const console = await open()
    const page = await console.open()
    const action = `${console.url}/stop`
    await page.route('http://other.localhost/**', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<form method="post" action="${action}"><input name="id" value="${console.ids.live}"><input name="reason" value="x"><button>Win</button></form>`,
      }),
    )
    await page.goto('http://other.localhost/')
    await page.getByRole('button', { name: 'Win' }).click()
    await heading(page, 'Not allowed')
    expect((await show(console, console.ids.live)).body.state).to.equal('consumed')
  })
})

consoleInChromium('the console: for everyone', (open) => {
  it('has no accessibility violation and no overflow on any page, light and dark, wide and narrow', async () => {
    const console = await open()
    const page = await console.open()
    // The numbers are counted meanwhile.
    await console.get()
    const pages = {
      now: '',
      history: '/history?userId=alice',
      'history-wrong': '/history?from=x',
      alarms: '/alarms',
      'used-again': '/alarms?show=replayed',
      'without-engineer': '/alarms?show=withoutActor',
      search: '/search?q=alice',
      'search-nothing': '/search?q=nothing',
      stopped: '/stop-all?userId=bob&stopped=0',
      record: `/${console.ids.live}`,
      replayed: `/${console.ids.replayed}`,
      'stop-all': '/stop-all?actorId=sam',
      'stop-all-whose': '/stop-all',
      'not-found': '/nothing',
      older: `/history?cursor=${console.ids.live}`,
      'none-match': '/history?userId=no-one',
      active: `/${console.ids.active}`,
      over: `/${console.ids.over}`,
      'stopped-one': `/${console.ids.stopped}`,
    }
    for (const [name, address] of Object.entries(pages)) {
      await page.goto(`/impersonations${address}`)
      await look(page, `console-${name}`)
    }
    await page.goto('/impersonations')
    await page.getByText('Stop all …', { exact: true }).click()
    await look(page, 'console-menu')
  })

  it('has none where the input was wrong, the page is out of date, or little is allowed', async () => {
    const console = await open()
    const page = await console.open()
    await page.goto(`/impersonations/${console.ids.live}`)
    await page.getByLabel('Reason').fill('   ')
    await page.getByRole('button', { name: 'Stop now' }).click()
    await page.getByRole('alert').waitFor()
    await look(page, 'console-stop-wrong')
    await page.goto('/impersonations/stop-all?actorId=sam')
    await page.getByLabel('Reason').fill('laptop stolen')
    await page.getByLabel('Type sam to confirm').fill('robin')
    await page.getByRole('button', { name: 'Stop all of Sam Sawyer' }).click()
    await page.getByRole('alert').waitFor()
    await look(page, 'console-stop-all-wrong')
    await stopClock(page)
    await page.goto('/impersonations')
    await page.route('**/impersonations', (route) => route.abort())
    await passUntil(page, () => page.getByRole('status').filter({ hasText: 'Not updated' }).isVisible())
    // axe waits for time to pass.
    await page.clock.resume()
    await look(page, 'console-out-of-date')
    await page.unroute('**/impersonations')
    console.change({ authorize: () => ({ id: 'dora', can: ['see'] }) })
    await page.goto('/impersonations')
    await look(page, 'console-only-sees')
    console.change({ authorize: () => undefined })
    await page.goto('/impersonations')
    await look(page, 'console-not-allowed')
  })

  it('has none where no one is viewed, and numbers are still being counted', async () => {
    const console = await open()
    await console.post('/stop-all', { actorId: 'sam', confirm: 'sam', reason: 'x' })
    const page = await console.open()
    for (const name of ['counting', 'no-one']) {
      await page.goto('/impersonations')
      await look(page, `console-${name}`)
    }
  })

  it('overflows on no page at 400 % zoom', async () => {
    const console = await open()
    const page = await console.open({ viewport: { width: 320, height: 256 } })
    for (const address of ['', '/history', '/alarms', `/${console.ids.replayed}`, '/stop-all?actorId=sam']) {
      await page.goto(`/impersonations${address}`)
      for (const summary of (await page.locator('summary').all()).reverse()) await summary.click()
      expect(await page.evaluate(OVERFLOW), address).to.equal(0)
    }
  })

  it('prints every column on the width of a page', async () => {
    const console = await open()
    const page = await console.open()
    await page.goto('/impersonations/history')
    await page.emulateMedia({ media: 'print', forcedColors: 'active' })
    await page.setViewportSize({ width: PAPER, height: 1000 })
    expect(await page.evaluate(OVERFLOW)).to.equal(0)
    for (const name of ['Started', 'Engineer', 'User', 'Ticket', 'Why', 'State']) {
      const { x = -1, width = 0 } = (await page.getByRole('columnheader', { name }).boundingBox()) ?? {}
      expect(x, name).to.be.at.least(0)
      expect(x + width, name).to.be.at.most(PAPER)
    }
    expect(await page.getByRole('button', { name: 'Filter' }).isVisible()).to.equal(false)
    expect((await page.pdf()).length).to.be.greaterThan(10_000)
  })
})

/** CSS pixels of A4 between margins of 1 cm. */
const PAPER = 718
