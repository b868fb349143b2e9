import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { startExample } from '../../example/deployment.ts'
import type { Scenery } from './console.ts'

/** The running example: `viewsOf` has what is shown of it, by its address. */
async function openExample(viewsOf: (baseUrl: string) => Scenery['views']): Promise<Scenery> {
  const folder = mkdtempSync(path.join(tmpdir(), 'impersonation-screenshots-'))
  const { baseUrl, close } = await startExample({ port: 0, storage: path.join(folder, 'desk.sqlite') })
  return {
    baseUrl,
    views: viewsOf(baseUrl),
    async close() {
      await close()
      rmSync(folder, { recursive: true })
    },
  }
}

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click()

/** Signs in as an engineer. */
async function signIn(page: Page): Promise<void> {
  await page.goto('/')
  for (const name of ['Sign in', 'Sam Sawyer', 'Allow']) await press(page, name)
}

/** Presses a button of a customer, and gives a reason. */
async function start(page: Page, name: string): Promise<void> {
  await press(page, name)
  await page.getByRole('textbox', { name: 'Reason' }).fill('A teapot is missing from the last order')
  await page.getByLabel('Ticket').fill('T-1')
  await press(page, 'Start')
}

/** The page of the console that asks why, filled in, in a browser profile of its own. */
async function stopAtConsole(page: Page, baseUrl: string): Promise<Page> {
  const looks = { viewport: page.viewportSize(), deviceScaleFactor: 1.5 }
  const profile = await page
    .context()
    .browser()
    ?.newContext({ baseURL: baseUrl, ...looks })
  if (!profile) throw new Error('the browser is gone')
  const security = await profile.newPage()
  await security.goto('/impersonations')
  await press(security, 'Dana Dorn')
  const row = security.getByRole('row').filter({ hasText: 'Sam Sawyer' })
  await row.getByRole('link', { name: /^Stop/ }).click()
  await security.getByLabel(/reason/i).fill('The ticket is closed')
  return security
}

/** A view that security stops at the console: the desk of the engineer says so. */
export const openDesk = (): Promise<Scenery> =>
  openExample((baseUrl) => ({
    async 'desk-stopped'(page) {
      await signIn(page)
      await start(page, 'View as Alice Archer')
      await page.getByRole('heading', { level: 1, name: 'Viewing as Alice Archer' }).waitFor()
      const security = await stopAtConsole(page, baseUrl)
      await press(security, /^Stop/)
      await page.getByRole('alert').filter({ hasText: 'Dana Dorn stopped your view' }).waitFor()
      await security.context().close()
    },
  }))

/** The shop, opened from the desk as a customer, and stopped at the console. */
export function openShop(): Promise<Scenery> {
  let shop: Page
  let security: Page
  return openExample((baseUrl) => ({
    async 'shop-1-desk'(page) {
      await signIn(page)
      await page.getByRole('button', { name: 'Open the shop as Alice Archer' }).hover()
    },
    async 'shop-2-door'(page) {
      const opened = page.context().waitForEvent('page')
      await start(page, 'Open the shop as Alice Archer')
      shop = await opened
      await shop.getByRole('button', { name: 'Open as Alice Archer' }).waitFor()
      return shop
    },
    async 'shop-3-shop'() {
      await press(shop, 'Open as Alice Archer')
      await shop.getByRole('heading', { name: 'Hello, Alice Archer' }).waitFor()
      return shop
    },
    async 'shop-4-stop'(page) {
      security = await stopAtConsole(page, baseUrl)
      await security.evaluate('scrollTo(0, 0)')
      return security
    },
    async 'shop-5-ended'() {
      await press(security, /^Stop/)
      await shop.getByRole('button', { name: /^Continue as/ }).waitFor()
      return shop
    },
    async 'shop-6-confirmed'(page) {
      await page.getByText('that its own session is over').waitFor()
    },
  }))
}
