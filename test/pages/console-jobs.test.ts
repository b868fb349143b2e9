/** What the console is for, by someone who knows only what stands on its pages: every text typed here was read there. */
import { expect } from 'chai'
import type { Locator, Page } from 'playwright-core'
import { show } from '../../fixtures/management.ts'
import { by } from '../../fixtures/people-at-work.ts'
import { earliestId } from '../../src/subject-tokens/id.ts'
import { consoleInChromium } from './console.ts'

/** Clicks what can be seen, and counts. */
function hand() {
  let clicks = 0
  return {
    async click(target: Locator): Promise<void> {
      expect(await target.isVisible()).to.equal(true)
      await target.click()
      clicks += 1
    },
    clicks: () => clicks,
  }
}

/** A text of the page, of which someone reads the part that matches. */
async function readOn(page: Page, pattern: RegExp): Promise<string> {
  const [, part] = pattern.exec(await page.locator('main').innerText()) ?? []
  return part ?? expect.fail(`the page does not say ${pattern}`)
}

consoleInChromium('the console: what it is for', (open) => {
  it('an incident: from the alarm to all of a backend stopped, in at most six clicks', async () => {
    const console = await open()
    const LEAKY = 'crm-backend'
    const alarm = await console.keep({ createdBy: LEAKY, use: by('sam'), replayedBy: 'unknown-app' })
    const live = await console.keep({ createdBy: LEAKY, use: by('sam') })
    const unspent = await console.keep({ createdBy: LEAKY })
    const { click, clicks } = hand()
    const page = await console.open()
    await page.goto('/impersonations')
    await click(page.getByRole('link', { name: /^Alarms \d+ to look into$/ }))
    const group = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Used again: unknown-app' }) })
    await click(group.getByRole('row').last().getByRole('link').first())
    await page.getByText('Nothing is open: it was stopped at').waitFor()
    await page.getByRole('heading', { name: 'What to do now' }).waitFor()
    const backend = await readOn(page, /What else did (\S+) issue\?/)
    await click(page.getByRole('link', { name: 'Stop all of this backend' }))
    await page.getByText('2 impersonations of the backend').waitFor()
    const id = await readOn(page, /Type (\S+) to confirm/)
    expect(id).to.equal(backend)
    await page.getByLabel('Reason').fill('Alarm')
    await page.getByLabel(`Type ${id} to confirm`).fill(id)
    await click(page.getByRole('button', { name: `Stop all of ${id}` }))
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

  it('an audit: who saw Alice in the month before, and why, in three clicks and a printout', async () => {
    const console = await open()
    const month = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() - 1, 7, 12))
    const at = month.getTime() / 1000
    const past = { createdAt: at, expiresAt: at + 600 }
    const use = { ...by('robin'), at, accessToken: { format: 'jwt', expiresAt: at + 300 } } as const
    const id = (number: number) => earliestId(at + number).slice(0, 16) + String(number).padStart(16, '0')
    const context = { ticketId: 'T-4000', reason: 'Refund has not arrived' }
    await console.keep({ userId: 'alice', context, id: id(1), ...past, use })
    await console.keep({ userId: 'bob', context, id: id(2), ...past, use })
    const { click, clicks } = hand()
    const page = await console.open({ timezoneId: 'America/New_York' })
    await page.goto('/impersonations/history')
    const name = await readOn(page, /\b(Alice \S+)/)
    await page.getByRole('searchbox').fill(name)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: `User: ${name}` }).waitFor()
    const named = month.toLocaleDateString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })
    await click(page.getByRole('link', { name: named }))
    const rows = page.getByRole('row').filter({ hasText: name })
    await page.getByText('1 of 1').waitFor()
    expect(await rows.innerText()).to.match(
      /Robin Reed\s+Alice Archer\s+T-4000\s+Refund has not arrived\s+Expired\s+5:00/,
    )
    expect(clicks() + 1).to.be.at.most(3)

    await page.emulateMedia({ media: 'print' })
    const paper = await page.locator('body').innerText()
    const day = month.toISOString().slice(0, 10)
    expect(paper).to.match(/^\s*Impersonation: History, as of\s+.*, for Dora Dorn/)
    expect(paper).to.include('User: Alice Archer').and.to.include('1 of 1')
    expect(paper)
      .to.match(new RegExp(`From: ${day.slice(0, 8)}01`))
      .and.to.match(/To: /)
    // Whole times, in UTC wherever it was printed.
    const shown = await page.evaluate(`(() => {
      const time = document.querySelector('tbody time')
      const { content, fontSize } = getComputedStyle(time, '::after')
      return { content, fontSize, own: getComputedStyle(time).fontSize }
    })()`)
    expect(shown).to.deep.equal({ content: `"${day}T12:00:00Z"`, fontSize: '12px', own: '0px' })
    expect((await page.pdf()).length).to.be.greaterThan(10_000)
  })

  it('has rows of one line, fourteen of them in view', async () => {
    const console = await open()
    for (let number = 0; number < 30; number += 1)
      await console.keep({
        userId: 'bob',
        context: {
          ticketId: `T-${number}`,
          reason: 'Invoice shows another VAT than the order, and so does the credit note',
        },
        use: by('robin'),
        ...(number % 3 === 0 && { revocation: { cause: 'self', by: 'robin' } as const }),
        ...(number % 3 === 1 && { revocation: { cause: 'console', by: 'dora', reason: 'x' } as const }),
      })
    const page = await console.open({ viewport: { width: 1280, height: 800 } })
    for (const address of ['', '/history', '/search?q=bob', '/history?userId=bob', '/alarms?show=replayed']) {
      await page.goto(`/impersonations${address}`)
      const rows = await page
        .locator('tbody tr')
        .evaluateAll((all) => all.map((row) => row.getBoundingClientRect()))
      for (const { height } of rows) expect(height, address).to.be.at.most(44)
      if (rows.length < 14 || address === '') continue
      expect(rows.filter(({ bottom }) => bottom <= 800).length, address).to.be.at.least(14)
    }
  })

  it('opens the record wherever its row is clicked, and the person where their name is', async () => {
    const console = await open()
    const page = await console.open({ viewport: { width: 1280, height: 800 } })
    await page.goto('/impersonations/history')
    const row = page.getByRole('row', { name: 'Robin Reed Bob Baker T-4720' })
    const { x = 0, y = 0 } = (await row.getByText('Cannot pay by card').boundingBox()) ?? {}
    await page.mouse.click(x + 3, y + 3)
    await page.waitForURL(`**/${console.ids.other}`)
    await page.goBack()
    await row.getByRole('link', { name: 'Robin Reed', exact: true }).click()
    await page.waitForURL('**/history?actorId=robin')
    await page.getByRole('link', { name: 'Engineer: Robin Reed' }).click()
    await page.waitForURL('**/history')
  })

  it('links two records of which one continues the other', async () => {
    const console = await open()
    const first = await console.keep({ userId: 'carol', use: by('sam') })
    const second = await console.keep({ userId: 'carol', use: by('sam') })
    await console.impersonation.records.stop({ id: first, cause: 'continued', continuedBy: second })
    const page = await console.open()
    await page.goto(`/impersonations/${first}`)
    await page.getByText('Continued', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'because another one goes on' }).click()
    await page.waitForURL(`**/${second}`)
    await page.getByRole('link', { name: 'the one before' }).click()
    await page.waitForURL(`**/${first}`)
  })
})
