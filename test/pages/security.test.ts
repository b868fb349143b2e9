/** Security at the console of the example: who gets in, what they see of the desk, and a stop that the desk learns of. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { heading, inChromium, logged, record, says, signIn, view } from './desk.ts'
import { expectNothingViewed, stopTime } from './shown.ts'

const WHY = 'Sam is off duty'

/** Opens the console, and chooses who is there at the provider. */
async function openConsole(page: Page, name: string, address = '/impersonations'): Promise<void> {
  await page.goto(address)
  await page.getByRole('button', { name }).click()
}

const rowOfSam = (page: Page) => page.getByRole('row').filter({ hasText: 'Sam Sawyer' })

inChromium('the console of the example', (openDesk) => {
  it("shows security an engineer's live view, stops it with a reason, and the desk says so two seconds later", async () => {
    const desk = await openDesk()
    await desk.page.clock.install()
    await signIn(desk.page)
    await view(desk.page)
    await stopTime(desk.page)

    const security = await desk.elsewhere()
    await openConsole(security, 'Dana Dorn')
    await rowOfSam(security).getByText('Alice Archer').waitFor()
    await rowOfSam(security).getByRole('link', { name: 'Stop Sam Sawyer viewing Alice Archer' }).click()
    await security.getByLabel(/reason/i).fill(WHY)
    await security.getByRole('button', { name: /^Stop/ }).click()
    await security.getByText(WHY).first().waitFor()

    await desk.page.clock.runFor(2000)
    const said = /^Dana Dorn stopped your view of Alice Archer at [\d:]{8}\. The reason: Sam is off duty$/
    await says(desk.page, 'alert', said)
    await expectNothingViewed(desk.page)
    await heading(desk.page, 'Customers')
    const [stopped] = logged(desk, 'subject_token.revoked')
    expect(stopped?.revocation).to.deep.equal({ cause: 'console', by: 'dana', reason: WHY })
    expect((await record(desk.page))[0]?.[5]).to.match(/^Stopped by Dana Dorn \d+:\d\d “Sam is off duty”$/)
  })

  it('leads through the sign-in to the record that was asked for, and to no other site', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await view(page)
    const [issued] = logged(desk, 'subject_token.issued')
    const security = await desk.elsewhere()
    await openConsole(security, 'Dana Dorn', `/impersonations/${issued?.id}`)
    await security.getByText('Alice Archer').first().waitFor()
    expect(new URL(security.url()).pathname).to.equal(`/impersonations/${issued?.id}`)
    for (const state of [
      'https://evil.example/',
      '//evil.example/',
      '/impersonations//evil.example',
      '/api',
    ]) {
      await security.goto(`/console/back?${new URLSearchParams({ state })}`)
      expect(security.url(), state).to.equal(`${desk.baseUrl}/impersonations`)
    }
  })

  it('finds people by a part of their name, and leads to the desk and out', async () => {
    const desk = await openDesk()
    await signIn(desk.page)
    await view(desk.page)
    const security = await desk.elsewhere()
    await openConsole(security, 'Dana Dorn')
    await rowOfSam(security).waitFor()
    await security.waitForLoadState()
    await security.keyboard.press('/')
    await security.keyboard.type('arch')
    await security.keyboard.press('Enter')
    await security.getByRole('heading', { level: 1, name: 'Sam Sawyer → Alice Archer' }).waitFor()
    await security.getByRole('link', { name: 'Sign out' }).click()
    await security.getByRole('button', { name: 'Yes, sign me out' }).click()
    await heading(security, 'Who are you?')
    await security.getByRole('button', { name: 'Sam Sawyer' }).click()
    await security.getByText('You are signed in as sam.').waitFor()
    await security.getByRole('link', { name: 'Home' }).click()
    await heading(security, 'See what a customer sees')
  })

  it('is linked from the records of the desk for those who may see it, and lets them do no more', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await view(page)
    const details = 'Details of Sam Sawyer viewing Alice Archer'
    const link = { name: 'Open the record in the console' }
    await record(page)
    await page.getByRole('button', { name: details }).click()
    await page.getByRole('button', { name: 'Close' }).waitFor()
    expect(await page.getByRole('link', link).count()).to.equal(0)

    const colleague = await desk.elsewhere()
    await signIn(colleague, 'Robin Reed')
    await record(colleague)
    await colleague.getByRole('button', { name: details }).click()
    await colleague.getByRole('link', link).click()
    await colleague.waitForURL('**/impersonations/*')
    await colleague.getByText('Alice Archer').first().waitFor()
    expect(await colleague.getByRole('button', { name: /stop/i }).count()).to.equal(0)
    expect(await colleague.getByRole('link', { name: /stop/i }).count()).to.equal(0)
  })

  it('lets no engineer and no customer in, and no one who is not signed in', async () => {
    const desk = await openDesk()
    for (const name of ['Sam Sawyer', 'Alice Archer']) {
      const page = await desk.elsewhere()
      await page.goto('/impersonations')
      const [response] = await Promise.all([
        page.waitForResponse((one) => one.url().endsWith('/impersonations') && one.status() !== 302),
        page.getByRole('button', { name }).click(),
      ])
      expect(response.status(), name).to.equal(403)
    }
    for (const path of ['', '/history.csv', `/${'0'.repeat(32)}`])
      expect((await fetch(`${desk.baseUrl}/impersonations${path}`)).status).to.equal(403)
  })
})
