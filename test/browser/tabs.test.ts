/** Two pages of one browser share the backend's session, and views may overlap with what happens elsewhere. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { ask, banner, heading, inChromium, logged, says, signIn, view } from './desk.ts'
import { expectNothingViewed } from './shown.ts'

async function secondTab(page: Page): Promise<Page> {
  const other = await page.context().newPage()
  await other.goto('/')
  // The provider already knows the person.
  await other.getByRole('button', { name: 'Sign in' }).click()
  await heading(other, 'Customers')
  return other
}

inChromium('the support desk: two tabs', (openDesk) => {
  it('each end what they have started', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    const other = await secondTab(page)
    await view(page)
    await view(other, 'Bob Baker')
    await banner(page).getByRole('button', { name: 'Stop viewing' }).click()
    await says(page, 'status', 'The view of Alice Archer has ended.')
    // The start of the second view has ended the first; no one has ended the second.
    expect(logged(desk, 'subject_token.revoked').map(({ userId }) => userId)).to.deep.equal(['alice'])
    await banner(other).getByRole('button', { name: 'Stop viewing' }).click()
    await says(other, 'status', 'The view of Bob Baker has ended.')
    expect(logged(desk, 'subject_token.revoked').map(({ userId }) => userId)).to.deep.equal(['alice', 'bob'])
  })

  it('show nothing that was started before the sign-in ended', async () => {
    const { page } = await openDesk()
    await signIn(page)
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/orders-api/orders', async (route) => {
      await held
      await route.continue()
    })
    const asked = page.waitForRequest('**/orders-api/orders')
    await ask(page, 'Alice Archer')
    await asked
    await page.route('**/backend/api/impersonations?*', (route) => route.fulfill({ status: 401, body: '{}' }))
    await page.getByRole('link', { name: 'Record' }).click()
    await says(page, 'alert', 'Your sign-in has ended')
    const tidied = page.waitForRequest('**/backend/api/impersonations/*/stop')
    release()
    await tidied
    await says(page, 'alert', 'Your sign-in has ended')
    await expectNothingViewed(page)
    await heading(page, 'See what a customer sees')
  })
})
