/** The whole view of a customer, as an engineer clicks through it: first by keyboard, and no token is left anywhere. */
import { expect } from 'chai'
import type { Locator, Page, Request, Response } from 'playwright-core'
import { isFocused } from '../../fixtures/chromium.ts'
import {
  ask,
  banner,
  deskInChromium,
  heading,
  logged,
  REASON,
  record,
  remaining,
  requestsOf,
  STATE,
  says,
  signIn,
  stopTime,
  view,
  words,
} from './desk.ts'
import { startProgram } from './program.ts'

const HTML = '<img src=x onerror="window.injected=1">'

/** Presses Tab until this is focused, as someone would who watches the outline move, and then Enter. */
async function press(control: Locator): Promise<void> {
  const { keyboard } = control.page()
  for (let presses = 0; presses < 30 && !(await isFocused(control)); presses++) await keyboard.press('Tab')
  expect(await isFocused(control), `${control}`).to.equal(true)
  await keyboard.press('Enter')
}

/** The only places where tokens are handed over. */
const HANDED_OVER = ['/oidc/token', '/backend/api/request-impersonation']
const RESPONSES_OF = ['/backend/', '/orders-api/', '/oidc/me']
const MEMBERS = ['access_token', 'id_token', 'refresh_token', 'subjectToken']

/** Everything that a script of the page could read later. */
const kept = (page: Page): Promise<object> =>
  page.evaluate<object>(`(async () => ({
    cookie: document.cookie,
    local: { ...localStorage },
    session: { ...sessionStorage },
    databases: await indexedDB.databases(),
    caches: await caches.keys(),
    name: window.name,
    state: history.state,
  }))()`)

/** The markup, and the values of the fields. */
const DOCUMENT = `document.documentElement.outerHTML +
  [...document.querySelectorAll('input, textarea, select')].map(({ value }) => value).join()`

const isData = (response: Response): boolean =>
  RESPONSES_OF.some((prefix) => new URL(response.url()).pathname.startsWith(prefix)) &&
  (response.headers()['content-type'] ?? '').includes('json')

/** Collects the tokens that are handed over, and every place where they do not belong. */
function listen(page: Page) {
  const tokens = new Set<string>()
  const places = new Map<string, string>()
  const reading: Promise<unknown>[] = []
  const put = (place: string, text: string) => places.set(place, `${places.get(place) ?? ''}\n${text}`)
  page.on('console', (message) => put('console', message.text()))
  page.on('request', (request) => {
    put('address', `${request.url()}\n${decodeURIComponent(request.url())}`)
    reading.push(request.allHeaders().then(({ referer = '' }) => put('referer', referer)))
  })
  page.on('response', (response) => reading.push(read(response)))

  async function read(response: Response): Promise<void> {
    const { pathname } = new URL(response.url())
    put('redirect', (await response.headerValue('location')) ?? '')
    if (HANDED_OVER.includes(pathname)) {
      const body: Record<string, string> = await response.json()
      for (const member of MEMBERS) if (body[member]) tokens.add(body[member])
    } else if (isData(response)) put('response', await response.text())
  }

  return {
    async look(when: string) {
      await Promise.all(reading)
      put(`document: ${when}`, await page.evaluate<string>(DOCUMENT))
      put(`kept: ${when}`, JSON.stringify(await kept(page)))
    },
    async end() {
      await Promise.all(reading)
      return { tokens: [...tokens], places }
    },
  }
}

/** Opens the drawer with the token and the requests. */
const openDrawer = (page: Page) => page.getByText('How this works').click()

/** Each claim of the decoded token, with its value and its explanation. */
async function claimsShown(page: Page): Promise<Map<string, string[]>> {
  const claims = await page.locator('#claims > div').all()
  const read = claims.map(
    async (claim): Promise<[string, string[]]> => [
      await claim.locator('dt').innerText(),
      await claim.locator('dd').allInnerTexts(),
    ],
  )
  return new Map(await Promise.all(read))
}

/** The requests on the wire, opened one by one. */
async function wireShown(page: Page): Promise<string[]> {
  const exchanged = await page.locator('.exchanged').all()
  for (const one of exchanged) await one.locator('summary').click()
  return Promise.all(exchanged.map((one) => one.innerText()))
}

const FRAME = "getComputedStyle(document.body, '::after').borderTopColor"
const BANNER =
  "getComputedStyle(document.querySelector('impersonation-banner').shadowRoot.querySelector('section')).backgroundColor"

// biome-ignore lint/suspicious/noExplicitAny: a test is about to check the body
const responseTo = async (request: Request | undefined): Promise<any> => (await request?.response())?.json()

