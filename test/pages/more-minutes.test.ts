/** The last minute of a view offers the next one. */
import { expect } from 'chai'
import type { APIResponse, Page, Route } from 'playwright-core'
import { STATUS_LIST_TTL } from '../../example/impersonation.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { banner, heading, inChromium, logged, record, STATE, says, signIn, view, words } from './desk.ts'
import { expectNothingViewed, remaining, stopTime } from './shown.ts'

interface Start {
  readonly route: Route
  readonly response: APIResponse
}

/** Takes the offer. The backend has ended the view then, and the page does not know. */
async function startUpToResponse(page: Page): Promise<Start> {
  const started = Promise.withResolvers<Start>()
  await page.route('**/backend/api/request-impersonation', async (route) =>
    started.resolve({ route, response: await route.fetch() }),
  )
  await page.getByRole('button', { name: '5 more minutes' }).click()
  return started.promise
}

async function lookAtStopped(page: Page): Promise<void> {
  const looked = page.waitForResponse('**/backend/api/impersonations/*')
  await page.clock.runFor(2000)
  expect((await (await looked).json()).state).to.equal('revoked')
}

inChromium('the support desk: more minutes', (openDesk) => {
  it('offers more minutes in the last one: a view of its own, for the same reason', async () => {
    const desk = await openDesk()
    const { page } = desk
    await page.clock.install()
    await signIn(page)
    await view(page)
    await stopTime(page)
    const more = page.getByRole('button', { name: '5 more minutes' })
    await page.clock.runFor(((await remaining(page)) - 61) * 1000)
    expect(await more.count()).to.equal(0)
    await page.clock.runFor(1000)
    await more.waitFor()
    await page.setViewportSize({ width: 360, height: 640 })
    expect((await banner(page).boundingBox())?.height).to.be.at.most(46)
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.be.at.most(360)
    await page.setViewportSize({ width: 1280, height: 720 })
    await more.click()
    await heading(page, 'Viewing as Alice Archer')
    await more.waitFor({ state: 'hidden' })
    expect(await remaining(page)).to.be.within(270, 300)
    const [first, second] = logged(desk, 'subject_token.issued')
    expect(second?.id).not.to.equal(first?.id)
    expect(logged(desk, 'subject_token.revoked').map(({ id }) => id)).to.deep.equal([first?.id])
    const [again, before] = await record(page)
    expect(again?.slice(1, 5)).to.deep.equal(before?.slice(1, 5))
    expect(logged(desk, 'subject_token.revoked')[0]?.revocation).to.deep.equal({
      cause: 'continued',
      client: 'support-backend',
      by: 'sam',
      continuedBy: second?.id,
    })
    // Each leads to the other, from its row and from its details.
    expect(again?.[STATE]).to.match(/^Live \d:\d\d left ?Former view$/)
    expect(before?.[STATE]).to.match(/^Continued \d:\d\d ?Next view$/)
    const details = page.locator('#details')
    await page.getByRole('button', { name: 'Former view of Sam Sawyer viewing Alice Archer' }).click()
    await details.getByText(String(first?.id)).waitFor()
    expect(words(await details.innerText())).to.match(/State Continued · \d:\d\d /)
    await details.getByRole('button', { name: `Show next view ${second?.id}` }).click()
    await details.getByRole('button', { name: `Show former view ${first?.id}` }).waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Next view of Sam Sawyer viewing Alice Archer' }).click()
    await details.getByRole('button', { name: `Show former view ${first?.id}` }).waitFor()
  })

  it('keeps the view that runs when the next one is refused', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await page.clock.fastForward(245_000)
    await page.route('**/backend/api/request-impersonation', (route) => route.fulfill({ status: 503 }))
    await page.getByRole('button', { name: '5 more minutes' }).click()
    await page.getByRole('alert').filter({ hasText: /./ }).waitFor()
    await heading(page, 'Viewing as Alice Archer')
    expect(await remaining(page)).to.be.within(30, 60)
  })

  it('leads away from the view that has ended when the next one cannot start', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await page.clock.fastForward(245_000)
    await page.route('**/oidc/token', (route) => route.abort(), { times: 1 })
    await page.getByRole('button', { name: '5 more minutes' }).click()
    await heading(page, 'Customers')
    await says(page, 'alert', 'No response.')
    await expectNothingViewed(page)
  })

  it('starts no next view when the engineer ends the view meanwhile', async () => {
    const desk = await openDesk()
    const { page } = desk
    await page.clock.install()
    await signIn(page)
    await view(page)
    await page.clock.fastForward(245_000)
    const asked = Promise.withResolvers<() => Promise<void>>()
    await page.route('**/backend/api/request-impersonation', (route) => asked.resolve(() => route.continue()))
    await page.getByRole('button', { name: '5 more minutes' }).click()
    const release = await asked.promise
    await banner(page).getByRole('button', { name: 'Stop viewing' }).click()
    await heading(page, 'Customers')
    await says(page, 'status', 'The view of Alice Archer has ended.')
    const stopped = page.waitForResponse('**/backend/api/impersonations/*/stop')
    await release()
    expect((await stopped).status()).to.equal(200)
    await heading(page, 'Customers')
    await expectNothingViewed(page)
    const [first, second] = logged(desk, 'subject_token.issued')
    expect(logged(desk, 'subject_token.revoked').map(({ id }) => id)).to.deep.equal([first?.id, second?.id])
  })

  it('promises no more minutes than the sign-in still has, one in the singular', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await page.clock.fastForward(200_000)
    await view(page)
    await stopTime(page)
    await page.clock.runFor(245_000)
    await page.getByRole('button', { name: '2 more minutes', exact: true }).waitFor()
    await page.clock.runFor(35_000)
    await page.getByRole('button', { name: '1 more minute', exact: true }).click()
    await page.getByText(/^This view ends at [\d:]{8}, with your sign-in\.$/).waitFor()
    expect(await remaining(page)).to.be.within(60, 119)
  })

  it('does not round up what the next token lasts', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await page.route('**/oidc/token', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), expires_in: 100 } })
    })
    await view(page)
    await stopTime(page)
    await page.clock.runFor(65_000)
    await page.getByRole('button', { name: '1 more minute', exact: true }).waitFor()
  })

  it('is not offered where the sign-in leaves less than one more minute', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await page.clock.fastForward(250_000)
    await view(page)
    await stopTime(page)
    await page.clock.runFor(245_000)
    await says(page, 'status', 'Last minute')
    expect(await page.getByRole('button', { name: 'more minute' }).count()).to.equal(0)
    await page.getByText(/^This view ends at [\d:]{8}\.$/).waitFor()
  })

  it('does not say that the view was stopped while the next one, which ends it, starts', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await stopTime(page)
    await page.clock.runFor(245_000)
    const alerts: string[] = []
    await page.exposeFunction('onAlert', (text: string) => alerts.push(text))
    await page.evaluate(`new MutationObserver(([{ target }]) => onAlert(target.textContent))
      .observe(document.getElementById('alert'), { childList: true })`)
    const { route, response } = await startUpToResponse(page)
    await lookAtStopped(page)
    await heading(page, 'Viewing as Alice Archer')
    const clock = stopClock()
    try {
      clock.tick(STATUS_LIST_TTL + 2)
      const refused = page.waitForResponse('**/invoice')
      const lookedAgain = page.waitForResponse('**/backend/api/impersonations/*')
      await page
        .getByRole('button', { name: /^Invoice/ })
        .first()
        .click()
      expect((await refused).status()).to.equal(401)
      await (await lookedAgain).finished()
      await route.fulfill({ response })
    } finally {
      clock.restore()
    }
    await page.getByRole('button', { name: 'more minutes' }).waitFor({ state: 'hidden' })
    await heading(page, 'Viewing as Alice Archer')
    expect(alerts.filter((text) => text !== '')).to.deep.equal([])
  })

  it('says that the view was stopped when the next one, which has ended it, cannot start', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await stopTime(page)
    await page.clock.runFor(245_000)
    const { route } = await startUpToResponse(page)
    await lookAtStopped(page)
    await route.abort()
    await says(page, 'alert', 'No response.')
    await lookAtStopped(page)
    await says(page, 'alert', 'You stopped your view of Alice Archer')
    await expectNothingViewed(page)
    await page.getByRole('button', { name: 'Continue here' }).waitFor()
  })
})
