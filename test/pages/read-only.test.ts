/** Read only, as people see it: the shop opened by an engineer, its order button, and what each page says of it. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { deskInChromium, giveReason, heading, logged, record, STATE, signIn, words } from './desk.ts'
import { look } from './look.ts'

const WHAT_HAS_TO_CHANGE = 'What has to change, and who asked for it'

const askForShop = (page: Page) => page.getByRole('button', { name: 'Open the shop as Alice Archer' }).click()

/** Confirms at the door, which says this. */
async function openShop(page: Page, start: () => Promise<void>, said: string): Promise<Page> {
  const opened = page.context().waitForEvent('page')
  await start()
  const shop = await opened
  const access = shop.locator('dt', { hasText: 'Access' }).locator('xpath=following-sibling::dd')
  expect(await access.innerText()).to.equal(said)
  await shop.getByRole('button', { name: 'Open as Alice Archer' }).click()
  await heading(shop, 'Hello, Alice Archer')
  const banner = shop.getByRole('region', { name: 'Impersonation of Alice Archer' })
  expect(words(await banner.innerText())).to.include(` ${said} `)
  return shop
}

const order = (shop: Page) => shop.getByRole('button', { name: 'Order a new teapot' }).click()
const ordered = (shop: Page) => shop.getByText('A new teapot', { exact: true }).count()

deskInChromium('example: read only', (openDesk) => {
  it('refuses an order that an engineer places who only looks, takes it from the customer, and everyone can see which it is', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await askForShop(page)
    const shop = await openShop(page, () => giveReason(page), 'Read only')
    await look(shop, 'shop-read-only')
    await order(shop)
    await heading(shop, 'Read only')
    await shop.getByText('This request was refused.').waitFor()
    await shop.goBack()
    expect(await ordered(shop)).to.equal(0)
    await page.getByRole('region', { name: 'The shop, as a customer' }).getByText('Read only.').waitFor()
    expect((await record(page))[0]?.[STATE]).to.match(/^Live .* Read only$/)
    const security = await desk.elsewhere()
    await security.goto('/impersonations')
    await security.getByRole('button', { name: 'Dana Dorn' }).click()
    await security.getByRole('row', { name: 'Alice Archer' }).getByText('Read only').waitFor()

    const customer = await desk.elsewhere()
    await customer.goto(`${new URL(shop.url()).origin}/login`)
    await customer.getByRole('button', { name: 'Alice Archer' }).click()
    await customer.getByRole('button', { name: 'Allow' }).click()
    await heading(customer, 'Hello, Alice Archer')
    await order(customer)
    await customer.getByText('A new teapot', { exact: true }).waitFor()

    // Who has to change things says what, too.
    await page.getByRole('link', { name: 'Customers' }).click()
    await askForShop(page)
    await page.getByLabel('I have to change things').check()
    await giveReason(page)
    await page.getByText('Enter what has to change.').waitFor()
    await look(page, 'desk-changes')
    await page.getByLabel(WHAT_HAS_TO_CHANGE).fill('A second teapot, by telephone')
    const start = page.getByRole('button', { name: 'Start' })
    const writing = await openShop(page, () => start.click(), 'Can change things')
    await order(writing)
    await writing.getByText('A new teapot', { exact: true }).nth(1).waitFor()
    expect(logged(desk, 'shop.ordered').map(({ actor }) => actor)).to.deep.equal([undefined, 'sam'])
    expect((await record(page))[0]?.[STATE]).to.match(/^Live .* Can change things$/)
    await security.reload()
    await security.getByRole('row', { name: 'Alice Archer' }).getByText('Can change things').waitFor()
  })
})
