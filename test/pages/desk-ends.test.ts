/** How a view ends: by someone else, by its time, by a thief, and where something does not respond. Nothing of it stays. */
import { expect } from 'chai'
import type { Page, Request } from 'playwright-core'
import { STATUS_LIST_TTL } from '../../example/impersonation.ts'
import { whileStopped } from '../../fixtures/clock.ts'
import {
  ask,
  banner,
  deskInChromium,
  expectNothingViewed,
  heading,
  hold,
  logged,
  record,
  remaining,
  STATE,
  says,
  signIn,
  stop,
  view,
  WHY_STOPPED,
} from './desk.ts'

/** The message for every subject token that cannot be exchanged, for whatever reason. */
const REFUSED =
  'The identity provider refused the exchange: subject_token is invalid. Nothing is being viewed. ' +
  "The reason is recorded in the operator's log only: " +
  'the token may have been used before, stopped, or may have expired. ' +
  'Start again to get a new one.'

/** As a laptop does: its clock goes on meanwhile, and its timers do not. */
async function sleep(page: Page, milliseconds: number): Promise<void> {
  await page.clock.setSystemTime((await page.evaluate<number>('Date.now()')) + milliseconds)
  await page.clock.runFor(1000)
}

/** The page's request, sent by someone else. */
const replay = (request: Request): Promise<Response> =>
  fetch(request.url(), {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: request.postData(),
  })

const moreMinutes = (page: Page) => page.getByRole('button', { name: '5 more minutes' })