deskInChromium('the support desk: a view', (openDesk) => {
  it('is reached and left by keyboard, the focus stays with the reader, and no token is left anywhere', async () => {
    const printed: string[] = []
    const { page } = await openDesk((folder) => startProgram(folder, (text) => printed.push(text)))
    const overheard = listen(page)
    const { keyboard } = page
    const button = (name: string) => page.getByRole('button', { name })
    const title = page.getByRole('heading', { level: 1 })
    await page.goto('/')
    await press(page.getByRole('link', { name: 'Skip to content' }))
    expect(await isFocused(page.getByRole('main'))).to.equal(true)
    await press(button('Sign in'))
    await heading(page, 'Who are you?')
    await press(button('Sam Sawyer'))
    await heading(page, 'Let Support desk know who you are?')
    await press(button('Allow'))
    await heading(page, 'Customers')
    expect(await isFocused(title), 'the title of the customers').to.equal(true)
    await overheard.look('signed in')
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
    expect(await isFocused(title), 'the title of the view').to.equal(true)
    await overheard.look('viewing')
    expect(await kept(page)).to.deep.equal({
      ...{ cookie: '', local: {}, databases: [], caches: [], name: '', state: null },
      // That a view was shown: the next page must not silently go on without it.
      session: { 'impersonation-banner': 'shown' },
    })
    for (const { name, httpOnly } of await page.context().cookies()) expect(httpOnly, name).to.equal(true)
    await press(button('Invoice of order 1002'))
    const invoice = page.getByRole('heading', { name: 'Invoice R-2026-1002' })
    await invoice.waitFor()
    expect(await isFocused(invoice), 'the invoice').to.equal(true)
    await record(page)
    await overheard.look('record')
    await page.goBack()
    await heading(page, 'Viewing as Alice Archer')
    await press(banner(page).getByRole('button', { name: 'Stop viewing' }))
    await says(page, 'status', 'has ended')
    expect(await isFocused(title), 'the title of the customers again').to.equal(true)
    await overheard.look('ended')
    await button('Sign out').click()
    await button('Yes, sign me out').click()
    await heading(page, 'See what a customer sees')
    await overheard.look('signed out')
    const { tokens, places } = await overheard.end()
    // The engineer's opaque token and ID token, the subject token and the access token.
    expect(tokens).to.have.lengthOf(4)
    expect(printed.join('')).to.include('"event":"subject_token.exchanged"')
    expect([...places.keys()]).to.include.members(['address', 'referer', 'response', 'kept: viewing'])
    for (const [place, text] of [...places, ['printed', printed.join('')] as const])
      for (const token of tokens)
        expect(text.includes(token.slice(-24)), `a token in: ${place}`).to.equal(false)
  })

  it('shows what the customer sees and what the API saw, text of people as text, and why a refusal was', async () => {
    const desk = await openDesk()
    const { page, baseUrl } = desk
    await page.clock.install()
    await signIn(page)
    const sent = requestsOf(page)
    await view(page, 'Alice Archer', HTML)
    // And it looks at the record of the view every two seconds.
    const asked = sent.filter((request) => !request.url().includes('/backend/api/impersonations/'))
    expect(asked.map((request) => `${request.method()} ${request.url()}`)).to.deep.equal([
      `POST ${baseUrl}/backend/api/request-impersonation`,
      `POST ${baseUrl}/oidc/token`,
      `GET ${baseUrl}/orders-api/orders`,
      `GET ${baseUrl}/orders-api/profile`,
    ])
    const [issued, exchanged, called] = asked
    const { subjectToken } = await responseTo(issued)
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
    await openDrawer(page)
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
    expect(row?.[STATE]).to.match(/^Live \d:\d\d left Read only$/)
    expect(await page.locator('img:not(.brand img)').count()).to.equal(0)
    expect(await page.evaluate('window.injected')).to.equal(undefined)
    await stopTime(page)
    const before = await remaining(page)
    await page.clock.runFor(60_000)
    expect(await remaining(page)).to.equal(before - 60)
    // The page is framed in the colour of the banner, in the last minute too.
    const colours: string[] = []
    for (const seconds of [0, 185]) {
      await page.clock.fastForward(seconds * 1000)
      if (seconds) await page.getByText('Last minute').waitFor()
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        // The banner looks at its colour once a second.
        await page.clock.runFor(1000)
        const frame = await page.evaluate<string>(FRAME)
        expect(await page.evaluate(BANNER), `${colorScheme}, after ${seconds} s`).to.equal(frame)
        colours.push(frame)
      }
    }
    expect(new Set(colours).size).to.equal(3)
    await page.clock.resume()

    // A refusal says why, marks no button, and ends nothing.
    await page.getByRole('link', { name: 'Customers' }).click()
    await ask(page, 'Carol Cole')
    const message = 'Refused. The account of Carol Cole is protected. Ask Mara Moss, the account manager.'
    await says(page, 'alert', message)
    expect(await page.locator('#people [aria-busy=true]').count()).to.equal(0)
    expect(await isFocused(page.getByRole('button', { name: 'View as Carol Cole' }))).to.equal(true)
    const refused = page.locator('#refused-wire')
    expect(await refused.innerText(), 'folded').to.equal('How far the requests got')
    await refused.getByText('How far the requests got').click()
    expect(await refused.innerText()).to.include('403')
    expect(logged(desk, 'subject_token.issued')).to.have.lengthOf(1)
    // A view of someone else ends it.
    await page.getByRole('button', { name: 'View as Bob Baker' }).click()
    await page.getByText('This ends your view of Alice Archer.').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await view(page, 'Bob Baker')
    expect(words(await page.locator('#orders').innerText())).to.match(/^A lamp Order 1003 /)
    const states = (await record(page)).map((row) => [row[2], row[STATE]?.split(' ')[0]])
    expect(states).to.deep.equal([
      ['Bob Baker', 'Live'],
      ['Alice Archer', 'Stopped'],
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
