/** A person who changes their mind, a network that hangs, and a sign-in that ends at a bad moment. */
import { expect } from 'chai'
import { ask, banner, heading, inChromium, record, STATE, says, signIn, view } from './desk.ts'
import { holdExchange } from './exchange.ts'
import { expectNothingViewed } from './shown.ts'

const OVER = { status: 401, body: '{}' }

inChromium('the support desk: bad moments', (openDesk) => {
  it('shows nothing of the former customer while the next view starts', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page)
    await page.getByRole('link', { name: 'Customers' }).click()
    const exchange = await holdExchange(page)
    await ask(page, 'Bob Baker')
    const route = await exchange.reached()
    await expectNothingViewed(page)
    await route.continue()
    await heading(page, 'Viewing as Bob Baker')
    await banner(page).getByText('Bob Baker').waitFor()
  })

  it('offers no open view to someone whose sign-in has ended meanwhile', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page)
    await page.reload()
    const asked = Promise.withResolvers<() => Promise<void>>()
    await page.route('**/backend/api/session', (route) => asked.resolve(() => route.continue()))
    await page.getByRole('button', { name: 'Sign in' }).click()
    const release = await asked.promise
    await page.route('**/backend/api/users?*', (route) => route.fulfill(OVER))
    await page.getByRole('searchbox').fill('a')
    await says(page, 'alert', 'Your sign-in has ended')
    const told = page.waitForResponse('**/backend/api/session')
    await release()
    await (await told).finished()
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))')
    expect(await page.locator('#open-view').innerHTML()).to.equal('')
  })

  it('keeps nothing of customers in the document when the sign-in has ended', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await page.route('**/oidc/token', (route) => route.abort(), { times: 1 })
    await ask(page, 'Alice Archer', 'A kept secret')
    await says(page, 'alert', 'No response.')
    await page.getByRole('link', { name: 'Record', exact: true }).click()
    await page.getByRole('combobox', { name: 'Customer' }).fill('bob')
    await page.locator('#customer-ids option[value=bob]').waitFor({ state: 'attached' })
    await page.route('**/backend/api/impersonations?*', (route) => route.fulfill(OVER))
    await page.getByRole('button', { name: 'Filter' }).click()
    await says(page, 'alert', 'Your sign-in has ended')
    expect(await page.content()).not.to.match(/alice|bob|secret/i)
    expect(await page.locator('#reason').inputValue()).to.equal('')
    expect(await page.locator('#ticketId').inputValue()).to.equal('')
  })

  it('asks one question at a time while the backend hangs, says so, and can still end the view', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    let asked = 0
    const first = page.waitForRequest('**/backend/api/impersonations/*')
    await page.route('**/backend/api/impersonations/*', () => {
      asked++
    })
    // It is due by then. After that, no time passes but what the test lets pass.
    await page.clock.pauseAt(Date.now() + 10_000)
    await first
    await page.clock.runFor(14_000)
    expect(asked).to.equal(1)
    await page.clock.runFor(7000)
    await says(page, 'alert', 'The backend cannot be reached.')
    await page.route('**/backend/api/impersonations/*/stop', () => {})
    await banner(page).getByRole('button', { name: 'Stop viewing' }).click()
    await expectNothingViewed(page)
    await page.clock.runFor(16_000)
    await page
      .getByText(/^Your view of Alice Archer is still open .* It is not stopped yet: no response\./)
      .waitFor()
  })

  it('shows what is live, with its button, also where the clock of the browser is wrong', async () => {
    const { page } = await openDesk()
    await page.clock.install({ time: Date.now() + 600_000 })
    await signIn(page)
    await view(page)
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await heading(page, 'Customers')
    await page.getByRole('button', { name: 'Continue here' }).waitFor()
    expect((await record(page))[0]?.[STATE]).to.match(/^Live [45]:\d\d left/)
    await page.getByRole('button', { name: 'Stop Sam Sawyer viewing Alice Archer' }).waitFor()
  })

  it('ends the view when the backend refuses to show its record', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    const error_description = 'The support desk is for support engineers.'
    const response = { status: 403, json: { error: 'access_denied', error_description } }
    await page.route('**/backend/api/impersonations/*', (route) => route.fulfill(response))
    await page.clock.runFor(5000)
    await says(page, 'alert', `Refused. ${error_description}`)
    await expectNothingViewed(page)
    await heading(page, 'Customers')
  })

  it('removes one filter on a double click, not the one that moves into its place', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await record(page)
    await page.getByRole('textbox', { name: 'From' }).fill('2020-01-01')
    await page.getByRole('textbox', { name: 'To' }).fill('2020-01-02')
    await page.getByRole('combobox', { name: 'State' }).selectOption('Live now')
    const chosen = page.getByRole('list', { name: 'Filters in force' }).getByRole('button')
    await chosen.nth(2).waitFor()
    await chosen.first().dblclick()
    expect(await chosen.allInnerTexts()).to.deep.equal(['From: 2020-01-01 ×', 'To: 2020-01-02 ×'])
    await chosen.first().click()
    expect(await chosen.allInnerTexts()).to.deep.equal(['To: 2020-01-02 ×'])
  })
})
