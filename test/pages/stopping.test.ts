/** A stop that cannot be missed or lost: it is seen to happen, it is tried again, and nothing comes before it. */
import { expect } from 'chai'
import type { Page, Route } from 'playwright-core'
import { ask, banner, heading, inChromium, logged, record, STATE, says, signIn, stop, view } from './desk.ts'
import { expectNothingViewed, stopTime } from './shown.ts'

const STOP = '**/backend/api/impersonations/*/stop'
const stopButton = (page: Page) => banner(page).getByRole('button', { name: 'Stop viewing' })
const unstopped = (page: Page) => page.getByRole('region', { name: 'Views that are not stopped yet' })
const openView = (page: Page) => page.getByRole('region', { name: 'A view that is still open' })
const signOut = (page: Page) => page.getByRole('button', { name: 'Sign out' })

/** Holds the next stop until the test lets it go on. */
async function holdStop(page: Page): Promise<{ readonly reached: Promise<Route> }> {
  const held = Promise.withResolvers<Route>()
  await page.route(STOP, (route) => held.resolve(route), { times: 1 })
  return { reached: held.promise }
}

/** Stops get no response from now on. Returns how many were sent. */
async function dropStops(page: Page): Promise<() => number> {
  let sent = 0
  await page.route(STOP, (route) => {
    sent++
    return route.abort()
  })
  return () => sent
}

const signInAgain = async (page: Page): Promise<void> => {
  await page.reload()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await heading(page, 'Customers')
}

