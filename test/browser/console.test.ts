/** What an administrator does in the console: with and without script, by keyboard, and on paper. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import axe from 'axe-core'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { show } from '../../fixtures/management.ts'
import { consoleInChromium, type OpenConsole } from './console.ts'

const SCREENSHOTS = path.resolve(import.meta.dirname, 'screenshots')

const heading = (page: Page, name: string) =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

async function stopAlice(page: Page, { ids }: OpenConsole): Promise<void> {
  await page.goto('/impersonations')
  await heading(page, 'Now')
  const row = page.getByRole('row', { name: 'Sam Sawyer → Alice Archer' })
  await row.getByRole('link', { name: 'Stop' }).click()
  await heading(page, 'Sam Sawyer → Alice Archer')
  await page.getByLabel('Reason').fill('wrong customer')
  await page.getByRole('button', { name: 'Stop now' }).click()
  await page.getByText('stopped by Dora Dorn').waitFor()
  expect(new URL(page.url()).pathname).to.equal(`/impersonations/${ids.live}`)
}

consoleInChromium('the console: the click path', (open) => {
  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? 'with script' : 'without script'

    it(`stops one with a reason, ${how}`, async () => {
      const console = await open()
      const page = await console.open({ javaScriptEnabled })
      await stopAlice(page, console)
      const { body } = await show(console, console.ids.live)
      expect(body.revocation).to.deep.equal({ cause: 'console', by: 'dora', reason: 'wrong customer' })
      await page.getByRole('link', { name: 'Now' }).click()
      await heading(page, 'Now')
      expect(await page.getByRole('row', { name: 'Alice Archer' }).count()).to.equal(1)
    })

    it(`filters, pages and looks into an alarm, ${how}`, async () => {
      const console = await open()
      for (let copies = 0; copies < 26; copies += 1) await console.keep({ userId: 'carol' })
      const page = await console.open({ javaScriptEnabled })
      await page.goto('/impersonations')
      await page.getByRole('link', { name: 'History' }).click()
      await page.getByLabel('User', { exact: true }).fill('carol')
      await page.getByLabel('State').selectOption('Not used yet')
      await page.getByRole('button', { name: 'Filter' }).click()
      await page.getByRole('link', { name: 'Older' }).click()
      expect(await page.getByRole('row', { name: 'carol' }).count()).to.equal(1)
      expect(await page.getByLabel('User', { exact: true }).inputValue()).to.equal('carol')
      await page.getByRole('link', { name: 'Alarms' }).click()
      await page.getByRole('link', { name: 'Sam Sawyer → Alice Archer' }).click()
      await page.getByText('used again by other-app').waitFor()
    })

    it(`stops all of an engineer once the id was typed, ${how}`, async () => {
      const console = await open()
      const page = await console.open({ javaScriptEnabled })
      await page.goto(`/impersonations/${console.ids.live}`)
      await page.getByRole('link', { name: 'Stop all of this engineer' }).click()
      await page.getByText('2 impersonations').waitFor()
      await page.getByLabel('Reason').fill('laptop stolen')
      await page.getByLabel('Type sam to confirm').fill('robin')
      await page.getByRole('button', { name: 'Stop all' }).click()
      await page.getByRole('alert').waitFor()
      expect(await page.getByLabel('Reason').inputValue()).to.equal('laptop stolen')
      await page.getByLabel('Type sam to confirm').fill('sam')
      await page.getByRole('button', { name: 'Stop all' }).click()
      await heading(page, 'History')
      expect((await show(console, console.ids.live)).body.revocation.reason).to.equal('laptop stolen')
      expect((await show(console, console.ids.other)).body.state).to.equal('consumed')
    })
  }

  it('works by keyboard alone', async () => {
    const console = await open()
    const page = await console.open()
    await page.goto('/impersonations')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).to.equal('main')
    await page.getByRole('link', { name: 'Stop', exact: true }).first().focus()
    await page.keyboard.press('Enter')
    await heading(page, 'Sam Sawyer → Alice Archer')
    expect(await page.evaluate('document.activeElement.name')).to.equal('reason')
    await page.keyboard.type('wrong customer')
    await page.keyboard.press('Enter')
    await page.getByText('stopped by Dora Dorn').waitFor()
  })
})

consoleInChromium('the console: its script', (open) => {
  it('counts down, and marks the last minute', async () => {
    const console = await open()
    const page = await console.open()
    await page.clock.install()
    await page.goto('/impersonations')
    const left = page.locator('[data-until]').first()
    expect(await left.textContent()).to.match(/^(10:00|9:5\d)$/)
    // The server's clock goes on as usual.
    await page.route('**/impersonations', (route) => route.abort())
    await page.clock.runFor(545_000)
    expect(await left.textContent()).to.match(/^0:[45]\d$/)
    expect(await left.getAttribute('class')).to.equal('soon')
  })

  it('shows what has changed, and keeps focus, place and what is open', async () => {
    const console = await open()
    const page = await console.open({ viewport: { width: 800, height: 400 } })
    await page.clock.install()
    await page.goto('/impersonations')
    await page.getByText('Stop all of a person').click()
    const link = page.getByRole('link', { name: 'Robin Reed → Bob Baker' })
    await link.focus()
    await page.evaluate('scrollTo(0, 200)')
    await console.post('/stop', { id: console.ids.live, reason: 'x' })
    await page.clock.runFor(16_000)
    await page.getByRole('link', { name: 'Sam Sawyer → Alice Archer' }).waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.textContent')).to.include('Bob Baker')
    expect(await page.evaluate('scrollY')).to.equal(200)
    expect(await page.locator('#all').getAttribute('open')).to.equal('')
  })

  it('takes nothing away that was typed', async () => {
    const console = await open()
    const page = await console.open()
    await page.clock.install()
    await page.goto(`/impersonations/${console.ids.live}`)
    await page.getByLabel('Reason').fill('wrong cust')
    await page.clock.runFor(60_000)
    expect(await page.getByLabel('Reason').inputValue()).to.equal('wrong cust')
  })

  it('says when the page may be out of date, and leaves when the right is gone', async () => {
    const console = await open()
    const page = await console.open()
    await page.clock.install()
    await page.goto('/impersonations')
    await page.route('**/impersonations', (route) => route.abort())
    await page.clock.runFor(16_000)
    await page.getByRole('status').filter({ hasText: 'out of date' }).waitFor()
    await page.unroute('**/impersonations')
    console.change({ authorize: () => undefined })
    await page.clock.runFor(16_000)
    await heading(page, 'Not allowed')
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
  before(() => {
    mkdirSync(SCREENSHOTS, { recursive: true })
  })

  it('has no accessibility violation and no overflow on any page, light and dark, wide and narrow', async function () {
    this.timeout(120_000)
    const console = await open()
    const page = await console.open()
    // The numbers are counted meanwhile.
    await console.get()
    const pages = {
      now: '',
      history: '/history?userId=alice',
      'history-wrong': '/history?from=x',
      alarms: '/alarms',
      'without-engineer': '/alarms?show=withoutActor',
      record: `/${console.ids.live}`,
      replayed: `/${console.ids.replayed}`,
      'stop-all': '/stop-all?actorId=sam',
      'stop-all-whose': '/stop-all',
      'not-found': '/nothing',
    }
    for (const [name, address] of Object.entries(pages)) {
      await page.goto(`/impersonations${address}`)
      for (const summary of await page.locator('summary').all()) await summary.click()
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 800 })
        expect(await page.evaluate(OVERFLOW), `${name} at ${width} px`).to.equal(0)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          const state = `console-${name}-${width}-${colorScheme}`
          expect(await violations(page), state).to.deep.equal([])
          await page.screenshot({ path: path.join(SCREENSHOTS, `${state}.png`), fullPage: true })
        }
      }
    }
  })

  it('overflows neither at 400 % zoom nor on paper, and prints every column', async () => {
    const console = await open()
    const page = await console.open({ viewport: { width: 320, height: 256 } })
    await page.goto('/impersonations/history')
    expect(await page.evaluate(OVERFLOW)).to.equal(0)
    await page.emulateMedia({ media: 'print', forcedColors: 'active' })
    await page.setViewportSize({ width: 752, height: 1000 })
    expect(await page.evaluate(OVERFLOW)).to.equal(0)
    for (const name of ['Engineer → user', 'Why', 'May', 'Started', 'State'])
      expect(await page.getByRole('columnheader', { name }).isVisible(), name).to.equal(true)
    expect(await page.getByRole('button', { name: 'Filter' }).isVisible()).to.equal(false)
    expect((await page.pdf()).length).to.be.greaterThan(10_000)
  })
})

const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(`${axe.source}; undefined`)
  const found = await page.evaluate<Violation[]>('axe.run().then(({ violations }) => violations)')
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}
