/** The door of sessions in a real browser: from the desk on another site to the application, signed in as the user. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type IncomingMessage, type RequestListener, request, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { inChromium, type Visits } from '../../fixtures/chromium.ts'
import { CHALLENGE } from '../../fixtures/clients.ts'
import { KEY, type Scene, shop, startScene } from '../spec/arriving.ts'
import { OVERFLOW } from './look.ts'

/** A certificate for this machine, which no browser trusts. */
function certificate(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(path.join(tmpdir(), 'certificate-'))
  try {
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(folder, name)) as [string, string]
    const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
    const of = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
    execFileSync('openssl', ['req', ...of, '-keyout', key, '-out', cert, ...name], { stdio: 'ignore' })
    return { key: readFileSync(key), cert: readFileSync(cert) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** As a proxy that ends TLS. */
function forward({ method, headers, url }: IncomingMessage, response: ServerResponse, to: string) {
  const { hostname, port } = new URL(to)
  const options = { hostname, port, method, path: url, headers: { ...headers, 'x-forwarded-proto': 'https' } }
  return request(options, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(response)
  })
}

const show = (response: ServerResponse, body: string) =>
  void response
    .writeHead(200, { 'content-type': 'text/html' })
    .end(`<!doctype html><title>Page</title>${body}`)

const hidden = (name: string, value: string) => `<input type="hidden" name="${name}" value="${value}">`

/** The desk and the application are at `localhost`, the provider at `127.0.0.1`: sites of their own for a browser. */
async function startSite({ closing }: Visits) {
  const tls = certificate()
  async function listen(listener: RequestListener): Promise<number> {
    const server = createServer(tls, listener).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    closing.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return (server.address() as AddressInfo).port
  }
  let scene: Scene
  const door = await listen((incoming, response) => incoming.pipe(forward(incoming, response, scene.baseUrl)))
  const outside = `https://127.0.0.1:${door}`
  const shopPort = await listen((incoming, response) => void serveShop(incoming, response))
  const origin = `https://localhost:${shopPort}`
  const deskPort = await listen((incoming, response) => {
    const token = new URL(incoming.url ?? '', origin).searchParams.get('token') ?? ''
    const button = '<button>Open the shop as alice</button>'
    show(
      response,
      `<form method="post" action="${scene.door}">${hidden('subject_token', token)}${button}</form>`,
    )
  })
  const site = {
    /** What the application said to its callback, newest last. */
    arrived: [] as Record<string, unknown>[],
    /** The application sends its authorization request by a form. */
    posts: false,
    /** The page of the desk with a button for this token. */
    desk: (token: string) => `https://localhost:${deskPort}/?token=${token}`,
  }

  async function serveShop(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '', origin)
    const address = `${scene.issuer}/auth`
    const parameters = {
      ...{ client_id: 'shop', response_type: 'code', scope: 'openid', redirect_uri: `${origin}/callback` },
      ...{ code_challenge: CHALLENGE, code_challenge_method: 'S256', state: 'a-state' },
    }
    if (url.pathname === '/sign-in' && site.posts) {
      const fields = Object.entries(parameters).map((field) => hidden(...field))
      show(
        response,
        `<form method="post" action="${address}">${fields.join('')}<button>Go on</button></form>`,
      )
    } else if (url.pathname === '/sign-in') {
      // Another hop, as applications have.
      response.writeHead(302, { location: `${origin}/hop` }).end()
    } else if (url.pathname === '/hop') {
      response.writeHead(302, { location: `${address}?${new URLSearchParams(parameters)}` }).end()
    } else if (url.pathname === '/callback') {
      const answer = await scene.redeem({ location: url } as never, { redirect_uri: `${origin}/callback` })
      const claims = decodeJwt(answer.body.id_token)
      site.arrived.push(claims)
      show(response, `<h1>${claims.sub}</h1>`)
      // Browsers also ask for what no page names, such as /favicon.ico.
    } else response.writeHead(404).end()
  }

  const cookie = { sameSite: 'none', signed: true } as const
  scene = await startScene({
    issuer: `${outside}/oidc`,
    clients: [
      shop({
        client_name: 'متجر الكتب',
        redirect_uris: [`${origin}/callback`],
        impersonation_sessions: `${origin}/sign-in`,
      }),
    ],
    options: { requiredContext: ['reason'] },
    sessions: {
      door: `${outside}/impersonate`,
      nameOf: () =>
        new Map([
          ['alice', 'ليلى الفاسي'],
          ['bob', 'סם כהן'],
        ]),
    },
    configuration: { enableHttpPostMethods: true, cookies: { keys: [KEY], long: cookie, short: cookie } },
    before: [
      async (ctx, next) => {
        ctx.app.proxy = true
        await next()
      },
    ],
  })
  closing.push(() => scene.close())
  scene.provider.proxy = true
  return Object.assign(site, { scene })
}

/** As long, and as hard to break, as a reason may be. */
const REASON = `${'سبب طويل '.repeat(20)}https://tickets.example.com/${'x'.repeat(80)}`

