/** axe-core finds nothing, and nothing overflows: in every state, light and dark, on a desktop and on a phone. */
import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import axe from 'axe-core'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { allowMoreTime } from '../../fixtures/limits.ts'
import { ask, banner, choose, heading, inChromium, record, says, signIn, view } from './desk.ts'

/** For people to look at after a run. Git ignores it. */
const SCREENSHOTS = path.resolve(import.meta.dirname, 'screenshots')

const WIDTHS = [1280, 360]
const SCHEMES = ['light', 'dark'] as const

inChromium('the support desk: for everyone', (openDesk) => {
  before(() => {
    rmSync(SCREENSHOTS, { recursive: true, force: true })
    mkdirSync(SCREENSHOTS)
  })

  it('has no accessibility violation and no overflow in any state', async () => {
    const { page } = await openDesk()
    await page.goto('/')
    await heading(page, 'See what a customer sees')
    await look(page, 'signed-out')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await heading(page, 'Who are you?')
    await look(page, 'login')
    await page.getByRole('button', { name: 'Sam Sawyer' }).click()
    await heading(page, 'Let Support desk know who you are?')
    await look(page, 'consent')
    await page.getByRole('button', { name: 'Allow' }).click()
    await heading(page, 'Customers')
    await look(page, 'customers')

    await page.getByRole('button', { name: 'View as Alice Archer' }).click()
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('Enter a reason.').waitFor()
    await look(page, 'dialog')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await ask(page, 'Carol Cole')
    await says(page, 'alert', 'is protected')
    await look(page, 'refusal')
    await view(page)
    await page.getByRole('button', { name: 'Invoice of order 1001' }).click()
    await page.getByRole('heading', { name: 'Invoice R-2026-1001' }).waitFor()
    await look(page, 'viewing')
    await page.getByText('How this works').click()
    for (const summary of await page.locator('.exchanged summary').all()) await summary.click()
    await look(page, 'drawer')
    await page.getByRole('link', { name: 'Customers' }).click()
    await page.getByLabel('Find a customer').fill('no such person')
    await page.getByText('No one is found').waitFor()
    await look(page, 'no-customers')
    await page.getByLabel('Find a customer').fill('bob')
    await page.getByText('1 person').waitFor()
    await view(page, 'Bob Baker')
    await record(page)
    await look(page, 'record')
    await page.getByRole('button', { name: 'Details of Sam Sawyer viewing Bob Baker' }).click()
    await look(page, 'details')
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Stop Sam Sawyer viewing Bob Baker' }).click()
    await look(page, 'stop-dialog')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await banner(page).getByRole('button', { name: 'Stop' }).click()
    await says(page, 'status', 'has ended')
    await look(page, 'ended')
    await view(page, 'Bob Baker')
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('is still open on the record').waitFor()
    await look(page, 'still-open')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await heading(page, 'Sign out?')
    await look(page, 'sign-out')
  })

  it('has none in the shop, from the button of the desk to the end', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await page.getByRole('button', { name: 'Open the shop as Alice Archer' }).click()
    await page.getByRole('textbox', { name: 'Reason' }).fill('A teapot is missing')
    await page.getByLabel('Ticket').fill('T-1')
    const opened = page.context().waitForEvent('page')
    await page.getByRole('button', { name: 'Start' }).click()
    const shop = await opened
    const confirm = shop.getByRole('button', { name: 'Open as Alice Archer' })
    await confirm.waitFor()
    await look(shop, 'door')
    await confirm.click()
    await heading(shop, 'Hello, Alice Archer')
    await look(shop, 'shop')
    await page.getByText('The shop is open as Alice Archer').waitFor()
    await look(page, 'shop-note')
    await page.getByRole('button', { name: 'End it' }).click()
    await page.getByText('that its own session is over').waitFor()
    await look(page, 'shop-confirmed')
    await shop.getByRole('button', { name: 'Continue as Sam Sawyer' }).click()
    await heading(shop, 'This session has ended')
    await look(shop, 'shop-ended')
  })

  it('has none on the error pages', async () => {
    const { page } = await openDesk()
    await page.goto('/oidc/auth?client_id=unknown')
    await heading(page, 'This did not work')
    await look(page, 'error')
    await page.goto('/login/over')
    await heading(page, 'This sign-in has ended')
    await look(page, 'sign-in-over')
    await page.goto('/oidc/session/end/success')
    await heading(page, 'You are signed out')
    await look(page, 'signed-out-by-provider')
    await choose(page, 'Alice Archer')
    await page.getByRole('button', { name: 'Allow' }).click()
    await says(page, 'alert', 'for support engineers')
    await look(page, 'customer-at-the-desk')
  })
})

async function look(page: Page, state: string): Promise<void> {
  allowMoreTime()
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 })
    expect(await page.evaluate(OVERFLOW), `${state} at ${width} px`).to.equal(0)
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme })
      const name = `${state}-${width}-${colorScheme}`
      expect(await violations(page), name).to.deep.equal([])
      await page.evaluate('scrollTo(0, 0)')
      await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), fullPage: true })
    }
  }
}

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