deskInChromium('the support desk: the end of a view', (openDesk) => {
  it('by its time: it offers more minutes before, also after a sleep, and the sign-in ends everything', async () => {
    const desk = await openDesk()
    const { page } = desk
    await page.clock.install()
    await signIn(page)
    await view(page)
    await sleep(page, 245_000)
    await moreMinutes(page).click()
    await heading(page, 'Viewing as Alice Archer')
    await moreMinutes(page).waitFor({ state: 'hidden' })
    const [first, second] = logged(desk, 'subject_token.issued')
    expect(logged(desk, 'subject_token.revoked').map(({ revocation }) => revocation)).to.deep.equal([
      { cause: 'continued', client: 'support-backend', by: 'sam', continuedBy: second?.id },
    ])
    expect(second?.id).not.to.equal(first?.id)
    // Its own time ends after that of the sign-in: the page says so, and offers no minutes that there are not.
    await page.getByText(/^This view ends at [\d:]{8}\.$/).waitFor()
    await page.clock.fastForward((await remaining(page)) * 1000 + 1000)
    await says(page, 'status', 'The view of Alice Archer has ended because its access token has expired.')
    await expectNothingViewed(page)
    await ask(page, 'Alice Archer', 'A kept secret')
    await page.getByText(/^This view ends at [\d:]{8}, with your sign-in\.$/).waitFor()
    expect(await page.getByRole('button', { name: 'more minutes' }).count()).to.equal(0)
    // The end of its stop would have the last word.
    await hold(page, '**/backend/api/impersonations/*/stop')
    await sleep(page, 301_000)
    await says(page, 'alert', 'Your sign-in has ended, and so has your view.')
    await expectNothingViewed(page)
    expect(await page.getByRole('navigation').count()).to.equal(0)
    expect(await page.locator('#reason').inputValue()).to.equal('')
  })

  it('by a colleague, by security, by a thief, and where something does not respond: the page says who and why', async () => {
    const desk = await openDesk()
    const { page, log } = desk
    await page.clock.install()
    await signIn(page)
    const colleague = await desk.elsewhere()
    await signIn(colleague, 'Robin Reed')
    const exchange = await hold(page, '**/oidc/token')
    await ask(page, 'Alice Archer')
    const route = await exchange.reached
    expect((await record(colleague))[0]?.[STATE]).to.equal('Not used yet Read only')
    await stop(colleague)
    await says(colleague, 'status', 'Stopped. Its subject token can no longer be exchanged.')
    await route.continue()
    await says(page, 'alert', REFUSED)
    await expectNothingViewed(page)

    const call = page.waitForRequest('**/orders-api/orders')
    await view(page)
    const authorization = (await (await call).headerValue('authorization')) ?? ''
    const status = async () =>
      (await fetch(`${desk.baseUrl}/orders-api/orders`, { headers: { authorization } })).status
    expect(await status()).to.equal(200)
    // Or the row of the new view would come with the next look, seconds later.
    await colleague.getByRole('link', { name: 'Customers' }).click()
    await record(colleague)
    await stop(colleague)
    await says(colleague, 'status', 'Stopped. The orders API refuses its access token within seconds.')
    await page.clock.fastForward(2000)
    await says(page, 'alert', /^Robin Reed stopped your view of Alice Archer at [\d:]{8}\. The reason: /)
    await expectNothingViewed(page)
    await heading(page, 'Customers')
    await whileStopped(async (clock) => {
      clock.tick(STATUS_LIST_TTL + 2)
      expect(await status()).to.equal(401)
    })
    expect((await record(page))[0]?.[STATE]).to.match(
      /^Stopped by Robin Reed \d:\d\d Read only “The ticket is closed”$/,
    )
    expect(logged(desk, 'subject_token.revoked').at(-1)?.revocation).to.deep.equal({
      ...{ cause: 'api', client: 'support-backend', by: 'robin', reason: WHY_STOPPED },
    })

    // At the console.
    await page.getByRole('link', { name: 'Customers' }).click()
    await view(page)
    const security = await desk.elsewhere()
    await security.goto('/impersonations')
    await security.getByRole('button', { name: 'Dana Dorn' }).click()
    const row = security.getByRole('row').filter({ hasText: 'Sam Sawyer' })
    await row.getByText('Alice Archer').waitFor()
    await row.getByRole('link', { name: 'Stop Sam Sawyer viewing Alice Archer' }).click()
    await security.getByLabel(/reason/i).fill('Sam is off duty')
    await security.getByRole('button', { name: /^Stop/ }).click()
    await security.getByText('Sam is off duty').first().waitFor()
    await page.clock.fastForward(2000)
    const said = /^Dana Dorn stopped your view of Alice Archer at [\d:]{8}\. The reason: Sam is off duty$/
    await says(page, 'alert', said)
    await expectNothingViewed(page)
    await heading(page, 'Customers')
    expect(logged(desk, 'subject_token.revoked').at(-1)?.revocation).to.deep.equal({
      ...{ cause: 'console', by: 'dana', reason: 'Sam is off duty' },
    })
    expect((await record(page))[0]?.[STATE]).to.match(
      /^Stopped by Dana Dorn \d+:\d\d Read only “Sam is off duty”$/,
    )
    await page.getByRole('link', { name: 'Customers' }).click()

    // A thief, who was faster, or who came second.
    for (const isFaster of [true, false]) {
      const exchange = await hold(page, '**/oidc/token')
      await ask(page, 'Alice Archer')
      const route = await exchange.reached
      if (isFaster) expect((await replay(route.request())).status).to.equal(200)
      await route.continue()
      if (isFaster) await says(page, 'alert', REFUSED)
      else {
        await heading(page, 'Viewing as Alice Archer')
        expect((await replay(route.request())).status).to.equal(400)
        // The page looks at its record when someone comes back to it.
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        const told = /^Your view of Alice Archer was stopped at .* its subject token was used twice/
        await says(page, 'alert', told)
      }
      await expectNothingViewed(page)
      expect((await record(page))[0]?.[STATE]).to.match(/^Reused token \d:\d\d Read only$/)
      await page.getByRole('link', { name: 'Customers' }).click()
    }
    expect(logged(desk, 'subject_token.replayed')).to.have.lengthOf(2)

    // The engineer, while more minutes are about to start: neither of the two stays.
    log.length = 0
    await view(page)
    await page.clock.fastForward(245_000)
    const asked = await hold(page, '**/backend/api/request-impersonation')
    await moreMinutes(page).click()
    const next = await asked.reached
    await banner(page).getByRole('button', { name: 'Stop viewing' }).click()
    await says(page, 'status', 'The view of Alice Archer has ended.')
    const stopped = page.waitForResponse('**/backend/api/impersonations/*/stop')
    await next.continue()
    expect((await stopped).status()).to.equal(200)
    await heading(page, 'Customers')
    await expectNothingViewed(page)
    const issued = logged(desk, 'subject_token.issued').map(({ id }) => id)
    expect(issued).to.have.length(2)
    expect(logged(desk, 'subject_token.revoked').map(({ id }) => id)).to.deep.equal(issued)

    // The API does not respond, or the backend lets the engineer in no more.
    log.length = 0
    await page.route('**/orders-api/orders', (route) => route.abort(), { times: 1 })
    await ask(page, 'Alice Archer')
    await says(page, 'alert', 'No response. Check the connection and try again.')
    await expectNothingViewed(page)
    expect(logged(desk, 'subject_token.revoked')).to.have.lengthOf(1)
    await view(page)
    const error_description = 'The support desk is for support engineers.'
    const refusal = { status: 403, json: { error: 'access_denied', error_description } }
    await page.route('**/backend/api/impersonations/*', (route) => route.fulfill(refusal), { times: 1 })
    await page.clock.runFor(5000)
    await says(page, 'alert', `Refused. ${error_description}`)
    await expectNothingViewed(page)
    expect(await banner(page).count()).to.equal(0)
    await page.route('**/backend/api/users?*', (route) => route.fulfill({ status: 401, body: '{}' }))
    await page.getByRole('searchbox').fill('a')
    await page.clock.runFor(1000)
    await says(page, 'alert', 'Your sign-in has ended')
    expect(await page.content()).not.to.match(/alice/i)
    // A code that this page has not requested: with no sign-in under way, and with one.
    for (const isUnderWay of [false, true]) {
      if (isUnderWay) {
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.waitForURL(/callback|login|#/)
      }
      await page.goto('/callback?code=planted&state=planted')
      await says(page, 'alert', 'This did not work')
      await heading(page, 'See what a customer sees')
    }
    expect(await page.evaluate("sessionStorage.getItem('sign-in')")).to.equal(null)
  })
})
