/** A stop that cannot be missed or lost: it is seen to happen, it is tried again, and nothing comes before it. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import {
  ask,
  banner,
  deskInChromium,
  expectNothingViewed,
  heading,
  hold,
  logged,
  record,
  STATE,
  says,
  signIn,
  signInAgain,
  stop,
  stopTime,
  view,
} from './desk.ts'

const STOP = '**/backend/api/impersonations/*/stop'
const stopButton = (page: Page) => banner(page).getByRole('button', { name: 'Stop viewing' })
const unstopped = (page: Page) => page.getByRole('region', { name: 'Views that are not stopped yet' })
const openView = (page: Page) => page.getByRole('region', { name: 'A view that is still open' })
const signOut = (page: Page) => page.getByRole('button', { name: 'Sign out' })

/** Stops get no response from now on. Returns how many were sent. */
async function dropStops(page: Page): Promise<() => number> {
  let sent = 0
  await page.route(STOP, (route) => {
    sent++
    return route.abort()
  })
  return () => sent
}

const stillOpen = (page: Page, name: string) =>
  openView(page).getByText(`Your view of ${name} is still open on the record`).waitFor()

const hasEnded = (page: Page) => says(page, 'status', 'The view of Alice Archer has ended.')

deskInChromium('the support desk: a stop', (openDesk) => {
  it('that fails is tried again, by itself and at once, until it succeeds or nothing is left to stop', async () => {
    const desk = await openDesk()
    const { page, log } = desk
    await page.clock.install()
    await signIn(page)
    // The row stays in place and says what becomes of the stop; nothing else is hit by a double click.
    for (const width of [1000, 1180, 1280, 360]) {
      await page.setViewportSize({ width, height: 720 })
      await view(page)
      const before = await banner(page).boundingBox()
      const held = await hold(page, STOP)
      await banner(page).getByRole('button', { name: 'Stop' }).dblclick()
      const route = await held.reached
      await banner(page).getByText('Stopping …').waitFor()
      await expectNothingViewed(page)
      await heading(page, 'Customers')
      await route.continue()
      const stopped = banner(page).getByText(/^Stopped \d\d:\d\d:\d\d$/)
      await stopped.waitFor()
      expect(await banner(page).boundingBox()).to.deep.equal(before)
      await hasEnded(page)
      await page.clock.runFor(3001)
      expect(await banner(page).count()).to.equal(0)
      expect(page.url()).to.equal(`${desk.baseUrl}/#customers`)
    }
    expect(logged(desk, 'subject_token.revoked')).to.have.lengthOf(4)

    await page.setViewportSize({ width: 1280, height: 720 })
    log.length = 0
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
    await hasEnded(page)
    await banner(page).getByText('Stopped').waitFor()
    await unstopped(page).waitFor({ state: 'hidden' })
    expect(logged(desk, 'subject_token.revoked')).to.have.lengthOf(1)

    // When the banner is asked to, or the note.
    for (const where of [banner(page), unstopped(page)]) {
      await page.getByRole('link', { name: 'Customers' }).click()
      await view(page)
      const attempts = await dropStops(page)
      await stopButton(page).click()
      await where.getByRole('button', { name: 'Try now' }).click()
      await unstopped(page).getByText('(2)').waitFor()
      expect(attempts()).to.equal(2)
      await page.unroute(STOP)
      await where.getByRole('button', { name: 'Try now' }).click()
      await hasEnded(page)
      await unstopped(page).waitFor({ state: 'hidden' })
    }

    // From the record, too.
    await view(page)
    await record(page)
    await dropStops(page)
    await stop(page)
    await unstopped(page).getByText('Sam Sawyer viewing Alice Archer is still open on the record').waitFor()
    await page.unroute(STOP)
    await unstopped(page).getByRole('button', { name: 'Try now' }).click()
    await says(page, 'status', 'Stopped. This page has discarded its access token.')
    await expectNothingViewed(page)

    // While the backend refuses it, until its token is over, and not longer.
    await page.getByRole('link', { name: 'Customers' }).click()
    await view(page)
    let refused = 0
    const error_description = 'the provider cannot be reached'
    await page.route(STOP, (route) => {
      refused++
      return route.fulfill({ status: 503, json: { error: 'temporarily_unavailable', error_description } })
    })
    await stopButton(page).click()
    await unstopped(page).getByText(`It is not stopped yet: ${error_description}.`).waitFor()
    await page.clock.runFor(310_000)
    const over = 'The view of Alice Archer has ended because its access token has expired.'
    const said = page.getByRole('status').filter({ hasText: over })
    // An attempt that was under way then is followed by one more pause, which begins when it is answered.
    for (let looks = 0; looks < 20 && !(await said.isVisible()); looks++)
      await said.waitFor({ timeout: 250 }).catch(() => page.clock.runFor(30_000))
    await says(page, 'status', over)
    expect(await banner(page).count()).to.equal(0)
    expect(await unstopped(page).count()).to.equal(0)
    const before = refused
    await page.clock.runFor(100_000)
    expect(refused).to.equal(before)
    await page.unroute(STOP)
  })

  it('that has failed ends with the sign-in, is waited for by the sign-out, and is offered wherever a view is open', async () => {
    const desk = await openDesk()
    const { page, log } = desk
    await page.clock.install()
    await signIn(page)
    await view(page)
    await stopTime(page)
    const sent = await dropStops(page)
    await stopButton(page).click()
    await unstopped(page).getByText('(1)').waitFor()
    const over = { status: 401, body: '{}' }
    await page.route('**/backend/api/impersonations?*', (route) => route.fulfill(over), { times: 1 })
    await page.getByRole('link', { name: 'Record', exact: true }).click()
    await says(page, 'alert', 'Your sign-in has ended')
    expect([await banner(page).count(), await unstopped(page).count()]).to.deep.equal([0, 0])
    await page.clock.runFor(60_000)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await heading(page, 'Record')
    await stillOpen(page, 'Alice Archer')
    expect(sent()).to.equal(1)
    // The sign-out tries once more, and then goes on.
    await page.getByRole('link', { name: 'Customers' }).click()
    await view(page)
    await stopButton(page).click()
    await unstopped(page).getByText('(1)').waitFor()
    await signOut(page).click()
    await heading(page, 'Sign out?')
    expect(sent()).to.equal(3)
    await page.unroute(STOP)
    await page.clock.resume()

    // Left at the same moment.
    await page.goto('/')
    await signInAgain(page)
    await view(page)
    log.length = 0
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

    // From the note, which stays until then.
    await page.goto('/')
    await signInAgain(page)
    await view(page)
    await page.reload()
    await signInAgain(page)
    const held = await hold(page, STOP)
    await openView(page).getByRole('button', { name: 'Stop it' }).dblclick()
    const route = await held.reached
    await openView(page).getByRole('button', { name: 'Stopping …' }).waitFor()
    await route.abort()
    await hasEnded(page)
    expect([await openView(page).count(), await unstopped(page).count()]).to.deep.equal([0, 0])

    // A view that did not start, and could not be stopped.
    await page.route('**/orders-api/orders', (route) => route.abort(), { times: 1 })
    await page.route(STOP, (route) => route.abort(), { times: 1 })
    await ask(page, 'Alice Archer')
    await stillOpen(page, 'Alice Archer')
    await openView(page).getByRole('button', { name: 'Stop it' }).click()
    await hasEnded(page)

    // In a tab that is closed without a word.
    const other = await page.context().newPage()
    await other.goto('/')
    await signInAgain(other)
    await page.route('**/backend/api/session', (route) => route.abort(), { times: 1 })
    const missed = page.waitForRequest('**/backend/api/session')
    await view(other, 'Bob Baker')
    await missed
    await other.close()
    expect(await openView(page).count(), 'the page could not ask').to.equal(0)
    await record(page)
    await stillOpen(page, 'Bob Baker')
    await page.getByRole('link', { name: 'Customers' }).click()
    await stillOpen(page, 'Bob Baker')

    // In another tab, which is found again by a page that was loaded anew.
    await view(page)
    const another = await page.context().newPage()
    await another.goto('/')
    await signInAgain(another)
    await stillOpen(another, 'Alice Archer')
    await view(another, 'Bob Baker')
    await says(page, 'alert', /^You stopped your view of Alice Archer at [\d:]{8}, in another tab\./)
    await expectNothingViewed(page)
    await page.reload()
    await heading(page, 'See what a customer sees')
    await signInAgain(page)
    await stillOpen(page, 'Bob Baker')
    await page.getByRole('button', { name: 'Continue here' }).click()
    await heading(page, 'Viewing as Bob Baker')
    const states = (await record(page)).map((row) => row[STATE]?.split(' ')[0])
    expect(states.slice(0, 3)).to.deep.equal(['Live', 'Continued', 'Stopped'])

    // The sign-out waits for it.
    log.length = 0
    const last = await hold(page, STOP)
    await stopButton(page).click()
    const awaited = await last.reached
    await signOut(page).dblclick()
    await page.getByRole('link', { name: 'Customers' }).click()
    await heading(page, 'Customers')
    await awaited.continue()
    await heading(page, 'Sign out?')
    expect(logged(desk, 'subject_token.revoked')).to.have.lengthOf(1)
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await heading(page, 'See what a customer sees')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await heading(page, 'Who are you?')
  })
})
