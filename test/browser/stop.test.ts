/** Someone stops a view: before it has started, and while it runs. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
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
  view,
} from './desk.ts'
import { holdExchange, REFUSED } from './exchange.ts'
import { expectNothingViewed, isFocused } from './shown.ts'

const stop = (page: Page) =>
  page.getByRole('button', { name: 'Stop Sam Sawyer viewing Alice Archer' }).click()

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
    expect((await rowsShown(colleague))[0]?.[STATE]).to.equal('Stopped')

    await route.continue()
    await says(page, 'alert', REFUSED)
    await expectNothingViewed(page)
    expect(logged(desk, 'subject_token.refused').map(({ reason }) => reason)).to.deep.equal(['revoked'])
    expect(logged(desk, 'subject_token.exchanged')).to.deep.equal([])
    await view(page)
  })

  it('tells a colleague who stops a running view how long its JWT stays valid', async () => {
    const desk = await openDesk()
    await signIn(desk.page)
    await view(desk.page)
    const colleague = await desk.elsewhere()
    await signIn(colleague, 'Robin Reed')
    await record(colleague)
    await stop(colleague)
    await says(
      colleague,
      'status',
      /^Stopped\. A JWT cannot be revoked, so its token is valid until \d\d:\d\d:\d\d\.$/,
    )
    const state = colleague.locator('#record-rows .state')
    expect(await state.innerText()).to.match(/^Stopped · token valid until \d\d:\d\d:\d\d$/)
    expect(await isFocused(state)).to.equal(true)
    expect(await colleague.getByRole('button', { name: /^Stop/ }).count()).to.equal(0)
    expect((await record(desk.page))[0]?.[STATE]).to.match(/^Stopped · token valid until/)
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
