/** Tokens stay in the memory of the page: during the whole flow none appears anywhere else. */
import { expect } from 'chai'
import type { Page, Response } from 'playwright-core'
import { banner, heading, inChromium, record, says, signIn, view } from './desk.ts'
import { startProgram } from './program.ts'

inChromium('the support desk: its secrets', (openDesk) => {
  it('leaves no token in an address, a storage, a log, the console or the document', async () => {
    const printed: string[] = []
    const desk = await openDesk((folder) => startProgram(folder, (text) => printed.push(text)))
    const { page } = desk
    const overheard = listen(page)
    await signIn(page)
    await overheard.look('signed in')
    await view(page)
    await overheard.look('viewing')
    expect(await kept(page)).to.deep.equal({
      ...{ cookie: '', local: {}, databases: [], caches: [], name: '', state: null },
      // That a view was shown: the next page must not silently go on without it.
      session: { 'impersonation-banner': 'shown' },
    })
    for (const { name, httpOnly } of await page.context().cookies()) expect(httpOnly, name).to.equal(true)
    await record(page)
    await overheard.look('record')
    await banner(page).getByRole('button', { name: 'Stop viewing' }).click()
    await says(page, 'status', 'has ended')
    await overheard.look('ended')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
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
})

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

const isData = (response: Response): boolean =>
  RESPONSES_OF.some((prefix) => new URL(response.url()).pathname.startsWith(prefix)) &&
  (response.headers()['content-type'] ?? '').includes('json')

/** The markup, and the values of the fields. */
const DOCUMENT = `document.documentElement.outerHTML +
  [...document.querySelectorAll('input, textarea, select')].map(({ value }) => value).join()`
