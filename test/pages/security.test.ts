/** Who gets in where, and what a page lets in: policies that are strict and in force, and the console for security alone. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { VIOLATION } from '../../fixtures/chromium.ts'
import { type Desk, deskInChromium, heading, logged, record, signIn, signInAgain, view } from './desk.ts'

/** Sources that a page of this example may name, apart from the deployment's own origin for forms. */
const SOURCES = ["'none'", "'self'", "'script'"]
const CLOSED = ['default-src', 'base-uri', 'frame-ancestors']

function expectStrict(headers: Readonly<Record<string, string>>, baseUrl: string): void {
  const parts = (headers['content-security-policy'] ?? '').split(';').map((part) => part.trim().split(/ +/))
  const policy = new Map(parts.map(([name = '', ...sources]) => [name, sources]))
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
async function violating(
  page: Page,
  { problems }: Desk,
  parts: readonly string[],
  walk: () => Promise<unknown>,
): Promise<void> {
  const missing = [...parts]
  const told = page.waitForEvent('console', (message) => {
    const found = missing.findIndex((part) => VIOLATION.test(message.text()) && message.text().includes(part))
    if (found >= 0) missing.splice(found, 1)
    return missing.length === 0
  })
  await Promise.all([told, walk()])
  problems.length = 0
}

/** Another origin, to which the cookies of this host are sent, too. */
async function elsewhere(body: string, visit: (url: string) => Promise<void>): Promise<void> {
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html').end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await visit(`http://localhost:${(server.address() as AddressInfo).port}/`)
  } finally {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
}

/** Opens the console, and chooses who is there at the provider. */
async function openConsole(page: Page, name: string, address = '/impersonations'): Promise<void> {
  await page.goto(address)
  await page.getByRole('button', { name }).click()
}

deskInChromium('the example: who and what gets in', (openDesk) => {
  it('every page has a strict policy, which is in force, and the console lets security in and no one else', async () => {
    const desk = await openDesk()
    const { page, baseUrl } = desk
    const documents: string[] = []
    const received: Record<string, string>[] = []
    page.on('response', (response) => {
      const { pathname } = new URL(response.url())
      if (!response.request().isNavigationRequest() || /^30\d/.test(`${response.status()}`)) return
      documents.push(`${response.status()} ${pathname.replace(/^(\/login)\/(?!over).*/, '$1')}`)
      received.push(response.headers())
    })
    for (const address of ['/', '/callback', '/login/over', '/oidc/auth', '/oidc/session/end/success'])
      await page.goto(address)
    await signIn(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await heading(page, 'Sign out?')
    expect(documents).to.deep.equal([
      ...['200 /', '200 /callback', '400 /login/over', '400 /oidc/auth', '200 /oidc/session/end/success'],
      ...['200 /', '200 /login', '200 /login', '200 /callback', '200 /oidc/session/end'],
    ])
    for (const headers of received) expectStrict(headers, baseUrl)

    for (const path of ['/', '/login/over']) {
      await page.route(path, async (route) => {
        const response = await route.fetch()
        const body = (await response.text()).replace('</main>', `${INJECTED}</main>`)
        await route.fulfill({ response, body })
      })
      const kinds = ['inline style', 'inline script', 'event handler', "'data:text"]
      await violating(page, desk, kinds, () => page.goto(path))
      await page.getByText('injected text').waitFor()
      expect(await page.evaluate('window.ran')).to.equal(undefined)
      expect(await page.evaluate('getComputedStyle(document.body).outlineWidth')).to.not.equal('7px')
      const opacity = "getComputedStyle(document.getElementById('injected')).opacity"
      expect(await page.evaluate(opacity)).to.equal('1')
      await page.unroute(path)
    }
    const framed = ['/desk/icon.svg', '/', '/login/over']
    const body = framed.map((address) => `<iframe src="${baseUrl}${address}"></iframe>`).join('')
    await elsewhere(body, async (url) => {
      await violating(page, desk, ['frame-ancestors', 'frame-ancestors'], () => page.goto(url))
      const [, allowed, ...others] = page.frames().map((frame) => frame.url())
      expect(allowed).to.equal(`${baseUrl}/desk/icon.svg`)
      expect(others).to.have.lengthOf(2)
      for (const address of others) expect(address).to.match(/^chrome-error:/)
    })

    // The console lets security in, through the sign-in to the page that was asked for, and no one else.
    await page.goto('/')
    await signInAgain(page)
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
      expect(security.url(), state).to.equal(`${baseUrl}/impersonations`)
    }
    // No text becomes HTML, on the pages of the console and of the desk, and no style applies that someone adds.
    await page.goto('/')
    for (const one of [security, page])
      await violating(one, desk, ['TrustedHTML'], async () => {
        const write = `try { document.body.innerHTML = '<p>x</p>' } catch (error) { error.name }`
        expect(await one.evaluate(write)).to.equal('TypeError')
      })
    await violating(security, desk, ['inline style'], () =>
      security.evaluate(`{
        const style = document.createElement('style')
        style.textContent = 'body { outline: 7px solid }'
        document.head.append(style)
      }`),
    )
    expect(await security.evaluate('getComputedStyle(document.body).outlineWidth')).not.to.equal('7px')
    // A form of another origin, with the cookie of the console.
    const form = `<form method="post" action="${baseUrl}/impersonations/stop"><input name="id" value="${issued?.id}">
      <input name="reason" value="x"><button>Win</button></form>`
    await elsewhere(form, async (url) => {
      await security.goto(url)
      await security.getByRole('button', { name: 'Win' }).click()
      await heading(security, 'Not allowed')
    })
    expect(logged(desk, 'subject_token.revoked')).to.deep.equal([])

    await security.goto('/impersonations')
    await security.getByRole('row').filter({ hasText: 'Sam Sawyer' }).waitFor()
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

    // The desk links its records to the console for those who may see them there, and lets them do no more.
    const details = 'Details of Sam Sawyer viewing Alice Archer'
    const link = { name: 'Open the record in the console' }
    await signInAgain(page)
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

    for (const name of ['Sam Sawyer', 'Alice Archer']) {
      const other = await desk.elsewhere()
      await other.goto('/impersonations')
      const [response] = await Promise.all([
        other.waitForResponse((one) => one.url().endsWith('/impersonations') && one.status() !== 302),
        other.getByRole('button', { name }).click(),
      ])
      expect(response.status(), name).to.equal(403)
    }
    for (const path of ['', '/history.csv', `/${'0'.repeat(32)}`])
      expect((await fetch(`${baseUrl}/impersonations${path}`)).status).to.equal(403)
  })
})
