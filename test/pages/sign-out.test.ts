/** Signing out ends the session at the provider, not only in the page. */
import { expect } from 'chai'
import { choose, heading, inChromium, record, STATE, says, signIn, view } from './desk.ts'

inChromium('the support desk: signing out', (openDesk) => {
  it('ends the view and the session of the provider, which then asks who is there', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await view(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await heading(page, 'Sign out?')
    expect(await page.getByRole('main').innerText()).to.include('You are signed in as Sam Sawyer')
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await heading(page, 'See what a customer sees')

    await choose(page, 'Robin Reed')
    await page.getByRole('button', { name: 'Allow' }).click()
    await heading(page, 'Customers')
    expect(await page.locator('#engineer').innerText()).to.equal('Robin Reed')
    expect((await record(page)).map((row) => row[STATE]?.split(' ')[0])).to.deep.equal(['Ended'])
  })

  it('leaves everything as it is when the person decides to stay', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('link', { name: 'No, stay signed in' }).click()
    // The page has forgotten its tokens. It gets new ones without a question.
    await heading(page, 'Customers')
    expect(await page.locator('#account').innerText()).to.include('Sam Sawyer')
    expect(new URL(page.url()).search).to.equal('')
  })

  it('returns to the desk when the session had already ended', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await page.context().clearCookies({ name: /^_session/ })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await heading(page, 'See what a customer sees')
  })

  it('stays signed out when the session has ended while the person decided to stay', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await heading(page, 'Sign out?')
    await page.context().clearCookies({ name: /^_session/ })
    await page.getByRole('link', { name: 'No, stay signed in' }).click()
    await says(page, 'alert', 'You are no longer signed in.')
    await heading(page, 'See what a customer sees')
  })

  it('forgets the engineer when the page is loaded again', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page)
    await page.reload()
    await heading(page, 'See what a customer sees')
    expect(await page.locator('#orders').innerHTML()).to.equal('')
    await page.goto('/#record')
    await heading(page, 'See what a customer sees')
  })
})
