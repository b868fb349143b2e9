import type { Page } from 'playwright-core'
import { signIn, start, startForPictures, stopAtConsole } from './desk.ts'
import type { Scenery } from './scenery.ts'

/** The shop, opened from the desk as a customer, and stopped at the console. */
export async function openShop(): Promise<Scenery> {
  const { example, close } = await startForPictures()
  let shop: Page
  let security: Page
  return {
    baseUrl: example.baseUrl,
    views: {
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
        await shop.getByRole('button', { name: 'Open as Alice Archer' }).click()
        await shop.getByRole('heading', { name: 'Hello, Alice Archer' }).waitFor()
        return shop
      },
      async 'shop-4-stop'(page) {
        security = await stopAtConsole(page, example.baseUrl)
        await security.evaluate('scrollTo(0, 0)')
        return security
      },
      async 'shop-5-ended'() {
        await security.getByRole('button', { name: /^Stop/ }).click()
        await shop.getByRole('button', { name: /^Continue as/ }).waitFor()
        return shop
      },
      async 'shop-6-confirmed'(page) {
        await page.getByText('that its own session is over').waitFor()
      },
    },
    close,
  }
}
