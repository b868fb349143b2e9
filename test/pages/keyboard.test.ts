/** The whole flow without a mouse. */
import { expect } from 'chai'
import type { Locator, Page } from 'playwright-core'
import { banner, heading, inChromium, record, says } from './desk.ts'
import { isFocused } from './shown.ts'

const FAR = 30

/** Presses Tab until this is focused, as someone would who watches the outline move. */
async function tabTo(control: Locator): Promise<void> {
  const { keyboard } = control.page()
  for (let presses = 0; presses < FAR; presses++) {
    await keyboard.press('Tab')
    if (await isFocused(control)) return
  }
  throw new Error(`the Tab key does not lead to ${control}`)
}

async function press(control: Locator): Promise<void> {
  await tabTo(control)
  await control.page().keyboard.press('Enter')
}

const button = (page: Page, name: string) => page.getByRole('button', { name })
const title = (page: Page) => page.getByRole('heading', { level: 1 })

inChromium('the support desk: by keyboard', (openDesk) => {
  it('reaches everything, and keeps the focus where the reader is', async () => {
    const { page } = await openDesk()
    const { keyboard } = page
    await page.goto('/')
    await press(button(page, 'Sign in'))
    await heading(page, 'Who are you?')
    await press(button(page, 'Sam Sawyer'))
    await heading(page, 'Let Support desk know who you are?')
    await press(button(page, 'Allow'))
    await heading(page, 'Customers')
    expect(await isFocused(title(page)), 'the title of the customers').to.equal(true)

    const opener = button(page, 'View as Alice Archer')
    await press(opener)
    const reason = page.getByRole('textbox', { name: 'Reason' })
    const ticket = page.getByRole('textbox', { name: 'Ticket' })
    expect(await isFocused(reason), 'the first field of the dialog').to.equal(true)
    await keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect(await isFocused(opener), 'the button that opened it').to.equal(true)

    await keyboard.press('Enter')
    await keyboard.type('A teapot is missing')
    await keyboard.press('Tab')
    expect(await isFocused(ticket), 'the second field').to.equal(true)
    await keyboard.press('Enter')
    expect(await isFocused(ticket), 'the field that is empty').to.equal(true)
    await keyboard.type('T-1')
    await keyboard.press('Enter')
    await heading(page, 'Viewing as Alice Archer')
    expect(await isFocused(title(page)), 'the title of the view').to.equal(true)

    await press(button(page, 'Invoice of order 1002'))
    const invoice = page.getByRole('heading', { name: 'Invoice R-2026-1002' })
    await invoice.waitFor()
    expect(await isFocused(invoice), 'the invoice').to.equal(true)
    await press(page.locator('#how > summary'))
    const first = page.locator('.exchanged').first()
    await press(first.locator('summary'))
    await first.getByRole('heading', { name: 'Request' }).waitFor()

    await press(banner(page).getByRole('button', { name: 'Stop viewing' }))
    await says(page, 'status', 'has ended')
    expect(await isFocused(title(page)), 'the title of the customers again').to.equal(true)
    await press(page.getByRole('link', { name: 'Record', exact: true }))
    await heading(page, 'Record')
    expect(await isFocused(title(page)), 'the title of the record').to.equal(true)
  })

  it('keeps the focus inside the dialog while it is open', async () => {
    const { page } = await openDesk()
    await signInByKeyboard(page)
    await press(button(page, 'View as Alice Archer'))
    const outside = page.locator('body > :not(dialog) :focus')
    for (let presses = 0; presses < FAR; presses++) {
      await page.keyboard.press('Tab')
      expect(await outside.count()).to.equal(0)
    }
  })

  it('has a way past the banner and the navigation', async () => {
    const { page } = await openDesk()
    await page.goto('/')
    const skip = page.getByRole('link', { name: 'Skip to content' })
    await press(skip)
    expect(await isFocused(page.getByRole('main'))).to.equal(true)
    await heading(page, 'See what a customer sees')
  })

  it('stops a view from the record, and stays in its row', async () => {
    const { page } = await openDesk()
    await signInByKeyboard(page)
    await press(button(page, 'View as Bob Baker'))
    await page.keyboard.type('A lamp is broken')
    await page.keyboard.press('Tab')
    await page.keyboard.type('T-2')
    await page.keyboard.press('Enter')
    await heading(page, 'Viewing as Bob Baker')
    await record(page)
    const opener = button(page, 'Stop Sam Sawyer viewing Bob Baker')
    await press(opener)
    const why = page.getByRole('textbox', { name: 'Why' })
    expect(await isFocused(why), 'the field of the dialog').to.equal(true)
    await page.keyboard.press('Enter')
    expect(await isFocused(why), 'the field that is empty').to.equal(true)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect(await isFocused(opener), 'the button that opened it').to.equal(true)
    await page.keyboard.press('Enter')
    await page.keyboard.type('The ticket is closed')
    await page.keyboard.press('Enter')
    await says(page, 'status', 'Stopped.')
    expect(await isFocused(page.locator('#record-rows .state'))).to.equal(true)
  })
})

async function signInByKeyboard(page: Page): Promise<void> {
  await page.goto('/')
  await press(button(page, 'Sign in'))
  await heading(page, 'Who are you?')
  await press(button(page, 'Sam Sawyer'))
  await heading(page, 'Let Support desk know who you are?')
  await press(button(page, 'Allow'))
  await heading(page, 'Customers')
}
