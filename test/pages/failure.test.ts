/** The page reports what does not work, and leaves nothing behind. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { ask, banner, heading, inChromium, logged, record, STATE, says, signIn, view } from './desk.ts'
import { expectNothingViewed, stopTime } from './shown.ts'

/** The next request to this address gets no response. */
const dropNext = (page: Page, address: string): Promise<unknown> =>
  page.route(address, (route) => route.abort(), { times: 1 })

inChromium('the support desk: failures', (openDesk) => {
  it('stops what it has started when the API does not respond', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await dropNext(page, '**/orders-api/orders')
    await ask(page, 'Alice Archer')
    await says(page, 'alert', 'No response. Check the connection and try again.')
    await expectNothingViewed(page)
    expect(await page.locator('#refused-wire .exchanged').count()).to.equal(2)
    expect(logged(desk, 'subject_token.revoked')).to.have.lengthOf(1)
    expect((await record(page)).map((row) => row[STATE]?.split(' ')[0])).to.deep.equal(['Ended'])
  })

  it('blames no token when the API cannot verify it', async () => {
    const { page } = await openDesk()
    await signIn(page)
    const error_description = 'access tokens cannot be verified at the moment'
    const response = { status: 503, json: { error: 'temporarily_unavailable', error_description } }
    await page.route('**/orders-api/orders', (route) => route.fulfill(response), { times: 1 })
    await ask(page, 'Alice Archer')
    await says(
      page,
      'alert',
      `The orders API could not do this: ${error_description}. Try again in a moment.`,
    )
    await expectNothingViewed(page)
  })

  it('keeps the reason for the next attempt, for the same customer, until it is used', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await dropNext(page, '**/backend/api/request-impersonation')
    await ask(page, 'Alice Archer', 'Half of the cups are missing')
    await says(page, 'alert', 'No response.')
    const reason = page.getByRole('textbox', { name: 'Reason' })
    await page.getByRole('button', { name: 'View as Alice Archer' }).click()
    expect(await reason.inputValue()).to.equal('Half of the cups are missing')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'View as Bob Baker' }).click()
    expect(await reason.inputValue()).to.equal('')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await view(page)
    await page.getByRole('link', { name: 'Customers' }).click()
    await page.getByRole('button', { name: 'View as Alice Archer' }).click()
    expect(await reason.inputValue()).to.equal('')
  })

  it('shows nothing any more when it ends, even if the backend cannot be reached', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page)
    await page.route('**/backend/api/impersonations/*/stop', (route) => route.abort())
    await banner(page).getByRole('button', { name: 'Stop viewing' }).click()
    await page.getByText('Your view of Alice Archer is still open on the record').waitFor()
    await expectNothingViewed(page)
    await page.unroute('**/backend/api/impersonations/*/stop')
    await page
      .getByRole('region', { name: 'not stopped yet' })
      .getByRole('button', { name: 'Try now' })
      .click()
    await says(page, 'status', 'The view of Alice Archer has ended.')
    expect((await record(page)).map((row) => row[STATE]?.split(' ')[0])).to.deep.equal(['Ended'])
  })

  it('keeps the view while the backend cannot be reached, says so, and ends it when the API refuses the token', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await stopTime(page)
    // A look may be under way, and the next one is left out then.
    await page.route('**/backend/api/impersonations/*', (route) => route.abort())
    const unseen = page.getByText('This page cannot see at the moment whether someone stops the view')
    while ((await unseen.count()) === 0) await page.clock.runFor(2000)
    await heading(page, 'Viewing as Alice Archer')
    await page.unroute('**/backend/api/impersonations/*')
    while ((await unseen.count()) > 0) await page.clock.runFor(2000)

    const error_description = 'the access token is invalid'
    const response = { status: 401, json: { error: 'invalid_token', error_description } }
    await page.route('**/invoice', (route) => route.fulfill(response), { times: 1 })
    await page.getByRole('button', { name: 'Invoice of order 1002' }).click()
    await says(page, 'alert', `The orders API refused the access token: ${error_description}.`)
    await expectNothingViewed(page)
    await heading(page, 'Customers')
  })

  it('accepts no code that it has not requested', async () => {
    const { page } = await openDesk()
    await page.goto('/callback?code=planted&state=planted')
    await says(page, 'alert', 'This did not work: this sign-in was started elsewhere, or has ended.')
    await heading(page, 'See what a customer sees')
    expect(new URL(page.url()).search).to.equal('')
  })

  it('accepts no callback with the state of another sign-in', async () => {
    const { page } = await openDesk()
    await page.goto('/')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await heading(page, 'Who are you?')
    await page.goto('/callback?code=planted&state=planted')
    await says(page, 'alert', 'This did not work')
    await heading(page, 'See what a customer sees')
    expect(await page.evaluate('sessionStorage.length')).to.equal(0)
  })

  it('keeps telling customers whom the desk is for, whichever view they open', async () => {
    const { page } = await openDesk()
    await page.goto('/')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Alice Archer' }).click()
    await page.getByRole('button', { name: 'Allow' }).click()
    await says(page, 'alert', 'for support engineers')
    const asking = page.waitForResponse('**/backend/api/impersonations?*')
    await page.evaluate("location.hash = 'record'")
    await asking
    await says(page, 'alert', 'for support engineers')
    await heading(page, 'Support desk')
  })

  it('sends one request when someone clicks twice', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await page.getByRole('button', { name: 'View as Alice Archer' }).click()
    await page.getByRole('textbox', { name: 'Reason' }).fill('A teapot is missing')
    await page.getByRole('textbox', { name: 'Ticket' }).fill('T-1')
    await page.getByRole('button', { name: 'Start' }).dblclick()
    await heading(page, 'Viewing as Alice Archer')
    expect(logged(desk, 'subject_token.issued')).to.have.lengthOf(1)
  })
})
