/** A laptop that sleeps: its clock goes on meanwhile, and its timers do not. */
import type { Page } from 'playwright-core'
import { heading, inChromium, says, signIn, view } from './desk.ts'
import { expectNothingViewed } from './shown.ts'

/** Milliseconds until every timer that looks at the clock has done so. */
const AWAKE = 1000

async function sleep(page: Page, milliseconds: number): Promise<void> {
  const now = await page.evaluate<number>('Date.now()')
  await page.clock.setSystemTime(now + milliseconds)
  await page.clock.runFor(AWAKE)
}

inChromium('the support desk: after a sleep', (openDesk) => {
  it('offers more minutes, and ends the view', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await sleep(page, 245_000)
    await page.getByRole('button', { name: '5 more minutes' }).waitFor()
    await sleep(page, 60_000)
    await says(page, 'status', 'The view of Alice Archer has ended because its access token has expired.')
    await expectNothingViewed(page)
    await heading(page, 'Customers')
  })

  it('no longer says that a view is open that has ended meanwhile', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).click()
    const open = page.getByRole('region', { name: 'A view that is still open' })
    await open.waitFor()
    await sleep(page, 301_000)
    await open.waitFor({ state: 'hidden' })
  })

  it('has ended everything with the sign-in', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await sleep(page, 601_000)
    await says(page, 'alert', 'Your sign-in has ended, and so has your view.')
    await heading(page, 'See what a customer sees')
  })
})
