/** Two pages of one browser share the backend's session, and views may overlap with what happens elsewhere. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { ask, heading, inChromium, logged, record, rowsShown, STATE, says, signIn, view } from './desk.ts'
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
  it('show one view between them: what one starts or stops, the other knows', async () => {
    const desk = await openDesk()
    const { page } = desk
    await page.clock.install()
    await signIn(page)
    const other = await secondTab(page)
    await view(page)
    // The first tab asks by no timer from here on: it must hear from the second.
    await page.clock.pauseAt(Date.now() + 10_000)
    const open = other.getByRole('region', { name: 'A view that is still open' })
    await open.filter({ hasText: 'Your view of Alice Archer is still open on the record' }).waitFor()
    await view(other, 'Bob Baker')
    await says(page, 'alert', /^You stopped your view of Alice Archer at [\d:]{8}, in another tab\./)
    await expectNothingViewed(page)
    await heading(page, 'Customers')
    expect(logged(desk, 'subject_token.revoked').map(({ userId }) => userId)).to.deep.equal(['alice'])

    // The first tab can end what runs in the second.
    await page.getByRole('region', { name: 'A view that is still open' }).getByText('Bob Baker').waitFor()
    await page.getByRole('button', { name: 'Stop it' }).click()
    await says(page, 'status', 'The view of Bob Baker has ended.')
    await says(other, 'alert', 'You stopped your view of Bob Baker')
    await expectNothingViewed(other)
    expect(logged(desk, 'subject_token.revoked').map(({ userId }) => userId)).to.deep.equal(['alice', 'bob'])
  })

  it('find the view that is still open after a reload, and continue it or stop it', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await view(page)
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await heading(page, 'Customers')
    expect(new URL(page.url()).hash).to.equal('#customers')
    await page.getByRole('button', { name: 'Continue here' }).click()
    await heading(page, 'Viewing as Alice Archer')
    const [again, before, ...others] = await record(page)
    expect(others).to.deep.equal([])
    expect(again?.slice(3, 5)).to.deep.equal(before?.slice(3, 5))
    expect([again, before].map((row) => row?.[STATE]?.split(' ')[0])).to.deep.equal(['Live', 'Continued'])

    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await heading(page, 'Record')
    await page.getByRole('button', { name: 'Stop it' }).click()
    await says(page, 'status', 'The view of Alice Archer has ended.')
    expect((await rowsShown(page)).map((row) => row[STATE]?.split(' ')[0])).to.deep.equal([
      'Ended',
      'Continued',
    ])
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('2 shown.').waitFor()
    expect(await page.getByText('is still open').count()).to.equal(0)
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
    await page.getByRole('link', { name: 'Record', exact: true }).click()
    await says(page, 'alert', 'Your sign-in has ended')
    const tidied = page.waitForRequest('**/backend/api/impersonations/*/stop')
    release()
    await tidied
    await says(page, 'alert', 'Your sign-in has ended')
    await expectNothingViewed(page)
    await heading(page, 'See what a customer sees')
  })
})
