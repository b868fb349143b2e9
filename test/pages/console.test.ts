/** What an administrator does in the console: by keyboard, with and without script, over a slow network, and on paper. */
import { expect } from 'chai'
import type { Locator, Page } from 'playwright-core'
import { isFocused } from '../../fixtures/chromium.ts'
import { show } from '../../fixtures/management.ts'
import { by } from '../../fixtures/people-at-work.ts'
import { earliestId } from '../../src/tokens/id.ts'
import { consoleInChromium, type OpenConsole, stopClock } from './console.ts'
import { heading } from './desk.ts'
import { look, OVERFLOW } from './look.ts'

const link = (page: Page, name: string | RegExp) => page.getByRole('link', { name }).first()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** Tab until this is focused, as someone does who cannot use a mouse. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let presses = 0; presses < 120; presses += 1) {
    if (await isFocused(target)) return
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

/** Lets time pass until these are gone. */
const passUntilGone = (page: Page, these: Locator) => passUntil(page, async () => (await these.count()) === 0)

/** A text of the page, of which someone reads the part that matches. */
async function readOn(page: Page, pattern: RegExp): Promise<string> {
  const [, part] = pattern.exec(await page.locator('main').innerText()) ?? []
  return part ?? expect.fail(`the page does not say ${pattern}`)
}

/** Clicks what can be seen, and counts. */
function hand() {
  let clicks = 0
  return {
    async click(target: Locator): Promise<void> {
      await target.waitFor()
      await target.click()
      clicks += 1
    },
    clicks: () => clicks,
  }
}

/** CSS pixels of A4 between margins of 1 cm. */
const PAPER = 718

consoleInChromium('the console', (open) => {
  it('by keyboard, with and without script: stops one, filters, looks into an alarm, stops all', async () => {
    for (const javaScriptEnabled of [true, false]) {
      const console = await open()
      for (let copies = 0; copies < 26; copies += 1) await console.keep({ userId: 'carol' })
      const second = await console.keep({ userId: 'bob', use: by('sam') })
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
      expect(new URL(page.url()).pathname).to.equal(`/impersonations/${console.ids.live}`)
      const { body } = await show(console, console.ids.live)
      expect(body.revocation).to.deep.equal({ cause: 'console', by: 'dora', reason: 'wrong customer' })
      await press(page, link(page, 'Now'))
      await heading(page, 'Now')
      expect(await page.getByRole('row', { name: 'Alice Archer' }).count()).to.equal(1)

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
      await press(page, link(page, 'No engineer named'))
      await page.waitForURL(/withoutActor/)
      await press(page, link(page, 'Reused token'))
      await page.waitForURL(/replayed/)
      await press(page, page.getByRole('row', { name: 'Sam Sawyer Alice Archer' }).getByRole('link').first())
      await page.getByText('used again by other-app').waitFor()

      await press(page, link(page, 'Now'))
      await press(page, page.getByText('Stop all …', { exact: true }))
      await type(page, 'Engineer id', 'sam')
      await page.keyboard.press('Enter')
      await page.getByText('2 impersonations').waitFor()
      await type(page, 'Reason', 'laptop stolen')
      await type(page, 'Type sam to confirm', 'robin')
      await press(page, button(page, 'Stop everything for Sam Sawyer'))
      await page.getByRole('alert').waitFor()
      expect(await page.getByLabel('Reason').inputValue()).to.equal('laptop stolen')
      if (javaScriptEnabled) await look(page, 'console-stop-all-wrong')
      await page.getByLabel('Type sam to confirm').fill('sam')
      await press(page, button(page, 'Stop everything for Sam Sawyer'))
      await heading(page, 'Stopped all of Sam Sawyer')
      // Another one may have been stopped in this very second.
      await page.getByText(/^[234] impersonations stopped at/).waitFor()
      expect((await show(console, second)).body.revocation.reason).to.equal('laptop stolen')
      expect((await show(console, console.ids.other)).body.state).to.equal('consumed')
      await press(page, link(page, 'Now'))
      if (javaScriptEnabled) await look(page, 'console-no-one')
    }
  })

  it("keeps Now up to date by the server's clock, and the reader's focus, place and words", async () => {
    const console = await open()
    await console.keep({ userId: 'carol', use: by('robin') })
    const page = await console.open({ viewport: { width: 800, height: 400 } })
    const stopOf = (whom: string) => page.getByRole('link', { name: `Stop ${whom}` })
    await numbersOf(console)
    // However wrong that of the browser is.
    await stopClock(page, Date.now() - 3_600_000)
    await page.goto('/impersonations')
    expect(await page.locator('[data-until]').first().textContent()).to.match(/^(10:00|9:\d\d)$/)
    await page.locator('#by-day').click()
    await stopOf('Robin Reed viewing Bob Baker').focus()
    await page.evaluate('scrollTo(0, 200)')
    await console.post('/stop', { id: console.ids.live, reason: 'x' })
    await passUntilGone(page, stopOf('Sam Sawyer viewing Alice Archer'))
    expect(await isFocused(stopOf('Robin Reed viewing Bob Baker'))).to.equal(true)
    expect(await page.evaluate('scrollY')).to.equal(200)
    expect(await page.locator('#days').getAttribute('open')).to.equal('')

    await page.locator('.count').waitFor()
    const { text } = await console.get('/alarms')
    const pairs = [...text.matchAll(/name="id" value="(\w+)"><[^>]*value="(\d*)">/g)]
    const id = pairs.map(([, id = '']) => id)
    const replayedAt = pairs.map(([, , at = '']) => at)
    expect((await console.post('/acknowledge', { id, replayedAt, note: 'x' })).status).to.equal(303)
    await numbersOf(console)
    await passUntilGone(page, page.locator('.count'))

    await page.getByText('Stop all …', { exact: true }).click()
    await page.getByLabel('Engineer id').fill('sa')
    await console.post('/stop', { id: console.ids.other, reason: 'x' })
    await passUntilGone(page, stopOf('Robin Reed viewing Bob Baker'))
    expect(await page.getByLabel('Engineer id').inputValue()).to.equal('sa')
    expect(await page.evaluate('document.activeElement.name')).to.equal('actorId')

    // The last minute, and the end, whatever it last heard of its server, whose clock goes on as usual.
    await page.route('**/impersonations', (route) => route.abort())
    const row = page.locator('tr').filter({ hasText: 'carol' })
    const left = row.locator('[data-until]')
    const [minutes = 0, seconds = 0] = (await left.innerText()).split(':').map(Number)
    await page.clock.runFor((60 * minutes + seconds - 50) * 1000)
    expect(await left.textContent()).to.match(/^0:(50|49)$/)
    expect(await left.getAttribute('class')).to.equal('soon')
    await page.clock.runFor(53_000)
    expect(await row.locator('.pill').textContent()).to.equal('Expired')
    expect(await row.locator('.pill').getAttribute('class')).to.equal('pill ended')
    expect(await row.locator('small').textContent()).to.equal('ended')
    expect(await page.locator('[data-until]').count()).to.equal(0)
  })

  it('says since when it is out of date, takes nothing away that was typed, and leaves when the right is gone', async () => {
    const console = await open()
    const page = await console.open({ timezoneId: 'Asia/Kolkata' })
    await numbersOf(console)
    await stopClock(page)
    await page.goto(`/impersonations/${console.ids.live}`)
    const time = page.locator('.timeline time').first()
    const at = new Date((await time.getAttribute('datetime')) ?? '')
    const shown = at.toLocaleTimeString('sv', { timeZone: 'Asia/Kolkata' })
    expect(await time.textContent()).to.match(new RegExp(`${shown}$`))
    const utc = at.toISOString().slice(0, 19).replace('T', ' ')
    expect(await time.getAttribute('title')).to.equal(`${utc} UTC`)
    expect(await page.locator('footer').textContent()).to.match(/^Times are in GMT\+0530\./)
    // A slash leads to the search, unless it is typed.
    await page.keyboard.press('/')
    await page.keyboard.type('a/b')
    expect(await page.getByRole('searchbox').inputValue()).to.equal('a/b')
    await page.goto(`/impersonations/${console.ids.live}`)
    // Typed while the page asks for itself, and left alone for a minute.
    const reason = page.getByLabel('Reason')
    const held = Promise.withResolvers<() => Promise<void>>()
    await page.route(/impersonations/, (route) => held.resolve(() => route.continue()), { times: 1 })
    const ticking = page.clock.runFor(16_000)
    const respond = await held.promise
    await reason.focus()
    await page.keyboard.type('wrong c/')
    const answered = page.waitForResponse(`**/${console.ids.live}`)
    await respond()
    await (await answered).finished()
    await ticking
    await page.clock.runFor(60_000)
    expect(await reason.inputValue()).to.equal('wrong c/')

    const stale = page.locator('#stale')
    const isStale = async () => (await stale.textContent())?.startsWith('Not updated since') === true
    // A server that accepts, and never responds: a look is given up after ten seconds, also while someone types.
    for (const address of [`/${console.ids.live}`, '']) {
      await page.goto(`/impersonations${address}`)
      await page.route(/impersonations/, () => undefined)
      if (address) await reason.fill('wrong cust')
      const looks = looksOf(page)
      await passUntil(page, () => looks() === 1)
      await page.clock.runFor(9_000)
      expect([looks(), await stale.textContent()]).to.deep.equal([1, ''])
      await passUntil(page, () => looks() === 2)
      await page.clock.runFor(8_000)
      expect([looks(), await stale.textContent()]).to.deep.equal([2, ''])
      await passUntil(page, isStale)
      expect(looks()).to.equal(2)
      if (address) expect(await reason.inputValue()).to.equal('wrong cust')
      await page.unroute(/impersonations/)
    }
    const told = page
      .getByRole('status')
      .filter({ hasText: /Not updated since \d{4}-\d\d-\d\d [\d:]{8} GMT/ })
    await page.getByRole('button', { name: 'Retry' }).click()
    await told.waitFor({ state: 'detached' })
    // One that is not there, or fails: once is not yet worth a word.
    const looks = looksOf(page)
    await page.route('**/impersonations', (route) => route.abort())
    await passUntil(page, () => looks() === 1)
    expect(await told.isVisible()).to.equal(false)
    await passUntil(page, () => told.isVisible())
    expect(looks()).to.equal(2)
    await page.unroute('**/impersonations')
    await page.getByRole('button', { name: 'Retry' }).click()
    await told.waitFor({ state: 'detached' })
    await page.route('**/impersonations', (route) => route.fulfill({ status: 503, body: 'down' }))
    await passUntil(page, () => told.isVisible())
    await page.unroute('**/impersonations')
    console.change({ authorize: () => undefined })
    await passUntil(page, () => page.getByRole('heading', { name: 'Not allowed' }).isVisible())
    console.change({})
    await page.goto('/impersonations')
    await page.route('**/impersonations', (route) => route.abort())
    await passUntil(page, () => told.isVisible())
    // axe waits for time to pass.
    await page.clock.resume()
    await look(page, 'console-out-of-date')
  })

  it('an incident, over a slow network: from the alarm to all of a backend stopped, in at most six clicks', async () => {
    const console = await open()
    const LEAKY = 'crm-backend'
    const alarm = await console.keep({ createdBy: LEAKY, use: by('sam'), replayedBy: 'unknown-app' })
    const live = await console.keep({ createdBy: LEAKY, use: by('sam') })
    const unspent = await console.keep({ createdBy: LEAKY })
    await numbersOf(console)
    const { click, clicks } = hand()
    const page = await console.open()
    // As on a train: 400 ms each way, and 50 kB/s.
    const network = await page.context().newCDPSession(page)
    const speed = { latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 }
    await network.send('Network.emulateNetworkConditions', { offline: false, ...speed })
    const requests: string[] = []
    page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    await page.goto('/impersonations')
    await heading(page, 'Now')
    expect(requests.filter((address) => address !== '/favicon.ico')).to.deep.equal(['/impersonations'])
    await click(page.getByRole('link', { name: /^Alarms \d+ to look into$/ }))
    const group = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Reused token: unknown-app' }) })
    await click(group.getByRole('row').last().getByRole('link').first())
    await page.getByText('Nothing is open: it was stopped at').waitFor()
    await page.getByRole('heading', { name: 'What to do now' }).waitFor()
    const backend = await readOn(page, /What else did (\S+) issue\?/)
    await click(page.getByRole('link', { name: 'Stop everything for this backend' }))
    await page.getByText('2 impersonations of the backend').waitFor()
    const id = await readOn(page, /Type (\S+) to confirm/)
    expect(id).to.equal(backend)
    await page.getByLabel('Reason').fill('Alarm')
    await page.getByLabel(`Type ${id} to confirm`).fill(id)
    await click(page.getByRole('button', { name: `Stop everything for ${id}` }))
    await page.getByText('2 impersonations stopped at').waitFor()
    await page.getByText(/Every API refuses it from .* at the latest/).waitFor()
    expect(await page.getByRole('row').count()).to.equal(3)
    expect(clicks()).to.be.at.most(6)
    for (const stopped of [live, unspent])
      expect((await show(console, stopped)).body.revocation).to.deep.equal({
        cause: 'console',
        by: 'dora',
        reason: 'Alarm',
      })
    expect((await show(console, alarm)).body.revocation.cause).to.equal('replay')
  })

  it('an audit: who saw Alice in the month before, and why, in three clicks and a printout; lists on every screen', async () => {
    const console = await open()
    // An audit: who saw Alice in the month before, and why.
    const month = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() - 1, 7, 12))
    const at = month.getTime() / 1000
    const past = { createdAt: at, expiresAt: at + 600 }
    const use = { ...by('robin'), at, accessToken: { format: 'jwt', expiresAt: at + 300 } } as const
    const id = (number: number) => earliestId(at + number).slice(0, 16) + String(number).padStart(16, '0')
    const context = { ticketId: 'T-4000', reason: 'Refund has not arrived' }
    await console.keep({ userId: 'alice', context, id: id(1), ...past, use })
    await console.keep({ userId: 'bob', context, id: id(2), ...past, use })
    const { click, clicks } = hand()
    const auditor = await console.open({ timezoneId: 'America/New_York' })
    await auditor.goto('/impersonations/history')
    const name = await readOn(auditor, /\b(Alice \S+)/)
    await auditor.getByRole('searchbox').fill(name)
    await auditor.keyboard.press('Enter')
    await auditor.getByRole('link', { name: `User: ${name}` }).waitFor()
    const named = month.toLocaleDateString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })
    await click(auditor.getByRole('link', { name: named }))
    await auditor.getByText('1 of 1').waitFor()
    expect(await auditor.getByRole('row').filter({ hasText: name }).innerText()).to.match(
      /Robin Reed\s+Alice Archer\s+T-4000\s+Refund has not arrived\s+Expired\s+5:00/,
    )
    expect(clicks() + 1).to.be.at.most(3)

    await auditor.emulateMedia({ media: 'print' })
    const paper = await auditor.locator('body').innerText()
    const day = month.toISOString().slice(0, 10)
    expect(paper).to.match(/^\s*Impersonation: History, as of\s+.*, for Dora Dorn/)
    expect(paper).to.include('User: Alice Archer').and.to.include('1 of 1')
    expect(paper)
      .to.match(new RegExp(`From: ${day.slice(0, 8)}01`))
      .and.to.match(/To: /)
    // Whole times, in UTC wherever it was printed.
    const shown = await auditor.evaluate(`(() => {
      const time = document.querySelector('tbody time')
      const { content, fontSize } = getComputedStyle(time, '::after')
      return { content, fontSize, own: getComputedStyle(time).fontSize }
    })()`)
    expect(shown).to.deep.equal({ content: `"${day}T12:00:00Z"`, fontSize: '12px', own: '0px' })
    await auditor.emulateMedia({ media: 'print', forcedColors: 'active' })
    await auditor.setViewportSize({ width: PAPER, height: 1000 })
    expect(await auditor.evaluate(OVERFLOW)).to.equal(0)
    for (const column of ['Started', 'Engineer', 'User', 'Ticket', 'Why', 'State']) {
      const { x = -1, width = 0 } =
        (await auditor.getByRole('columnheader', { name: column }).boundingBox()) ?? {}
      expect(x, column).to.be.at.least(0)
      expect(x + width, column).to.be.at.most(PAPER)
    }
    expect(await button(auditor, 'Filter').isVisible()).to.equal(false)
    expect((await auditor.pdf()).length).to.be.greaterThan(10_000)

    // Lists: rows of one line, fourteen in view, which open the record or the person, on every screen.
    let last = ''
    for (let number = 0; number < 30; number += 1)
      last = await console.keep({
        userId: 'bob',
        context: {
          ticketId: `T-${number}`,
          reason: 'Invoice shows another VAT than the order, and so does the credit note',
        },
        use: by('robin'),
        ...(number % 3 === 0 && { revocation: { cause: 'self', by: 'robin' } as const }),
        ...(number % 3 === 1 && { revocation: { cause: 'console', by: 'dora', reason: 'x' } as const }),
      })
    const page = await console.open({ timezoneId: 'Asia/Kolkata', viewport: { width: 1280, height: 800 } })
    for (const address of ['', '/history', '/search?q=bob', '/history?userId=bob', '/alarms?show=replayed']) {
      await page.goto(`/impersonations${address}`)
      const rows = await page
        .locator('tbody tr')
        .evaluateAll((all) => all.map((row) => row.getBoundingClientRect()))
      for (const { height } of rows) expect(height, address).to.be.at.most(44)
      if (rows.length < 14 || address === '') continue
      expect(rows.filter(({ bottom }) => bottom <= 800).length, address).to.be.at.least(14)
    }
    await page.goto('/impersonations/history')
    const row = page.getByRole('row', { name: 'Robin Reed Bob Baker T-29' })
    await page.getByRole('columnheader', { name: 'Started, GMT+0530' }).waitFor()
    const { x = 0, y = 0 } = (await row.getByText('Invoice shows another VAT').boundingBox()) ?? {}
    await page.mouse.click(x + 3, y + 3)
    await page.waitForURL(`**/${last}`)
    await page.goBack()
    await row.getByRole('link', { name: 'Robin Reed', exact: true }).click()
    await page.waitForURL('**/history?actorId=robin')
    await page.getByRole('link', { name: 'Engineer: Robin Reed' }).click()
    await page.waitForURL('**/history')

    const first = await console.keep({ userId: 'carol', use: by('sam') })
    const next = await console.keep({ userId: 'carol', use: by('sam') })
    await console.impersonation.records.stop({ id: first, cause: 'continued', continuedBy: next })
    await page.goto(`/impersonations/${first}`)
    await page.getByText('Continued', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'because another one goes on' }).click()
    await page.waitForURL(`**/${next}`)
    await page.getByRole('link', { name: 'the one before' }).click()
    await page.waitForURL(`**/${first}`)

    const pages = {
      now: '',
      history: '/history?userId=alice',
      alarms: '/alarms',
      'used-again': '/alarms?show=replayed',
      search: '/search?q=alice',
      record: `/${console.ids.replayed}`,
      active: `/${console.ids.active}`,
      wrong: '/history?from=x',
      'stop-all-whose': '/stop-all',
      'not-found': '/nothing',
    }
    for (const [name, address] of Object.entries(pages)) {
      await page.goto(`/impersonations${address}`)
      await look(page, `console-${name}`)
      // At 400 %, with everything open.
      await page.setViewportSize({ width: 320, height: 256 })
      for (const summary of (await page.locator('summary').all()).reverse()) await summary.click()
      expect(await page.evaluate(OVERFLOW), name).to.equal(0)
    }
  })
})
