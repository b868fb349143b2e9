/** Someone stops a view: before it has started, and while it runs. */
import { expect } from 'chai'
import { STATUS_LIST_TTL } from '../../example/impersonation.ts'
import { stopClock } from '../../fixtures/clock.ts'
import {
  ask,
  banner,
  heading,
  inChromium,
  logged,
  record,
  rowsShown,
  STATE,
  says,
  signIn,
  stop,
  view,
  WHY_STOPPED,
  words,
} from './desk.ts'
import { holdExchange, REFUSED } from './exchange.ts'
import { expectNothingViewed, isFocused } from './shown.ts'

const STOPPED_BY_ROBIN = `Stopped by Robin Reed “${WHY_STOPPED}”`
const STOPPED_IN_VIEW = /^Stopped by Robin Reed \d:\d\d “The ticket is closed”$/

inChromium('the support desk: the stop', (openDesk) => {
  it('refuses the exchange of a token that a colleague has stopped in the meantime', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    const exchange = await holdExchange(page)
    await ask(page, 'Alice Archer')
    const route = await exchange.reached()

    const colleague = await desk.elsewhere()
    await signIn(colleague, 'Robin Reed')
    expect((await record(colleague))[0]?.[STATE]).to.equal('Not used yet')
    await stop(colleague)
    await says(colleague, 'status', 'Stopped. Its subject token can no longer be exchanged.')
    expect((await rowsShown(colleague))[0]?.[STATE]).to.equal(STOPPED_BY_ROBIN)

    await route.continue()
    await says(page, 'alert', REFUSED)
    await expectNothingViewed(page)
    expect(logged(desk, 'subject_token.refused').map(({ reason }) => reason)).to.deep.equal(['revoked'])
    expect(logged(desk, 'subject_token.exchanged')).to.deep.equal([])
    await view(page)
  })

  it('is refused by the API within its time, and the record says by whom it was stopped and why', async () => {
    const desk = await openDesk()
    await desk.page.clock.install()
    await signIn(desk.page)
    const call = desk.page.waitForRequest('**/orders-api/orders')
    await view(desk.page)
    const authorization = (await (await call).headerValue('authorization')) ?? ''
    const status = async () =>
      (await fetch(`${desk.baseUrl}/orders-api/orders`, { headers: { authorization } })).status
    expect(await status()).to.equal(200)
    const colleague = await desk.elsewhere()
    await signIn(colleague, 'Robin Reed')
    await record(colleague)
    await stop(colleague)
    await says(colleague, 'status', 'Stopped. The orders API refuses its access token within seconds.')
    // The page of the engineer looks at its own record every two seconds, and shows nothing any more.
    await desk.page.clock.fastForward(2000)
    await says(desk.page, 'alert', /^Robin Reed stopped your view of Alice Archer at [\d:]{8}\. The reason: /)
    await expectNothingViewed(desk.page)
    await heading(desk.page, 'Customers')
    const clock = stopClock()
    try {
      clock.tick(STATUS_LIST_TTL + 2)
      expect(await status()).to.equal(401)
    } finally {
      clock.restore()
    }
    const state = colleague.locator('#record-rows .state')
    expect(words(await state.innerText())).to.match(STOPPED_IN_VIEW)
    expect(await isFocused(state)).to.equal(true)
    expect(await colleague.getByRole('button', { name: /^Stop/ }).count()).to.equal(0)
    expect((await record(desk.page))[0]?.[STATE]).to.match(STOPPED_IN_VIEW)
    const [stopped] = logged(desk, 'subject_token.revoked')
    expect(stopped?.revocation).to.deep.equal({
      cause: 'api',
      client: 'support-backend',
      by: 'robin',
      reason: WHY_STOPPED,
    })
  })

  it('is seen by a colleague whose record is open, and so is what starts', async () => {
    const desk = await openDesk()
    const { page } = desk
    const colleague = await desk.elsewhere()
    await colleague.clock.install()
    await Promise.all([signIn(page), signIn(colleague, 'Robin Reed')])
    await record(colleague)
    await colleague.getByText('No one has viewed a customer yet.').waitFor()
    await view(page)
    await colleague.clock.fastForward(15_000)
    await colleague.getByText('1 shown.').waitFor()
    await colleague.getByRole('combobox', { name: 'State' }).selectOption('Live now')
    await colleague.getByRole('button', { name: 'Clear' }).waitFor()
    const row = colleague.locator('#record-rows tr')
    const details = colleague.getByRole('button', { name: 'Details of Sam Sawyer viewing Alice Archer' })
    expect(await row.locator('.pill').innerText()).to.equal('Live')
    await details.focus()
    await banner(page).getByRole('button', { name: 'Stop viewing' }).click()
    await says(page, 'status', 'has ended')
    await colleague.clock.fastForward(15_000)
    await colleague.getByText('No impersonations match these filters.').waitFor()
    await colleague.getByRole('button', { name: 'Clear' }).click()
    await row.locator('.pill').getByText('Ended').waitFor()
    expect(await row.getByRole('link', { name: 'T-1' }).getAttribute('href')).to.equal(
      'https://tickets.example.com/T-1',
    )
    await details.click()
    const facts = words(await colleague.locator('#details').innerText())
    expect(facts).to.match(
      /^Record [0-9a-f]{32} ?Copy Console Open the record in the console Customer alice Engineer sam Reason A teapot is missing Ticket T-1 ?Copy /,
    )
    expect(facts).to.include(`API ${desk.baseUrl}/orders-api Scope orders:read`)
    expect(facts).to.match(/ Over since .* State Ended by the engineer · \d:\d\d$/)
    await colleague.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await colleague.getByRole('button', { name: 'Copy the ticket' }).click()
    await colleague.getByRole('button', { name: 'Copied: the ticket' }).waitFor()
    expect(await colleague.evaluate('navigator.clipboard.readText()')).to.equal('T-1')
  })

  it('needs a reason, and can be called off', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await view(page)
    await record(page)
    await page.getByRole('button', { name: 'Stop Sam Sawyer viewing Alice Archer' }).click()
    await page.getByRole('textbox', { name: 'Why' }).fill('  ')
    await page.getByRole('button', { name: 'Stop it' }).click()
    expect(await page.locator('#stop-reason-error').innerText()).to.equal('Enter a reason.')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect((await rowsShown(page))[0]?.[STATE]).to.match(/^Live /)
    expect(logged(desk, 'subject_token.revoked')).to.deep.equal([])
  })

  it('removes the view from the page that stops its own', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await view(page)
    await record(page)
    await stop(page)
    await says(page, 'status', /^Stopped\. This page has discarded its access token/)
    await expectNothingViewed(page)
    await heading(page, 'Record')
    expect(await banner(page).count()).to.equal(0)
    expect(logged(desk, 'subject_token.revoked')).to.have.lengthOf(1)
  })
})
