/** A refusal says in helpful words why, and nothing is issued. */
import { expect } from 'chai'
import { ask, choose, heading, inChromium, logged, record, STATE, says, signIn, view } from './desk.ts'
import { expectNothingViewed, isFocused, wireShown } from './shown.ts'

const REFUSED = [
  {
    name: 'Carol Cole',
    who: 'a protected customer',
    message: 'Refused. The account of Carol Cole is protected. Ask Mara Moss, the account manager.',
  },
  {
    name: 'Robin Reed',
    who: 'a colleague',
    message: 'Refused. Robin Reed works here. Only customers can be viewed.',
  },
]

inChromium('the support desk: refusals', (openDesk) => {
  for (const { name, who, message } of REFUSED) {
    it(`does not show ${who}, says why, and issues nothing`, async () => {
      const desk = await openDesk()
      const { page } = desk
      await signIn(page)
      await ask(page, name)
      await says(page, 'alert', message)
      expect(await page.getByRole('alert').innerText()).to.equal(message)
      expect(await page.getByRole('status').allInnerTexts()).to.deep.equal([''])
      expect(await isFocused(page.getByRole('button', { name: `View as ${name}` }))).to.equal(true)
      await expectNothingViewed(page)
      expect(await page.locator('#people [aria-busy=true]').count()).to.equal(0)
      const wire = await wireShown(page)
      expect(wire).to.have.lengthOf(1)
      expect(wire[0]).to.include('403').and.include('access_denied')

      expect(logged(desk, 'backend.denied')).to.have.lengthOf(1)
      expect(desk.log.filter(({ event }) => event.startsWith('subject_token.'))).to.deep.equal([])
      expect(await record(page)).to.deep.equal([])
      await page.getByText('No one has viewed a customer yet.').waitFor()
    })
  }

  it('keeps the current view when the next customer is refused', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page)
    await page.getByRole('link', { name: 'Customers' }).click()
    await ask(page, 'Carol Cole')
    await says(page, 'alert', 'Carol Cole is protected')
    await page.getByRole('link', { name: 'Back to the view' }).click()
    await heading(page, 'Viewing as Alice Archer')
    const rows = await record(page)
    expect(rows.map((row) => [row[2], row[STATE]?.split(' ')[0]])).to.deep.equal([['Alice Archer', 'Live']])
  })

  it('does not let a customer in, and says whom the desk is for', async () => {
    const { page } = await openDesk()
    await choose(page, 'Alice Archer')
    await page.getByRole('button', { name: 'Allow' }).click()
    await says(
      page,
      'alert',
      'Refused. The support desk is for support engineers. Sign out, and sign in as one.',
    )
    expect(await page.getByRole('navigation').count()).to.equal(0)
    expect(await page.getByRole('button', { name: /^View as/ }).count()).to.equal(0)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await heading(page, 'Sign out?')
  })

  for (const where of ['login', 'consent']) {
    it(`says so when the sign-in is cancelled at the ${where} page, and can start again`, async () => {
      const { page } = await openDesk()
      if (where === 'consent') await choose(page, 'Sam Sawyer')
      else {
        await page.goto('/')
        await page.getByRole('button', { name: 'Sign in' }).click()
      }
      await page.getByRole('button', { name: 'Cancel' }).click()
      await says(page, 'alert', 'You are not signed in: the sign-in was cancelled.')
      await heading(page, 'See what a customer sees')
      expect(new URL(page.url()).search).to.equal('')

      await page.getByRole('button', { name: 'Sign in' }).click()
      if (where === 'login') await page.getByRole('button', { name: 'Sam Sawyer' }).click()
      await page.getByRole('button', { name: 'Allow' }).click()
      await heading(page, 'Customers')
    })
  }
})
