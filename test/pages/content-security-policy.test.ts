/** The Content-Security-Policy of every page: strict, and in force. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { type Desk, heading, inChromium, signIn, VIOLATION } from './desk.ts'

/** Sources that a page of this example may name, apart from the deployment's own origin for forms. */
const SOURCES = ["'none'", "'self'", "'script'"]
const CLOSED = ['default-src', 'base-uri', 'frame-ancestors']

/** Pages that anyone can open, with their status. */
const OPEN = {
  '/': 200,
  '/callback': 200,
  '/login/over': 400,
  '/oidc/auth': 400,
  '/oidc/session/end/success': 200,
}

function directives(policy: string): Map<string, string[]> {
  const parts = policy.split(';').map((part) => part.trim().split(/ +/))
  return new Map(parts.map(([name = '', ...sources]) => [name, sources]))
}

inChromium('the support desk: its Content-Security-Policy', (openDesk) => {
  it('is strict on every page that anyone can open', async () => {
    const { page, baseUrl } = await openDesk()
    for (const [address, status] of Object.entries(OPEN)) {
      const response = await page.goto(address)
      expect(response?.status(), address).to.equal(status)
      expectStrict((await response?.allHeaders()) ?? {}, baseUrl)
    }
  })

  it('is strict on every page of signing in and out', async () => {
    const { page, baseUrl } = await openDesk()
    const documents = new Map<string, Record<string, string>>()
    page.on('response', (response) => {
      const { pathname } = new URL(response.url())
      if (response.request().isNavigationRequest() && response.ok())
        documents.set(pathname.replace(/^(\/login)\/.*/, `$1 ${documents.size}`), response.headers())
    })
    await signIn(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await heading(page, 'Sign out?')
    expect([...documents.keys()]).to.deep.equal([
      '/',
      '/login 1',
      '/login 2',
      '/callback',
      '/oidc/session/end',
    ])
    for (const headers of documents.values()) expectStrict(headers, baseUrl)
  })

  for (const [name, path] of [
    ['the desk', '/'],
    ['the provider', '/login/over'],
  ] as const) {
    it(`runs no script and applies no style that someone injected into a page of ${name}`, async () => {
      const desk = await openDesk()
      const { page } = desk
      await page.route(path, async (route) => {
        const response = await route.fetch()
        const body = (await response.text()).replace('</main>', `${INJECTED}</main>`)
        await route.fulfill({ response, body })
      })
      await violating(desk, ['inline style', 'inline script', 'event handler', "'data:text"], () =>
        page.goto(path),
      )
      await page.getByText('injected text').waitFor()
      expect(await page.evaluate('window.ran')).to.equal(undefined)
      expect(await page.evaluate('getComputedStyle(document.body).outlineWidth')).to.not.equal('7px')
      expect(await page.evaluate("getComputedStyle(document.getElementById('injected')).opacity")).to.equal(
        '1',
      )
    })
  }

  it('lets no text become HTML: the page has to create elements', async () => {
    const desk = await openDesk()
    await desk.page.goto('/')
    await violating(desk, ['TrustedHTML'], async () => {
      const write = `try { document.body.innerHTML = '<p>x</p>' } catch (error) { error.name }`
      expect(await desk.page.evaluate(write)).to.equal('TypeError')
    })
  })

  it('lets no one frame the desk or the login page', async () => {
    const desk = await openDesk()
    const { page, baseUrl } = desk
    const framed = ['/desk/icon.svg', '/', '/login/over']
    const body = framed.map((address) => `<iframe src="${baseUrl}${address}"></iframe>`).join('')
    const elsewhere = createServer((_request, response) => {
      response.setHeader('Content-Type', 'text/html').end(body)
    }).listen(0, '127.0.0.1')
    await once(elsewhere, 'listening')
    try {
      const { port } = elsewhere.address() as AddressInfo
      await violating(desk, ['frame-ancestors', 'frame-ancestors'], () =>
        page.goto(`http://127.0.0.1:${port}/`),
      )
      const [, allowed, ...others] = page.frames().map((frame) => frame.url())
      expect(allowed).to.equal(`${baseUrl}/desk/icon.svg`)
      expect(others).to.have.lengthOf(2)
      for (const url of others) expect(url).to.match(/^chrome-error:/)
    } finally {
      elsewhere.closeAllConnections()
      elsewhere.close()
      await once(elsewhere, 'close')
    }
  })
})

function expectStrict(headers: Readonly<Record<string, string>>, baseUrl: string): void {
  const policy = directives(headers['content-security-policy'] ?? '')
  for (const directive of CLOSED) expect(policy.get(directive), directive).to.deep.equal(["'none'"])
  expect(policy.get('form-action')?.[0]).to.equal("'self'")
  for (const [directive, sources] of policy) {
    expect([...SOURCES, ...(directive === 'form-action' ? [baseUrl] : [])]).to.include.members(sources)
  }
  expect(headers).to.include({
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  })
}

const INJECTED = `
  <p id="injected" style="opacity: 0.1">injected text</p>
  <style>body { outline: 7px solid red }</style>
  <script>window.ran = 'script'</script>
  <img src="x:" onerror="window.ran = 'handler'" alt="">
  <script src="data:text/javascript,window.ran='data'"></script>`

/** Walks until Chromium has reported a violation for each of `parts`. They are expected, so the desk forgets them. */
async function violating(desk: Desk, parts: readonly string[], walk: () => Promise<unknown>): Promise<void> {
  const missing = [...parts]
  const told = desk.page.waitForEvent('console', (message) => {
    const found = missing.findIndex((part) => VIOLATION.test(message.text()) && message.text().includes(part))
    if (found >= 0) missing.splice(found, 1)
    return missing.length === 0
  })
  await Promise.all([told, walk()])
  desk.problems.length = 0
}
