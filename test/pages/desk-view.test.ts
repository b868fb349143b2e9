/** The whole view of a customer, as an engineer clicks through it: first by keyboard, and no token is left anywhere. */
import { expect } from 'chai'
import type { Locator, Page } from 'playwright-core'
import {
  ask,
  banner,
  heading,
  inChromium,
  logged,
  REASON,
  record,
  STATE,
  says,
  signIn,
  view,
  words,
} from './desk.ts'
import { claimsShown, isFocused, remaining, requestsOf, responseTo, stopTime, wireShown } from './shown.ts'

const HTML = '<img src=x onerror="window.injected=1">'
const title = (page: Page) => page.getByRole('heading', { level: 1 })

/** Presses Tab until this is focused, as someone would who watches the outline move, and then Enter. */
async function press(control: Locator): Promise<void> {
  const { keyboard } = control.page()
  for (let presses = 0; presses < 30 && !(await isFocused(control)); presses++) await keyboard.press('Tab')
  expect(await isFocused(control), `${control}`).to.equal(true)
  await keyboard.press('Enter')
}

inChromium('the support desk: a view', (openDesk) => {
  it('is reached by keyboard, asks for a reason and a ticket, and keeps the focus where the reader is', async () => {
    const { page } = await openDesk()
    const { keyboard } = page
    const button = (name: string) => page.getByRole('button', { name })
    await page.goto('/')
    await press(page.getByRole('link', { name: 'Skip to content' }))
    expect(await isFocused(page.getByRole('main'))).to.equal(true)
    await press(button('Sign in'))
    await heading(page, 'Who are you?')
    await press(button('Sam Sawyer'))
    await heading(page, 'Let Support desk know who you are?')
    await press(button('Allow'))
    await heading(page, 'Customers')
    expect(await isFocused(title(page)), 'the title of the customers').to.equal(true)
    const sent = requestsOf(page)
    const opener = button('View as Alice Archer')
    await press(opener)
    const reason = page.getByRole('textbox', { name: 'Reason' })
    expect(await isFocused(reason), 'the first field of the dialog').to.equal(true)
    for (let presses = 0; presses < 12; presses++) {
      await keyboard.press('Tab')
      expect(await page.locator('body > :not(dialog) :focus').count(), 'behind the dialog').to.equal(0)
    }
    await keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect(await isFocused(opener), 'the button that opened it').to.equal(true)
    await keyboard.press('Enter')
    await keyboard.type('  ')
    await keyboard.press('Control+Enter')
    expect(await page.locator('#reason-error').innerText()).to.equal('Enter a reason.')
    expect(await isFocused(reason), 'the field that is empty').to.equal(true)
    await keyboard.type(REASON)
    await keyboard.press('Tab')
    await keyboard.press('Enter')
    expect(await isFocused(page.getByRole('textbox', { name: 'Ticket' })), 'the other one').to.equal(true)
    expect(sent.filter((request) => request.method() === 'POST')).to.deep.equal([])
    await keyboard.type('T-1')
    await keyboard.press('Enter')
    await heading(page, 'Viewing as Alice Archer')
    expect(await isFocused(title(page)), 'the title of the view').to.equal(true)
    await press(button('Invoice of order 1002'))
    const invoice = page.getByRole('heading', { name: 'Invoice R-2026-1002' })
    await invoice.waitFor()
    expect(await isFocused(invoice), 'the invoice').to.equal(true)
    await press(banner(page).getByRole('button', { name: 'Stop viewing' }))
    await says(page, 'status', 'has ended')
    expect(await isFocused(title(page)), 'the title of the customers again').to.equal(true)
  })

  it('shows what the customer sees and what the API saw, and text of people as text', async () => {
    const { page, baseUrl } = await openDesk()
    await page.clock.install()
    await signIn(page)
    const sent = requestsOf(page)
    await view(page, 'Alice Archer', HTML)
    expect(sent.map((request) => `${request.method()} ${request.url()}`)).to.deep.equal([
      `POST ${baseUrl}/backend/api/request-impersonation`,
      `POST ${baseUrl}/oidc/token`,
      `GET ${baseUrl}/orders-api/orders`,
      `GET ${baseUrl}/orders-api/profile`,
    ])
    const [asked, exchanged, called] = sent
    const { subjectToken } = await responseTo(asked)
    const { access_token } = await responseTo(exchanged)
    const actorToken = new URLSearchParams(exchanged?.postData() ?? '').get('actor_token') ?? ''
    expect(await called?.headerValue('authorization')).to.equal(`Bearer ${access_token}`)
    expect(words(await banner(page).locator('p').textContent())).to.match(
      /^You see what Alice Archer sees · as Sam Sawyer · T-1$/,
    )
    expect((await page.locator('#orders li').allInnerTexts()).map(words)).to.deep.equal([
      'A teapot Order 1001 · 28 Oct 2026 On its way €34.90 Invoice',
      'Six cups Order 1002 · 12 Oct 2026 Delivered €42.00 Invoice',
    ])
    expect(words(await page.locator('#profile').innerText())).to.include('Address 4 Mill Lane, Ashford')
    expect(await page.locator('#api-saw').isVisible()).to.equal(false)
    const claims = await claimsShown(page)
    expect([...claims.keys()].slice(0, 5)).to.deep.equal(['sub', 'act', 'impersonation', 'aud', 'scope'])
    expect(claims.get('sub')).to.deep.equal(['alice', 'Whose data it gives access to: the customer.'])
    expect(claims.get('act')?.[0]).to.equal('{"sub":"sam"}')
    expect(JSON.parse(claims.get('impersonation')?.[0] ?? '')).to.include({ reason: HTML, ticket_id: 'T-1' })
    const saw = await page.locator('#api-saw dd').allInnerTexts()
    expect(saw[3]).to.equal('alice ← sam ← orders-api')
    const wire = await wireShown(page)
    expect(wire).to.have.lengthOf(4)
    expect(wire[0]).to.include(JSON.stringify(HTML))
    const tokens = [subjectToken, actorToken, access_token]
    expect(wire[1]).to.include(`subject_token=${subjectToken.slice(0, 12)}…\n`)
    for (const token of tokens) expect(wire.join('\n')).to.not.include(token.slice(0, 13))
    const [row] = await record(page)
    expect(row?.slice(0, 5)).to.deep.equal(['just now', 'Sam Sawyer', 'Alice Archer', HTML, 'T-1'])
    expect(row?.[STATE]).to.match(/^Live \d:\d\d left$/)
    expect(await page.locator('img:not(.brand img)').count()).to.equal(0)
    expect(await page.evaluate('window.injected')).to.equal(undefined)
    await stopTime(page)
    const before = await remaining(page)
    await page.clock.runFor(60_000)
    expect(await remaining(page)).to.equal(before - 60)
  })

  it('of someone else ends it, and a refusal says why, marks no button, and ends nothing', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    await view(page)
    await page.getByRole('link', { name: 'Customers' }).click()
    await ask(page, 'Carol Cole')
    const message = 'Refused. The account of Carol Cole is protected. Ask Mara Moss, the account manager.'
    await says(page, 'alert', message)
    expect(await page.locator('#people [aria-busy=true]').count()).to.equal(0)
    expect(await isFocused(page.getByRole('button', { name: 'View as Carol Cole' }))).to.equal(true)
    const wire = page.locator('#refused-wire')
    expect(await wire.innerText(), 'folded').to.equal('How far the requests got')
    await wire.getByText('How far the requests got').click()
    expect(await wire.innerText()).to.include('403')
    expect(logged(desk, 'subject_token.issued')).to.have.lengthOf(1)
    await page.getByRole('button', { name: 'View as Bob Baker' }).click()
    await page.getByText('This ends your view of Alice Archer.').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await view(page, 'Bob Baker')
    expect(words(await page.locator('#orders').innerText())).to.match(/^A lamp Order 1003 /)
    const states = (await record(page)).map((row) => [row[2], row[STATE]?.split(' ')[0]])
    expect(states).to.deep.equal([
      ['Bob Baker', 'Live'],
      ['Alice Archer', 'Ended'],
    ])
    await page.getByRole('combobox', { name: 'Customer' }).fill('alice')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByText('1 shown.').waitFor()
    await page.getByRole('combobox', { name: 'State' }).selectOption('Live now')
    await page.getByText('No impersonations match these filters.').waitFor()
    const chosen = page.getByRole('list', { name: 'Filters in force' }).getByRole('button')
    await chosen.first().dblclick()
    expect(await chosen.allInnerTexts(), 'one on a double click').to.deep.equal(['State: Live now ×'])
  })
})