inChromium('the support desk: a stop', (openDesk) => {
  it('keeps its row in place, says what becomes of it, and nothing else is hit by a double click', async () => {
    const desk = await openDesk()
    const { page } = desk
    await page.clock.install()
    await signIn(page)
    for (const width of [1000, 1180, 1280, 360]) {
      await page.setViewportSize({ width, height: 720 })
      await view(page)
      const before = await banner(page).boundingBox()
      const held = await holdStop(page)
      await banner(page).getByRole('button', { name: 'Stop' }).dblclick()
      const route = await held.reached
      await banner(page).getByText('Stopping …').waitFor()
      await expectNothingViewed(page)
      await heading(page, 'Customers')
      await route.continue()
      await banner(page)
        .getByText(/^Stopped \d\d:\d\d:\d\d$/)
        .waitFor()
      expect(await banner(page).boundingBox()).to.deep.equal(before)
      await says(page, 'status', 'The view of Alice Archer has ended.')
      await page.clock.runFor(3001)
      expect(await banner(page).count()).to.equal(0)
      expect(page.url()).to.equal(`${desk.baseUrl}/#customers`)
    }
    expect(logged(desk, 'subject_token.revoked')).to.have.lengthOf(4)
  })

  it('is sent also if the page is left at the same moment', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await view(page)
    await page.evaluate(`{
      const { fetch } = window
      window.fetch = (url, init) => {
        if (/\\/stop$/.test(url)) sessionStorage.setItem('kept', init.keepalive)
        return fetch(url, init)
      }
    }`)
    await page.evaluate(`{
      document.querySelector('impersonation-banner').dispatchEvent(new Event('end', { bubbles: true }))
      location.assign('/nowhere')
    }`)
    await page.waitForURL('**/nowhere')
    expect(await page.evaluate("sessionStorage.getItem('kept')")).to.equal('true')
    while (logged(desk, 'subject_token.revoked').length === 0)
      await page.evaluate('new Promise((done) => setTimeout(done, 10))')
  })

  it('that fails is tried again by itself until it succeeds, and says so', async () => {
    const desk = await openDesk()
    const { page } = desk
    await page.clock.install()
    await signIn(page)
    await view(page)
    await stopTime(page)
    const sent = await dropStops(page)
    await stopButton(page).click()
    await banner(page).getByText('Not stopped yet').waitFor()
    await expectNothingViewed(page)
    await unstopped(page)
      .getByText(
        /^Your view of Alice Archer is still open on the record, until [\d:]{8}\. It is not stopped yet: no response\. It is tried again by itself \(1\)\.$/,
      )
      .waitFor()
    for (const [pause, attempts] of [
      [1000, 2],
      [2000, 3],
      [4000, 4],
    ] as const) {
      await page.clock.runFor(pause - 1)
      expect(sent()).to.equal(attempts - 1)
      await page.clock.runFor(1)
      await unstopped(page).getByText(`(${attempts})`).waitFor()
    }
    // It is seen on every page.
    expect((await record(page))[0]?.[STATE]).to.match(/^Live /)
    await unstopped(page).getByText('(4)').waitFor()
    await page.unroute(STOP)
    await page.clock.runFor(8000)
    await says(page, 'status', 'The view of Alice Archer has ended.')
    await banner(page).getByText('Stopped').waitFor()
    await unstopped(page).waitFor({ state: 'hidden' })
    expect(logged(desk, 'subject_token.revoked')).to.have.lengthOf(1)
  })

  for (const where of ['banner', 'note'] as const) {
    it(`that fails is tried again at once when the ${where} is asked to`, async () => {
      const { page } = await openDesk()
      await page.clock.install()
      await signIn(page)
      await view(page)
      await stopTime(page)
      const sent = await dropStops(page)
      await stopButton(page).click()
      const now = (where === 'banner' ? banner(page) : unstopped(page)).getByRole('button', {
        name: 'Try now',
      })
      await now.click()
      await unstopped(page).getByText('(2)').waitFor()
      expect(sent()).to.equal(2)
      await page.unroute(STOP)
      await now.click()
      await says(page, 'status', 'The view of Alice Archer has ended.')
      await unstopped(page).waitFor({ state: 'hidden' })
    })
  }

  it('that fails is tried again while the backend refuses it, and until the token is over, but not longer', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await stopTime(page)
    let sent = 0
    const error_description = 'the provider cannot be reached'
    await page.route(STOP, (route) => {
      sent++
      return route.fulfill({ status: 503, json: { error: 'temporarily_unavailable', error_description } })
    })
    await stopButton(page).click()
    await unstopped(page).getByText(`It is not stopped yet: ${error_description}.`).waitFor()
    await page.clock.runFor(310_000)
    const over = 'The view of Alice Archer has ended because its access token has expired.'
    const said = page.getByRole('status').filter({ hasText: over })
    // An attempt that was under way then is followed by one more pause, which begins when it is answered.
    for (let looks = 0; looks < 40 && !(await said.isVisible()); looks++)
      await said.waitFor({ timeout: 250 }).catch(() => page.clock.runFor(30_000))
    await says(page, 'status', over)
    expect(await banner(page).count()).to.equal(0)
    expect(await unstopped(page).count()).to.equal(0)
    const before = sent
    await page.clock.runFor(100_000)
    expect(sent).to.equal(before)
  })

  it('that has failed is given up with the sign-in, and found again after the next one', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await stopTime(page)
    const sent = await dropStops(page)
    await stopButton(page).click()
    await unstopped(page).getByText('(1)').waitFor()
    await page.route(
      '**/backend/api/impersonations?*',
      (route) => route.fulfill({ status: 401, body: '{}' }),
      {
        times: 1,
      },
    )
    await page.getByRole('link', { name: 'Record', exact: true }).click()
    await says(page, 'alert', 'Your sign-in has ended')
    expect([await banner(page).count(), await unstopped(page).count()]).to.deep.equal([0, 0])
    await page.clock.runFor(60_000)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await heading(page, 'Record')
    await openView(page).getByText('Your view of Alice Archer is still open on the record').waitFor()
    expect(sent()).to.equal(1)
  })

  it('is waited for by the sign-out', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await view(page)
    const held = await holdStop(page)
    await stopButton(page).click()
    const route = await held.reached
    await signOut(page).dblclick()
    await page.getByRole('link', { name: 'Record', exact: true }).click()
    await heading(page, 'Record')
    await route.continue()
    await heading(page, 'Sign out?')
    expect(logged(desk, 'subject_token.revoked')).to.have.lengthOf(1)
  })

  it('is tried once more by the sign-out, which then goes on', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await stopTime(page)
    const sent = await dropStops(page)
    await stopButton(page).click()
    await unstopped(page).getByText('(1)').waitFor()
    await signOut(page).click()
    await heading(page, 'Sign out?')
    expect(sent()).to.equal(2)
  })

  it('from the note about an open view says so, is tried again, and the note stays until then', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page)
    await signInAgain(page)
    const held = await holdStop(page)
    await openView(page).getByRole('button', { name: 'Stop it' }).dblclick()
    const route = await held.reached
    await openView(page).getByRole('button', { name: 'Stopping …' }).waitFor()
    await route.abort()
    await says(page, 'status', 'The view of Alice Archer has ended.')
    expect([await openView(page).count(), await unstopped(page).count()]).to.deep.equal([0, 0])
  })

  it('from the record is tried again, too', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await record(page)
    await stopTime(page)
    await dropStops(page)
    await stop(page)
    await unstopped(page).getByText('Sam Sawyer viewing Alice Archer is still open on the record').waitFor()
    await page.unroute(STOP)
    await unstopped(page).getByRole('button', { name: 'Try now' }).click()
    await says(page, 'status', 'Stopped. This page has discarded its access token.')
    await expectNothingViewed(page)
  })

  it('of a view that is still open is offered whenever there is one', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await page.route('**/orders-api/orders', (route) => route.abort(), { times: 1 })
    await page.route(STOP, (route) => route.abort(), { times: 1 })
    await ask(page, 'Alice Archer')
    await openView(page).getByText('Your view of Alice Archer is still open on the record').waitFor()
    await openView(page).getByRole('button', { name: 'Stop it' }).click()
    await says(page, 'status', 'The view of Alice Archer has ended.')

    // In a tab that is closed without a word.
    const other = await page.context().newPage()
    await other.goto('/')
    await other.getByRole('button', { name: 'Sign in' }).click()
    await heading(other, 'Customers')
    await page.route('**/backend/api/session', (route) => route.abort(), { times: 1 })
    const missed = page.waitForRequest('**/backend/api/session')
    await view(other, 'Bob Baker')
    await missed
    await other.close()
    expect(await openView(page).count(), 'the page could not ask').to.equal(0)
    await record(page)
    await openView(page).getByText('Your view of Bob Baker is still open on the record').waitFor()
    await page.getByRole('link', { name: 'Customers' }).click()
    await openView(page).getByText('Your view of Bob Baker is still open on the record').waitFor()
  })
})
