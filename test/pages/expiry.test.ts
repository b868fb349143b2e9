/** What expires: the view, the permission to start one, and the sign-in. */
import { expect } from 'chai'
import { stopClock } from '../../fixtures/clock.ts'
import { ask, heading, inChromium, logged, record, rowsShown, STATE, says, signIn, view } from './desk.ts'
import { holdExchange, REFUSED } from './exchange.ts'
import { expectNothingViewed, remaining, stopTime } from './shown.ts'

inChromium('the support desk: expiry', (openDesk) => {
  it('ends the view by itself when the access token does', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await page.clock.fastForward(241_000)
    await says(page, 'status', 'Last minute')
    await heading(page, 'Viewing as Alice Archer')
    await page.clock.fastForward(60_000)
    await says(
      page,
      'status',
      'The view of Alice Archer has ended because its access token has expired. Start again to continue.',
    )
    await expectNothingViewed(page)
    await heading(page, 'Customers')
    await view(page)
  })

  it('ends the view with the sign-in, says so beforehand, and stops it on the record', async () => {
    const desk = await openDesk()
    const { page } = desk
    await page.clock.install()
    await signIn(page)
    await page.clock.fastForward(480_000)
    await page.getByRole('button', { name: 'View as Alice Archer' }).click()
    expect(await page.locator('#reason-lasts').innerText()).to.match(
      /^until [\d:]{8}, when your sign-in ends$/,
    )
    await page.getByRole('button', { name: 'Cancel' }).click()
    await view(page)
    const left = await remaining(page)
    expect(left).to.be.within(60, 116)
    await page.clock.fastForward((left - 40) * 1000)
    await says(page, 'status', 'Last minute')
    expect(await page.getByRole('button', { name: 'more minutes' }).count()).to.equal(0)
    await page.getByText(/^This view ends at [\d:]{8}, with your sign-in\.$/).waitFor()
    const stopped = page.waitForResponse('**/backend/api/impersonations/*/stop')
    await page.clock.fastForward(41_000)
    expect((await stopped).status()).to.equal(200)
    await expectNothingViewed(page)
    expect(logged(desk, 'subject_token.revoked')[0]?.revocation).to.deep.equal({
      cause: 'self',
      client: 'support-backend',
      by: 'sam',
    })
  })

  it('stays on the record when the view ends', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    expect((await record(page))[0]?.[STATE]).to.match(/^Live /)
    await page.clock.fastForward(301_000)
    await says(page, 'status', 'because its access token has expired')
    await expectNothingViewed(page)
    await heading(page, 'Record')
    // The row knows it, too, without a request.
    await page.locator('#record-rows .pill').getByText('Expired').waitFor()
    expect((await rowsShown(page))[0]?.slice(0, 1)).to.deep.equal(['5 minutes ago'])
    expect(await page.getByRole('button', { name: /^Stop/ }).count()).to.equal(0)
  })

  it('ends everything when the sign-in ends', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await page.clock.fastForward(601_000)
    await says(page, 'alert', 'Your sign-in has ended, and so has your view.')
    await expectNothingViewed(page)
    expect(await page.getByRole('navigation').count()).to.equal(0)
    expect(await page.locator('#people').innerHTML()).to.equal('')
  })

  it('says what to do when the subject token has expired before its exchange, and can start again', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    const exchange = await holdExchange(page)
    await ask(page, 'Alice Archer')
    const route = await exchange.reached()
    const clock = stopClock()
    try {
      clock.tick(61)
      await route.continue()
      await says(page, 'alert', REFUSED)
      await expectNothingViewed(page)
      await heading(page, 'Customers')
      expect(logged(desk, 'subject_token.refused').map(({ reason }) => reason)).to.deep.equal(['expired'])
      expect((await record(page)).map((row) => row[STATE])).to.deep.equal(['Never used'])
    } finally {
      clock.restore()
    }
    await page.getByRole('link', { name: 'Customers' }).click()
    await view(page)
  })

  it('asks to sign in again when the sign-in has ended for the backend', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    // Or the page might learn it from the record first.
    await page.route('**/backend/api/impersonations/*', () => {})
    await view(page)
    await stopTime(page)
    const clock = stopClock()
    try {
      clock.tick(601)
      await page.getByRole('link', { name: 'Record', exact: true }).click()
      await says(page, 'alert', 'Your sign-in has ended, and so has your view.')
    } finally {
      clock.restore()
    }
    await expectNothingViewed(page)
    expect(await page.getByRole('navigation').count()).to.equal(0)
    await page.clock.resume()
    // The provider's session is still alive.
    await page.getByRole('button', { name: 'Sign in' }).click()
    await heading(page, 'Record')
  })

  it('says so, too, when the view ends after the sign-in has ended for the backend', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await page.clock.fastForward(480_000)
    await view(page)
    const left = await remaining(page)
    // Or the page might learn it from the record first.
    await page.route('**/backend/api/impersonations/*', () => {})
    const clock = stopClock()
    try {
      clock.tick(601)
      const refused = page.waitForResponse('**/backend/api/impersonations/*/stop')
      await page.clock.fastForward(left * 1000)
      expect((await refused).status()).to.equal(401)
      await says(page, 'alert', 'Your sign-in has ended, and so has your view.')
    } finally {
      clock.restore()
    }
    await expectNothingViewed(page)
  })
})