const agree = (page: Page) => page.getByRole('button', { name: /^Open as/ }).click()
const until = (page: Page, text: string) => page.getByRole('heading', { name: text, exact: true }).waitFor()

inChromium('the door', (visits) => {
  it('opens the shop from a desk on another site, by whatever browser and screen, and by no other site', async () => {
    const { problems } = visits
    const site = await startSite(visits)
    const { scene, arrived } = site
    /** Presses the button of the desk, in a browser in which the engineer is signed in. */
    async function open({
      isSignedIn = true,
      ...options
    }: BrowserContextOptions & { isSignedIn?: boolean } = {}) {
      const { token, id } = await scene.issue({ context: { reason: REASON } })
      const page = await visits.open({ ignoreHTTPSErrors: true, ...options })
      const cookies = isSignedIn ? (await scene.signedIn()).cookies : []
      const place = { url: scene.issuer, sameSite: 'None', secure: true } as const
      if (isSignedIn)
        await page.context().addCookies(cookies.map(({ name, value }) => ({ name, value, ...place })))
      await page.goto(site.desk(token))
      await page.getByRole('button', { name: 'Open the shop as alice' }).click()
      return { page, token, id }
    }

    for (const javaScriptEnabled of [true, false]) {
      const { page, token } = await open({ javaScriptEnabled })
      expect(page.url()).to.equal(scene.door)
      expect(await page.content()).not.to.include(token)
      const brought = (await page.context().cookies()).find(({ name }) => name === '_imp_brought')
      expect(brought).to.include({ secure: true, sameSite: 'Lax' })
      await agree(page)
      await until(page, 'alice')
      expect(arrived.splice(0)).to.have.length(1).and.to.have.nested.property('0.act.sub', 'bob')
      const left = (await page.context().cookies()).filter(({ name }) => name.startsWith('_imp_'))
      expect(left).to.deep.equal([])
    }

    // Someone who is not signed in is asked to sign in first, at the provider.
    const stranger = await open({ isSignedIn: false })
    await agree(stranger.page)
    await until(stranger.page, 'alice')

    // An application that asks by a form gets the cookies that are sent to other sites.
    site.posts = true
    const posted = await open()
    await agree(posted.page)
    await posted.page.getByRole('button', { name: 'Go on' }).waitFor()
    const armed = (await posted.page.context().cookies()).find(({ name }) =>
      /^_imp_[0-9a-f]{16}_[0-9a-f]{32}$/.test(name),
    )
    expect(armed).to.include({ secure: true, sameSite: 'None', httpOnly: true, path: '/oidc/auth' })
    await posted.page.getByRole('button', { name: 'Go on' }).click()
    await until(posted.page, 'alice')
    site.posts = false

    // One page with its names in any direction, also on a small screen.
    const { page } = await open({ viewport: { width: 360, height: 640 } })
    const heading = page.getByRole('heading', { level: 1 })
    expect(await heading.innerText()).to.equal('Open متجر الكتب as ليلى الفاسي?')
    await page.screenshot({ path: 'test/pages/screenshots/door-360.png' })
    expect(await page.evaluate(OVERFLOW)).to.equal(0)
    const button = page.getByRole('button')
    expect(await button.count()).to.equal(1)
    const box = async () => (await button.boundingBox()) ?? { x: 0, width: 1000 }
    const end = async () => (await box()).x + (await box()).width
    expect(await end()).to.be.at.most(360)
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.tagName')).to.equal('BUTTON')
    // Mirrored where a reader has pages from right to left.
    await page.setViewportSize({ width: 1280, height: 720 })
    await page.evaluate("document.documentElement.dir = 'rtl'")
    const main = (await page.locator('main').boundingBox()) ?? { x: 0, width: 0 }
    expect(await end()).to.be.closeTo(main.x + main.width - 30, 12)
    expect((await box()).x).to.be.greaterThan(main.x + 30)
    await page.keyboard.press('Enter')
    await until(page, 'alice')

    // No other site presses its button, shows it in a frame, or reads it.
    const { page: victim, id } = await open()
    const sealed = await victim.locator('input[name=sealed]').inputValue()
    await victim.goto(site.desk('none'))
    await victim.evaluate(`{
      const form = document.createElement('form')
      form.method = 'post'
      form.action = '${scene.door}/confirm'
      form.innerHTML = '<input name="sealed" value="${sealed}">'
      document.body.append(form)
      form.submit()
    }`)
    await until(victim, 'This cannot be opened')
    expect((await scene.record(id))?.use).to.equal(undefined)
    await victim.goto(site.desk('none'))
    const frame = await victim.evaluate(`new Promise((resolve) => {
      const element = document.createElement('iframe')
      element.src = '${scene.door}'
      element.onload = () => resolve(element.contentDocument ? element.contentDocument.body.innerText : 'another origin')
      document.body.append(element)
    })`)
    expect(frame).not.to.include('Open as')
    const read = `fetch('${scene.door}', { credentials: 'include' }).then(() => 'read', () => 'refused')`
    expect(await victim.evaluate(read)).to.equal('refused')
    problems.length = 0
  })
})
