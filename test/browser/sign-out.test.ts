/** Signing out ends the session at the provider, not only in the page. */
import { expect } from 'chai'
import { choose, heading, inChromium, record, STATE, signIn, view } from './desk.ts'

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
    expect((await record(page)).map((row) => row[STATE]?.split(' · ')[0])).to.deep.equal(['Stopped'])
  })

  it('leaves the session alone when the person decides to stay', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'No, stay signed in' }).click()
    await heading(page, 'See what a customer sees')
    await page.getByRole('button', { name: 'Sign in' }).click()
    // The desk's own part of the session has ended, so the provider asks for consent, but not for a name.
    await heading(page, 'Let Support desk know who you are?')
    await page.getByRole('button', { name: 'Allow' }).click()
    await heading(page, 'Customers')
  })

  it('returns to the desk when the session had already ended', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await page.context().clearCookies({ name: /^_session/ })
    await page.getByRole('button', { name: 'Sign out' }).click()
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
