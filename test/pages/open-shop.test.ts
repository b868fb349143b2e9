/** The shop, opened from the desk as a customer: in, as whom, only to look or to change things, and out by every way. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import {
  deskInChromium,
  giveReason,
  heading,
  logged,
  REASON,
  record,
  STATE,
  signIn,
  signInAgain,
  stop,
  words,
} from './desk.ts'
import { look } from './look.ts'

/** Starts, and returns the tab that the desk opens, with the question of the door. */
async function atDoor(page: Page): Promise<Page> {
  const opened = page.context().waitForEvent('page')
  await giveReason(page)
  const door = await opened
  await door.getByRole('heading', { level: 1, name: 'Open The Corner Shop' }).waitFor()
  return door
}

/** The door says what the engineer may do, and so does the banner of the shop. */
async function confirm(door: Page, name = 'Alice Archer', access = 'Read only'): Promise<void> {
  const said = door.locator('dt', { hasText: 'Access' }).locator('xpath=following-sibling::dd')
  expect(await said.innerText()).to.equal(access)
  await door.getByRole('button', { name: `Open as ${name}` }).click()
  await heading(door, `Hello, ${name}`)
  const banner = door.getByRole('region', { name: `Impersonation of ${name}` })
  expect(words(await banner.innerText()))
    .to.include('Sam Sawyer')
    .and.include(` ${access} `)
}

const askForShop = (page: Page, name = 'Alice Archer') =>
  page.getByRole('button', { name: `Open the shop as ${name}` }).click()

/** Presses the desk's button, confirms at the door, and returns the tab of the shop. */
async function openShop(page: Page, name?: string): Promise<Page> {
  await askForShop(page, name)
  const door = await atDoor(page)
  await confirm(door, name)
  return door
}

const order = (shop: Page) => shop.getByRole('button', { name: 'Order a new teapot' }).click()
/** The first teapot that was ordered, or a further one. */
const ordered = (shop: Page, index = 0) => shop.getByText('A new teapot', { exact: true }).nth(index)

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
  await heading(shop, 'This session has ended')
}

deskInChromium('example: the shop, opened as a customer', (openDesk) => {
  it('says at the door who acts, as whom and how far, and shows what the customer sees, until it ends by whatever way', async () => {
    const desk = await openDesk()
    const { page, log } = desk
    await signIn(page)
    await askForShop(page)
    const door = await atDoor(page)
    const text = words(await door.locator('main').innerText())
    for (const said of ['Sam Sawyer', 'Alice Archer', 'The Corner Shop', '5 minutes', REASON, 'T-1'])
      expect(text).to.include(said)
    await notes(page, 'The shop waits for you in another tab')
    expect(log.filter(({ event }) => event.startsWith('shop.'))).to.deep.equal([])
    await look(door, 'door')

    await confirm(door)
    expect(await door.locator('main').innerText()).to.include('A teapot')
    await notes(page, /The shop is open as Alice Archer in another tab, until/)
    await notes(page, 'Read only.')
    const [shown] = logged(desk, 'shop.orders_shown')
    expect(shown).to.include({ customer: 'alice', actor: 'sam' })
    expect(shown?.sid).to.equal(`imp_${logged(desk, 'subject_token.issued')[0]?.id}`)
    // The token is in neither page, address nor storage, nor in the log.
    for (const one of [page, door]) expect(await one.evaluate<string>(EVERYTHING)).to.not.match(/ses_|eyJ/)
    expect(JSON.stringify(log)).to.not.match(/ses_|eyJ/)
    expect(door.url()).to.match(/^http:\/\/127\.0\.0\.1:\d+\/$/)
    for (const cookie of await door.context().cookies())
      if (cookie.name.startsWith('shop-')) expect(cookie).to.deep.include({ httpOnly: true, sameSite: 'Lax' })
    await look(door, 'shop')
    await look(page, 'shop-note')

    // An engineer who only looks orders nothing, and security sees which it is.
    await order(door)
    await heading(door, 'Read only')
    await door.getByText('This request was refused.').waitFor()
    await door.goBack()
    expect(await ordered(door).count()).to.equal(0)
    const security = await desk.elsewhere()
    await security.goto('/impersonations')
    await security.getByRole('button', { name: 'Dana Dorn' }).click()
    await security.getByRole('row', { name: 'Alice Archer' }).getByText('Read only').waitFor()

    // The customer is signed in elsewhere, where no one acts for them and they may order, and stays so.
    const customer = await desk.elsewhere()
    await customer.goto(`${new URL(door.url()).origin}/login`)
    await customer.getByRole('button', { name: 'Alice Archer' }).click()
    await customer.getByRole('button', { name: 'Allow' }).click()
    await heading(customer, 'Hello, Alice Archer')
    expect(await customer.getByRole('region', { name: /^Impersonation/ }).count()).to.equal(0)
    await order(customer)
    await ordered(customer).waitFor()
    expect((await record(page))[0]?.[STATE]).to.match(/^Live .* Read only$/)
    await note(page).getByRole('button', { name: 'Stop it' }).click()
    await notes(page, /You stopped the shop as Alice Archer at/)
    await notes(page, CONFIRMED)
    await isClosed(door)
    await look(door, 'shop-ended')
    await customer.reload()
    await heading(customer, 'Hello, Alice Archer')
    expect((await record(page))[0]?.[STATE]).to.match(/^Stopped by the engineer/)

    // By the button of its banner, which is no sign-out of the engineer. Who has to change things says what.
    await page.getByRole('link', { name: 'Customers' }).click()
    await askForShop(page)
    await page.getByLabel('I have to change things').check()
    await giveReason(page)
    await page.getByText('Enter what has to change.').waitFor()
    await look(page, 'desk-changes')
    await page.getByLabel('What has to change, and who asked for it').fill('A second teapot, by telephone')
    const left = await atDoor(page)
    await confirm(left, 'Alice Archer', 'Can change things')
    await order(left)
    await ordered(left, 1).waitFor()
    expect(logged(desk, 'shop.ordered').map(({ actor }) => actor)).to.deep.equal([undefined, 'sam'])
    expect((await record(page))[0]?.[STATE]).to.match(/^Live .* Can change things$/)
    await page.getByRole('link', { name: 'Customers' }).click()
    await security.reload()
    await security.getByRole('row', { name: 'Alice Archer' }).getByText('Can change things').waitFor()
    await left.getByRole('button', { name: 'Stop viewing' }).click()
    await isClosed(left)
    await notes(page, 'You left the shop as Alice Archer')
    expect(await colour(page)).to.equal('over')
    const bobs = await openShop(page, 'Bob Baker')
    await notes(page, 'The shop is open as Bob Baker')
    expect(await colour(page)).to.equal('')
    await page.getByRole('button', { name: 'View as Alice Archer' }).click()
    await page.getByText('This ends the shop as Bob Baker.').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await bobs.close()

    // By a colleague: the engineer is told who did and why.
    const stopped = await openShop(page)
    const colleague = await desk.elsewhere()
    await signIn(colleague, 'Robin Reed')
    await record(colleague)
    await stop(colleague)
    await isClosed(stopped)
    await notes(page, /Robin Reed stopped your view of Alice Archer/)
    await notes(page, CONFIRMED)

    // It is offered again by a page that was loaded anew, and ends with the sign-out.
    const last = await openShop(page)
    await page.reload()
    await signInAgain(page)
    await notes(page, 'The shop is open as Alice Archer')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await heading(page, 'Sign out?')
    await isClosed(last)
  })
})
