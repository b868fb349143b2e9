/** The shop, opened from the desk as a customer: in, as whom, and out by every way. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { type Desk, inChromium, logged, REASON, record, STATE, signIn, stop, words } from './desk.ts'

/** Presses the desk's button, confirms at the door, and returns the tab of the shop. */
async function openShop(page: Page, name = 'Alice Archer'): Promise<Page> {
  const door = await atDoor(page, name)
  await door.getByRole('button', { name: `Open as ${name}` }).click()
  await door.getByRole('heading', { level: 1, name: `Hello, ${name}` }).waitFor()
  return door
}

/** The tab that the desk opens, with the question of the door. */
async function atDoor(page: Page, name = 'Alice Archer'): Promise<Page> {
  await page.getByRole('button', { name: `Open the shop as ${name}` }).click()
  await page.getByRole('textbox', { name: 'Reason' }).fill(REASON)
  await page.getByLabel('Ticket').fill('T-1')
  const opened = page.context().waitForEvent('page')
  await page.getByRole('button', { name: 'Start' }).click()
  const door = await opened
  await door.getByRole('heading', { level: 1, name: 'Open The Corner Shop' }).waitFor()
  return door
}

/** The note of the desk about the shop. */
const note = (page: Page) => page.getByRole('region', { name: 'The shop, as a customer' })
const notes = (page: Page, text: string | RegExp) => note(page).filter({ hasText: text }).waitFor()
/** Neutral where what it says is over. */
const colour = async (page: Page) => (await note(page).getAttribute('class'))?.replace('notice', '').trim()
const CONFIRMED = /The shop confirmed at \d\d:\d\d:\d\d that its own session is over/

/** What a script that got into a page could read. */
const EVERYTHING =
  '[document.documentElement.outerHTML, location.href, document.cookie, JSON.stringify({ ...localStorage, ...sessionStorage })].join()'

/** The tab of the shop covers itself, the customer is in it no more, and it does not go on as the engineer. */
async function isClosed(shop: Page): Promise<void> {
  const goOn = shop.getByRole('button', { name: 'Continue as Sam Sawyer' })
  await goOn.waitFor()
  expect(words(await shop.locator('main').textContent())).to.equal('')
  await goOn.click()
  await shop.getByRole('heading', { level: 1, name: 'This session has ended' }).waitFor()
}

const opened = async (openDesk: () => Promise<Desk>) => {
  const desk = await openDesk()
  await signIn(desk.page)
  return { desk, shop: await openShop(desk.page) }
}

inChromium('example: the shop, opened as a customer', (openDesk) => {
  it('shows what the customer sees, says who acts, and is on the record', async () => {
    const { desk, shop } = await opened(openDesk)
    expect(await shop.locator('main').innerText()).to.include('A teapot')
    const banner = await shop.getByRole('region', { name: 'Impersonation of Alice Archer' }).innerText()
    expect(words(banner)).to.include('Sam Sawyer')
    await notes(desk.page, /The shop is open as Alice Archer in another tab, until/)
    const [first] = await record(desk.page)
    expect(first?.[STATE]).to.match(/^Live/)
    const [shown] = logged(desk, 'shop.orders_shown')
    expect(shown).to.include({ customer: 'alice', actor: 'sam' })
    const [issued] = logged(desk, 'subject_token.issued')
    expect(shown?.sid).to.equal(`imp_${issued?.id}`)
  })

  it('says at the door who acts, as whom, where, for how long and why, and waits for the button', async () => {
    const { page, log } = await openDesk()
    await signIn(page)
    const door = await atDoor(page)
    const text = words(await door.locator('main').innerText())
    for (const said of ['Sam Sawyer', 'Alice Archer', 'The Corner Shop', '5 minutes', REASON, 'T-1'])
      expect(text).to.include(said)
    await notes(page, 'The shop waits for you in another tab')
    expect(log.filter(({ event }) => event.startsWith('shop.'))).to.deep.equal([])
  })

  it('ends at the desk, closes in view, and says that the shop has confirmed', async () => {
    const { desk, shop } = await opened(openDesk)
    await notes(desk.page, 'The shop is open')
    await note(desk.page).getByRole('button', { name: 'End it' }).click()
    await notes(desk.page, /You ended the shop as Alice Archer at/)
    await notes(desk.page, CONFIRMED)
    await isClosed(shop)
    const [first] = await record(desk.page)
    expect(first?.[STATE]).to.match(/^Ended by the engineer/)
  })

  it('ends by the button of its banner, which is no sign-out of the engineer', async () => {
    const { desk, shop } = await opened(openDesk)
    await shop.getByRole('button', { name: 'Stop viewing' }).click()
    await isClosed(shop)
    await notes(desk.page, 'You left the shop as Alice Archer')
    expect(await colour(desk.page)).to.equal('over')
    await openShop(desk.page, 'Bob Baker')
    await notes(desk.page, 'The shop is open as Bob Baker')
    expect(await colour(desk.page)).to.equal('')
    await desk.page.getByRole('button', { name: 'View as Alice Archer' }).click()
    await desk.page.getByText('This ends the shop as Bob Baker.').waitFor()
  })

  it('closes in view when a colleague stops it, and tells the engineer who did and why', async () => {
    const { desk, shop } = await opened(openDesk)
    const colleague = await desk.elsewhere()
    await signIn(colleague, 'Robin Reed')
    await record(colleague)
    await stop(colleague)
    await isClosed(shop)
    await notes(desk.page, /Robin Reed stopped your view of Alice Archer/)
    await notes(desk.page, CONFIRMED)
  })

  it('keeps the token out of both pages, their addresses and storage, and of the log', async () => {
    const { desk, shop } = await opened(openDesk)
    for (const page of [desk.page, shop]) {
      const everything = await page.evaluate<string>(EVERYTHING)
      expect(everything).to.not.match(/ses_|eyJ/)
    }
    expect(JSON.stringify(desk.log)).to.not.match(/ses_|eyJ/)
    expect(shop.url()).to.match(/^http:\/\/127\.0\.0\.1:\d+\/$/)
    const cookies = await shop.context().cookies()
    for (const cookie of cookies.filter(({ name }) => name.startsWith('shop-')))
      expect(cookie).to.deep.include({ httpOnly: true, sameSite: 'Lax' })
  })

  it('is offered again by a page that was loaded anew, and ends with the sign-out', async () => {
    const { desk, shop } = await opened(openDesk)
    await desk.page.reload()
    await desk.page.getByRole('button', { name: 'Sign in' }).click()
    await notes(desk.page, 'The shop is open as Alice Archer')
    await desk.page.getByRole('button', { name: 'Sign out' }).click()
    await desk.page.getByRole('heading', { name: 'Sign out?' }).waitFor()
    await isClosed(shop)
  })

  it('leaves the customer signed in elsewhere, and lets no one act there', async () => {
    const desk = await openDesk()
    await signIn(desk.page)
    const customer = await desk.elsewhere()
    const shop = await openShop(desk.page)
    await customer.goto(`${new URL(shop.url()).origin}/login`)
    await customer.getByRole('button', { name: 'Alice Archer' }).click()
    await customer.getByRole('button', { name: 'Allow' }).click()
    await customer.getByRole('heading', { name: 'Hello, Alice Archer' }).waitFor()
    expect(await customer.getByRole('region', { name: /^Impersonation/ }).count()).to.equal(0)
    await note(desk.page).getByRole('button', { name: 'End it' }).click()
    await notes(desk.page, CONFIRMED)
    await customer.reload()
    await customer.getByRole('heading', { name: 'Hello, Alice Archer' }).waitFor()
  })
})
