/** What is on the screen while the network is slow, and without a script; and how much a visit costs. */
import { expect } from 'chai'
import type { Page, Route } from 'playwright-core'
import { ask, heading, inChromium, logged, says, signIn, view } from './desk.ts'
import { holdExchange } from './exchange.ts'
import { isFocused } from './shown.ts'

/** Bytes that a repeated visit may cost. */
const SECOND_VISIT = 10_000

/** Holds the next response to this address. */
async function hold(page: Page, address: string): Promise<() => Promise<void>> {
  const { promise, resolve } = Promise.withResolvers<Route>()
  await page.route(address, resolve, { times: 1 })
  return async () => (await promise).continue()
}

inChromium('the support desk: loading', (openDesk) => {
  it('shows each page at once, with what is missing marked as under way', async () => {
    const { page } = await openDesk()
    const people = await hold(page, '**/backend/api/users?*')
    const entered = page.waitForResponse('**/backend/api/session')
    await page.goto('/')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Sam Sawyer' }).click()
    await page.getByRole('button', { name: 'Allow' }).click()
    await heading(page, 'Customers')
    const list = page.locator('#people')
    expect(await list.getAttribute('aria-busy')).to.equal('true')
    expect(await list.locator('.skeleton').count()).to.equal(3)
    await people()
    await page.getByText('24 people').waitFor()
    expect(await list.getAttribute('aria-busy')).to.equal('false')
    expect(await list.locator('.skeleton').count()).to.equal(0)
    await entered

    const records = await hold(page, '**/backend/api/impersonations?*')
    await page.getByRole('link', { name: 'Record', exact: true }).click()
    await heading(page, 'Record')
    const rows = page.locator('#record-rows')
    expect(await rows.getAttribute('aria-busy')).to.equal('true')
    expect(await rows.locator('.skeleton').count()).to.equal(3)
    await records()
    await page.getByText('No one has viewed a customer yet.').waitFor()
    expect(await rows.locator('tr').count()).to.equal(0)
  })

  it('takes no second start while the first is under way, and loses nothing that was typed', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    const reason = page.getByRole('textbox', { name: 'Reason' })
    // What was typed survives the browser's own Back, and another customer.
    await page.getByRole('link', { name: 'Record', exact: true }).click()
    await page.getByRole('link', { name: 'Customers' }).click()
    await page.getByRole('button', { name: 'View as Bob Baker' }).click()
    await reason.fill('A lamp is broken')
    await page.goBack()
    await heading(page, 'Record')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.goForward()

    const exchange = await holdExchange(page)
    await ask(page, 'Alice Archer')
    const route = await exchange.reached()
    await says(page, 'status', 'Asking the backend …')
    const alice = page.getByRole('button', { name: 'View as Alice Archer' })
    const bob = page.getByRole('button', { name: 'View as Bob Baker' })
    expect(await alice.getAttribute('aria-busy')).to.equal('true')
    expect(await bob.getAttribute('aria-disabled')).to.equal('true')
    await bob.click({ force: true })
    await says(page, 'status', 'One moment: the view of Alice Archer is starting.')
    expect(await page.getByRole('dialog').count()).to.equal(0)
    await route.continue()
    await heading(page, 'Viewing as Alice Archer')
    expect(logged(desk, 'subject_token.issued')).to.have.lengthOf(1)
    await page.getByRole('link', { name: 'Customers' }).click()
    expect(await bob.getAttribute('aria-disabled')).to.equal(null)
    await bob.click()
    expect(await reason.inputValue()).to.equal('A lamp is broken')
    expect(await page.locator('#reason-count').innerText()).to.equal('16 of 200 characters')
    // The keyboard's way to start, from any field.
    await page.getByLabel('Ticket').fill('T-2')
    await reason.press('Control+Enter')
    await heading(page, 'Viewing as Bob Baker')
  })

  it('finds customers by what is typed, and shows them page by page', async () => {
    const { page } = await openDesk()
    await signIn(page)
    const names = page.locator('#people h2')
    await page.getByText('24 people').waitFor()
    expect(await names.count()).to.equal(10)
    await page.getByRole('button', { name: 'Show more' }).press('Enter')
    await names.nth(19).waitFor()
    expect(
      await isFocused(
        page.getByRole('button', { name: `Open the shop as ${await names.nth(10).innerText()}` }),
      ),
    ).to.equal(true)
    const search = page.getByLabel('Find a customer')
    await search.fill('quist')
    await page.getByText('1 person').waitFor()
    expect(await names.allInnerTexts()).to.deep.equal(['Quinn Quist'])
    // A list that arrives late does not replace what was asked for after it.
    const late = await hold(page, '**/backend/api/users?q=alice')
    const asked = page.waitForRequest('**/backend/api/users?q=alice')
    await search.fill('alice')
    await asked
    await search.fill('bob')
    await names.filter({ hasText: 'Bob Baker' }).waitFor()
    const arrived = page.waitForResponse('**/backend/api/users?q=alice')
    await late()
    await (await arrived).finished()
    expect(await names.allInnerTexts()).to.deep.equal(['Bob Baker'])
    await search.fill('no such person')
    await page.getByText('No one is found for “no such person”.').waitFor()
    await search.fill('quist')
    await page.getByText('1 person').waitFor()
    // This customer has nothing yet: the page says so.
    await view(page, 'Quinn Quist')
    await page.getByText('No orders yet.').waitFor()
  })

  it('says without a script that it needs one, and costs few bytes the second time', async () => {
    const { page, baseUrl } = await openDesk()
    const context = await page.context().browser()?.newContext({ javaScriptEnabled: false })
    const plain = await context?.newPage()
    await plain?.goto(baseUrl)
    const text = (await plain?.getByRole('main').innerText()) ?? ''
    await context?.close()
    expect(text).to.include("Without the customer's password").and.include('This page needs JavaScript')

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
  })
})
