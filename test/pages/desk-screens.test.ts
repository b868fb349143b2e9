/** What is on the screen while the network is slow, and on every screen, for everyone, and on paper. */
import { expect } from 'chai'
import { isFocused } from '../../fixtures/chromium.ts'
import {
  ask,
  banner,
  deskInChromium,
  heading,
  hold,
  logged,
  record,
  says,
  signInAgain,
  view,
} from './desk.ts'
import { look, OVERFLOW } from './look.ts'

/** Bytes that a repeated visit may cost. */
const SECOND_VISIT = 10_000

const LONG = 'X'.repeat(200)
const COLUMNS = ['When', 'Engineer', 'Customer', 'Reason', 'Ticket', 'State']
const CLAMPED =
  "[...document.querySelectorAll('#record-rows .clamped')].map((one) => getComputedStyle(one).display)"
const EXACT_TIME = "getComputedStyle(document.querySelector('#record-rows time'), '::after').content"
/** Width, height and place of each. */
const BUTTONS =
  "[...document.querySelectorAll('#people button')].map((one) => [one.offsetWidth, one.offsetHeight, one.offsetTop])"
const PILL = "getComputedStyle(document.querySelector('#orders .pill')).borderTopWidth"

deskInChromium('the support desk: its screens', (openDesk) => {
  it('show what is under way, take one start at a time, lose nothing that was typed, and fit everywhere', async () => {
    const desk = await openDesk()
    const { page } = desk
    const button = (name: string) => page.getByRole('button', { name })
    const link = (name: string) => page.getByRole('link', { name, exact: true })
    const plain = await desk.elsewhere({ javaScriptEnabled: false })
    await plain.goto('/')
    expect(await plain.getByRole('main').innerText())
      .to.include("Without the customer's password")
      .and.include('This page needs JavaScript')

    const network = await page.context().newCDPSession(page)
    await network.send('Network.enable')
    let bytes = 0
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto('/', { waitUntil: 'networkidle' })
    expect(bytes, 'the first visit').to.be.within(30_000, 100_000)
    bytes = 0
    await page.reload({ waitUntil: 'networkidle' })
    expect(bytes, 'the second').to.be.within(1000, SECOND_VISIT)

    // Each page is shown at once, with what is missing marked as under way.
    await look(page, 'signed-out')
    const people = await hold(page, '**/backend/api/users?*')
    const entered = page.waitForResponse('**/backend/api/session')
    await button('Sign in').click()
    await heading(page, 'Who are you?')
    await look(page, 'login')
    await button('Sam Sawyer').click()
    await heading(page, 'Let Support desk know who you are?')
    await look(page, 'consent')
    await button('Allow').click()
    await heading(page, 'Customers')
    const list = page.locator('#people')
    expect(await list.getAttribute('aria-busy')).to.equal('true')
    expect(await list.locator('.skeleton').count()).to.equal(3)
    await (await people.reached).continue()
    await page.getByText('24 people').waitFor()
    expect(await list.getAttribute('aria-busy')).to.equal('false')
    expect(await list.locator('.skeleton').count()).to.equal(0)
    await entered
    await look(page, 'customers')
    const records = await hold(page, '**/backend/api/impersonations?*')
    await link('Record').click()
    await heading(page, 'Record')
    const rows = page.locator('#record-rows')
    expect(await rows.getAttribute('aria-busy')).to.equal('true')
    expect(await rows.locator('.skeleton').count()).to.equal(3)
    await (await records.reached).continue()
    await page.getByText('No one has viewed a customer yet.').waitFor()
    expect(await rows.locator('tr').count()).to.equal(0)

    // Customers are found by what is typed, and shown page by page.
    await link('Customers').click()
    const names = page.locator('#people h2')
    await page.getByText('24 people').waitFor()
    expect(await names.count()).to.equal(10)
    await button('Show more').press('Enter')
    await names.nth(19).waitFor()
    const eleventh = `Open the shop as ${await names.nth(10).innerText()}`
    expect(await isFocused(button(eleventh))).to.equal(true)
    const search = page.getByLabel('Find a customer')
    await search.fill('quist')
    await page.getByText('1 person').waitFor()
    expect(await names.allInnerTexts()).to.deep.equal(['Quinn Quist'])
    // A list that arrives late does not replace what was asked for after it.
    const late = await hold(page, '**/backend/api/users?q=alice')
    await search.fill('alice')
    const route = await late.reached
    await search.fill('bob')
    await names.filter({ hasText: 'Bob Baker' }).waitFor()
    const arrived = page.waitForResponse('**/backend/api/users?q=alice')
    await route.continue()
    await (await arrived).finished()
    expect(await names.allInnerTexts()).to.deep.equal(['Bob Baker'])
    await search.fill('no such person')
    await page.getByText('No one is found for “no such person”.').waitFor()
    await look(page, 'no-customers')
    await search.fill('quist')
    await page.getByText('1 person').waitFor()
    // This customer has nothing yet: the page says so.
    await view(page, 'Quinn Quist')
    await page.getByText('No orders yet.').waitFor()

    // What was typed survives the browser's own Back, and another customer.
    await link('Record').click()
    await link('Customers').click()
    await search.fill('')
    await button('View as Bob Baker').click()
    const reason = page.getByRole('textbox', { name: 'Reason' })
    await reason.fill('A lamp is broken')
    await page.goBack()
    await heading(page, 'Record')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.goForward()
    // One start at a time.
    const before = logged(desk, 'subject_token.issued').length
    const exchange = await hold(page, '**/oidc/token')
    await ask(page, 'Alice Archer')
    const held = await exchange.reached
    await says(page, 'status', 'Asking the backend …')
    const bob = button('View as Bob Baker')
    expect(await button('View as Alice Archer').getAttribute('aria-busy')).to.equal('true')
    expect(await bob.getAttribute('aria-disabled')).to.equal('true')
    await bob.click({ force: true })
    await says(page, 'status', 'One moment: the view of Alice Archer is starting.')
    expect(await page.getByRole('dialog').count()).to.equal(0)
    await held.continue()
    await heading(page, 'Viewing as Alice Archer')
    expect(logged(desk, 'subject_token.issued')).to.have.lengthOf(before + 1)
    await button('Invoice of order 1001').click()
    await page.getByRole('heading', { name: 'Invoice R-2026-1001' }).waitFor()
    await page.getByText('How this works').click()
    for (const summary of await page.locator('.exchanged summary').all()) await summary.click()
    await look(page, 'viewing')
    await link('Customers').click()
    expect(await bob.getAttribute('aria-disabled')).to.equal(null)
    await bob.click()
    expect(await reason.inputValue()).to.equal('A lamp is broken')
    expect(await page.locator('#reason-count').innerText()).to.equal('16 of 200 characters')
    await button('Start').click()
    await page.getByText('Enter a ticket').waitFor()
    await look(page, 'dialog')
    // The keyboard's way to start, from any field.
    await page.getByLabel('Ticket').fill('T-2')
    await reason.press('Control+Enter')
    await heading(page, 'Viewing as Bob Baker')
    await link('Customers').click()
    // The list of customers stays in place, whatever their names, and while a view starts.
    await search.fill('quist')
    await page.getByText('1 person').waitFor()
    await page.route('**/backend/api/users?**', async (route) => {
      const response = await route.fetch()
      const { users, ...others } = await response.json()
      for (const [place, name] of ['A'.repeat(72), 'Maria '.repeat(15)].entries()) users[place].name = name
      await route.fulfill({ response, json: { ...others, users } })
    })
    await search.fill('')
    await names.filter({ hasText: 'AAAA' }).waitFor()
    const boxes = await page.evaluate<number[][]>(BUTTONS)
    expect(new Set(boxes.map(([width, height]) => `${width} × ${height}`)).size).to.equal(1)
    const start = await hold(page, '**/backend/api/request-impersonation')
    await ask(page, 'Elias Ellis')
    const unanswered = await start.reached
    await page.locator('#people [aria-busy=true]').waitFor()
    expect(await page.evaluate(BUTTONS)).to.deep.equal(boxes)
    await unanswered.abort()
    await says(page, 'alert', 'No response.')
    await page.unroute('**/backend/api/users?**')
    await ask(page, 'Carol Cole')
    await says(page, 'alert', 'is protected')
    await look(page, 'refusal')

    // Signals stay where the system forces its colours.
    await page.emulateMedia({ forcedColors: 'active' })
    await search.fill('alice')
    await view(page)
    const edge = "getComputedStyle(document.body, '::after').borderTopStyle"
    expect(await page.evaluate(edge)).to.equal('solid')
    expect(await page.evaluate(PILL)).to.equal('1px')
    const icon = page.locator('link[rel=icon]')
    expect(await icon.getAttribute('href')).to.match(/icon-viewing\.svg$/)
    await banner(page).getByRole('button', { name: 'Stop' }).click()
    await heading(page, 'Customers')
    expect(await icon.getAttribute('href')).to.match(/icon\.svg$/)
    await page.emulateMedia({ forcedColors: 'none' })

    // A ticket of 200 characters: on a screen, on a phone, at 400 % zoom, and on paper.
    await view(page, 'Alice Archer', 'A teapot is missing', LONG)
    await record(page)
    const row = rows.locator('tr').first()
    const stop = button('Stop Sam Sawyer viewing Alice Archer')
    await look(page, 'record')
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
    // At 400 % the banner leaves most of the window to the page.
    expect((await banner(page).boundingBox())?.height).to.be.lessThan(70)
    await page.setViewportSize({ width: 1280, height: 800 })
    expect((await row.boundingBox())?.height).to.be.lessThan(100)
    const ticket = await page.getByRole('columnheader', { name: 'Ticket' }).boundingBox()
    expect(ticket?.width, 'the column of the ticket').to.be.lessThan(150)
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
    expect(new Set(await page.evaluate<string[]>(CLAMPED))).to.deep.equal(new Set(['inline']))
    expect(await page.evaluate(EXACT_TIME)).to.match(/\d{4}, \d\d:\d\d:\d\d/)
    for (const hidden of [stop, banner(page), page.locator('#filters'), page.getByRole('navigation')])
      expect(await hidden.isVisible(), `${hidden}`).to.equal(false)
    expect((await page.pdf()).length).to.be.greaterThan(10_000)
    await page.emulateMedia({ media: 'screen' })

    // At 400 % zoom nothing covers the dialog, the message or the page.
    await page.setViewportSize({ width: 320, height: 200 })
    await link('Customers').click()
    await search.fill('')
    await bob.click()
    expect(await page.evaluate(OVERFLOW), 'dialog').to.equal(0)
    await button('A payment has failed').click()
    await page.getByLabel('Ticket').fill('T-1')
    await button('Start').click()
    await heading(page, 'Viewing as Bob Baker')
    await button('Invoice of order 1003').click()
    await page.getByRole('heading', { name: 'Invoice R-2026-1003' }).waitFor()
    expect(await page.evaluate(OVERFLOW), 'view').to.equal(0)
    await banner(page).getByRole('button', { name: 'Stop' }).click()
    await page.getByText('The view of Bob Baker has ended.').waitFor()
    await button('Dismiss the message').click()
    expect(await page.getByText('The view of Bob Baker has ended.').count()).to.equal(0)
    expect((await record(page))[0]?.[3]).to.equal('A payment has failed')

    await button('Details of Sam Sawyer viewing Bob Baker').first().click()
    await look(page, 'details')
    await button('Close').click()
    await link('Customers').click()
    await view(page)
    await record(page)
    await stop.click()
    await look(page, 'stop-dialog')
    await button('Cancel').click()
    await banner(page).getByRole('button', { name: 'Stop' }).click()
    await says(page, 'status', 'has ended')
    await look(page, 'ended')
    await link('Customers').click()
    await view(page)
    await page.reload()
    await signInAgain(page)
    await page.getByText('is still open on the record').waitFor()
    await look(page, 'still-open')
    await button('Sign out').click()
    await heading(page, 'Sign out?')
    await look(page, 'sign-out')
    for (const [address, name] of [
      ['/oidc/auth?client_id=unknown', 'This did not work'],
      ['/login/over', 'This sign-in has ended'],
      ['/oidc/session/end/success', 'You are signed out'],
    ] as const) {
      await page.goto(address)
      await heading(page, name)
      await look(page, name.toLowerCase().replaceAll(' ', '-'))
    }
    const customer = await desk.elsewhere()
    await customer.goto('/')
    await customer.getByRole('button', { name: 'Sign in' }).click()
    await customer.getByRole('button', { name: 'Alice Archer' }).click()
    await customer.getByRole('button', { name: 'Allow' }).click()
    await says(customer, 'alert', 'for support engineers')
    await look(customer, 'customer-at-the-desk')
  })
})
