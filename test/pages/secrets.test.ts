/** Tokens stay in the memory of the page: during the whole flow none appears anywhere else. */
import { expect } from 'chai'
import type { Page, Response } from 'playwright-core'
import { ask, banner, heading, inChromium, record, says, signIn, stop, view } from './desk.ts'
import { startProgram } from './program.ts'

/** The only places where tokens are handed over. */
const HANDED_OVER = ['/oidc/token', '/backend/api/request-impersonation']
const RESPONSES_OF = ['/backend/', '/orders-api/', '/oidc/me']
const MEMBERS = ['access_token', 'id_token', 'refresh_token', 'subjectToken']

inChromium('the support desk: its secrets', (openDesk) => {
  it('puts no token into an address, a storage, a log, the console or the document', async () => {
    const printed: string[] = []
    const desk = await openDesk((folder) => startProgram(folder, (text) => printed.push(text)))
    const { page, baseUrl } = desk
    const overheard = listen(page)

    await signIn(page)
    await overheard.look('signed in')
    await view(page)
    await overheard.look('viewing')
    await record(page)
    await overheard.look('record')
    await banner(page).getByRole('button', { name: 'Stop viewing' }).click()
    await says(page, 'status', 'has ended')
    await overheard.look('ended')
    await ask(page, 'Carol Cole')
    await says(page, 'alert', 'Refused.')
    await overheard.look('refused')
    await view(page, 'Bob Baker')
    await record(page)
    await stop(page, 'Stop Sam Sawyer viewing Bob Baker')
    await says(page, 'status', 'Stopped.')
    await overheard.look('stopped')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await heading(page, 'See what a customer sees')
    await overheard.look('signed out')

    const { tokens, places } = await overheard.end()
    // An opaque token and an ID token of the engineer, and a subject token and an access token for each customer.
    expect(tokens).to.have.lengthOf(6)
    const audit = printed.join('')
    expect(audit).to.include('"event":"subject_token.exchanged"').and.include('"event":"backend.denied"')
    for (const place of ['address', 'referer', 'console', 'response', 'document: viewing', 'kept: viewing']) {
      expect(
        [...places.keys()].some((name) => name.startsWith(place)) || place === 'console',
        place,
      ).to.equal(true)
    }
    for (const [place, text] of [...places, ['printed', audit] as const]) {
      for (const token of tokens) {
        expect(text.includes(token), `a token in: ${place}`).to.equal(false)
        expect(text.includes(token.slice(-24)), `the end of a token in: ${place}`).to.equal(false)
      }
    }
    expect(baseUrl).to.match(/^http:\/\/127\.0\.0\.1:/)
  })

  it('leaves no cookie that a script could read, and no storage but the mark of the banner', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page)
    expect(await kept(page)).to.deep.equal({
      cookie: '',
      local: {},
      // That a view was shown: the next page must not silently go on without it.
      session: { 'impersonation-banner': 'shown' },
      databases: [],
      caches: [],
      name: '',
      state: null,
    })
    const cookies = await page.context().cookies()
    expect(cookies.map(({ name }) => name)).to.include.members(['_session', 'support-backend'])
    for (const { name, httpOnly } of cookies) expect(httpOnly, name).to.equal(true)
  })
})

/** Everything that a script of the page could read later. */
function kept(page: Page): Promise<object> {
  return page.evaluate<object>(`(async () => ({
    cookie: document.cookie,
    local: { ...localStorage },
    session: { ...sessionStorage },
    databases: await indexedDB.databases(),
    caches: await caches.keys(),
    name: window.name,
    state: history.state,
  }))()`)
}

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
      put(`document: ${when}`, await page.evaluate<string>(DOCUMENT))
      put(`kept: ${when}`, JSON.stringify(await kept(page)))
    },
    async end() {
      await Promise.all(reading)
      return { tokens: [...tokens], places }
    },
  }
}

const isData = (response: Response): boolean =>
  RESPONSES_OF.some((prefix) => new URL(response.url()).pathname.startsWith(prefix)) &&
  (response.headers()['content-type'] ?? '').includes('json')

/** The markup, and the values of the fields. */
const DOCUMENT = `document.documentElement.outerHTML +
  [...document.querySelectorAll('input, textarea, select')].map(({ value }) => value).join()`
