/** A ticket that fills every line, paper, a zoomed page, and colours that the system forces. */
import { expect } from 'chai'
import { banner, heading, inChromium, rowsShown, signIn, view } from './desk.ts'
import { OVERFLOW } from './look.ts'

const LONG = 'X'.repeat(200)
const COLUMNS = ['When', 'Engineer', 'Customer', 'Reason', 'Ticket', 'State']

inChromium('the support desk: its layout', (openDesk) => {
  it('holds a ticket of 200 characters on a screen, on a phone, on paper and at 400 % zoom', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page, 'Alice Archer', 'A teapot is missing', LONG)
    await page.getByRole('link', { name: 'Record', exact: true }).click()
    await page.getByText('1 shown.').waitFor()
    const row = page.locator('#record-rows tr')
    const stop = page.getByRole('button', { name: 'Stop Sam Sawyer viewing Alice Archer' })
    for (const [width, height] of [
      [1280, 800],
      [360, 800],
      [320, 200],
    ] as const) {
      await page.setViewportSize({ width, height })
      expect(await page.evaluate(OVERFLOW), `${width} px`).to.equal(0)
      const { x, width: wide } = (await stop.boundingBox()) ?? { x: width, width: 0 }
      expect(x + wide, `Stop at ${width} px`).to.be.lessThan(width)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    expect((await row.boundingBox())?.height).to.be.lessThan(100)
    const ticket = await page.getByRole('columnheader', { name: 'Ticket' }).boundingBox()
    expect(ticket?.width, 'the column of the ticket').to.be.lessThan(150)
    await page.setViewportSize({ width: 320, height: 200 })
    // At 400 % the banner leaves most of the window to the page.
    expect((await banner(page).boundingBox())?.height).to.be.lessThan(70)

    // A4, as an auditor prints it: every column, the whole ticket, the exact time, and nothing to press.
    await page.emulateMedia({ media: 'print' })
    await page.setViewportSize({ width: 1032, height: 700 })
    expect(await page.evaluate(OVERFLOW), 'on paper').to.equal(0)
    for (const name of COLUMNS)
      expect(await page.getByRole('columnheader', { name }).isVisible(), name).to.equal(true)
    for (const name of ['When', 'Ticket', 'State']) {
      const { x = 0, width = 0 } = (await page.getByRole('columnheader', { name }).boundingBox()) ?? {}
      expect(x + width, name).to.be.within(1, 1032)
    }
    expect(await page.evaluate(CLAMPED)).to.deep.equal(['inline', 'inline'])
    expect(await page.evaluate(EXACT_TIME)).to.match(/\d{4}, \d\d:\d\d:\d\d/)
    for (const hidden of [stop, banner(page), page.locator('#filters'), page.getByRole('navigation')])
      expect(await hidden.isVisible(), `${hidden}`).to.equal(false)
    expect((await page.pdf()).length).to.be.greaterThan(10_000)
  })

  it('is usable at 400 % zoom: nothing covers the dialog, the message or the page', async () => {
    const { page } = await openDesk()
    await page.setViewportSize({ width: 320, height: 200 })
    await signIn(page)
    await page.getByRole('button', { name: 'View as Bob Baker' }).click()
    expect(await page.evaluate(OVERFLOW), 'dialog').to.equal(0)
    await page.getByRole('button', { name: 'A payment has failed' }).click()
    await page.getByLabel('Ticket').fill('T-1')
    await page.getByRole('button', { name: 'Start' }).click()
    await heading(page, 'Viewing as Bob Baker')
    await page.getByRole('button', { name: 'Invoice of order 1003' }).click()
    await page.getByRole('heading', { name: 'Invoice R-2026-1003' }).waitFor()
    expect(await page.evaluate(OVERFLOW), 'view').to.equal(0)
    await banner(page).getByRole('button', { name: 'Stop' }).click()
    await page.getByText('The view of Bob Baker has ended.').waitFor()
    await page.getByRole('button', { name: 'Dismiss the message' }).click()
    expect(await page.getByText('The view of Bob Baker has ended.').count()).to.equal(0)
    await page.getByRole('link', { name: 'Record', exact: true }).click()
    await page.getByText('1 shown.').waitFor()
    expect((await rowsShown(page))[0]?.[3]).to.equal('A payment has failed')
  })

  it('frames the page in the colour of the banner, in the last minute too', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    const colours: string[] = []
    for (const seconds of [0, 245]) {
      await page.clock.fastForward(seconds * 1000)
      if (seconds) await page.getByText('Last minute').waitFor()
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        // The banner looks at its colour once a second.
        await page.clock.runFor(1000)
        const frame = await page.evaluate<string>(FRAME)
        expect(await page.evaluate(BANNER), `${colorScheme}, after ${seconds} s`).to.equal(frame)
        colours.push(frame)
      }
    }
    expect(new Set(colours).size).to.equal(3)
  })

  it('keeps the list of customers in place, whatever their names, and while a view starts', async () => {
    const { page } = await openDesk()
    await page.route('**/backend/api/users?**', async (route) => {
      const response = await route.fetch()
      const { users, ...others } = await response.json()
      for (const [place, name] of ['A'.repeat(72), 'Maria '.repeat(15)].entries()) users[place].name = name
      await route.fulfill({ response, json: { ...others, users } })
    })
    await page.route('**/backend/api/request-impersonation', () => {})
    await signIn(page)
    const button = page.getByRole('button', { name: 'View as Elias Ellis' })
    const boxes = () => page.evaluate<number[][]>(BUTTONS)
    const before = await boxes()
    expect(new Set(before.map(([width, height]) => `${width} × ${height}`)).size).to.equal(1)
    await button.click()
    await page.getByRole('textbox', { name: 'Reason' }).fill('An order')
    await page.getByLabel('Ticket').fill('T-1')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.locator('#people [aria-busy=true]').waitFor()
    expect(await boxes()).to.deep.equal(before)
  })

  it('keeps its signals where the system forces its colours', async () => {
    const { page } = await openDesk()
    await page.emulateMedia({ forcedColors: 'active' })
    await signIn(page)
    await view(page)
    const edge = "getComputedStyle(document.body, '::after').borderTopStyle"
    expect(await page.evaluate(edge)).to.equal('solid')
    expect(await page.evaluate(PILL)).to.equal('1px')
    const icon = page.locator('link[rel=icon]')
    expect(await icon.getAttribute('href')).to.match(/icon-viewing\.svg$/)
    await banner(page).getByRole('button', { name: 'Stop' }).click()
    await heading(page, 'Customers')
    expect(await icon.getAttribute('href')).to.match(/icon\.svg$/)
  })
})

const CLAMPED =
  "[...document.querySelectorAll('#record-rows .clamped')].map((one) => getComputedStyle(one).display)"
const EXACT_TIME = "getComputedStyle(document.querySelector('#record-rows time'), '::after').content"
const FRAME = "getComputedStyle(document.body, '::after').borderTopColor"
const BANNER =
  "getComputedStyle(document.querySelector('impersonation-banner').shadowRoot.querySelector('section')).backgroundColor"
/** Width, height and place of each. */
const BUTTONS =
  "[...document.querySelectorAll('#people button')].map((one) => [one.offsetWidth, one.offsetHeight, one.offsetTop])"
const PILL = "getComputedStyle(document.querySelector('#orders .pill')).borderTopWidth"
