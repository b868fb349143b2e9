/** The door of sessions in a real browser: from the desk on another site to the application, signed in as the user. */
import { expect } from 'chai'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { isChromiumAvailable, openChromium } from '../../fixtures/chromium.ts'
import { VIOLATION } from './desk.ts'
import { type Site, startSite } from './shop.ts'

interface Visit {
  readonly site: Site
  readonly page: Page
  readonly problems: string[]
  token: string
  id: string
}

/** A browser in which the engineer is signed in, and a token for the shop. */
async function visit(
  ways: Parameters<typeof startSite>[0],
  use: (visit: Visit) => Promise<void>,
  options: BrowserContextOptions & { signedIn?: boolean; issue?: object } = {},
): Promise<void> {
  const { signedIn = true, issue = {}, ...profileOptions } = options
  const site = await startSite(ways)
  const profile = await (await openChromium()).newContext({ ignoreHTTPSErrors: true, ...profileOptions })
  try {
    if (signedIn) {
      const { cookies } = await site.scene.signedIn()
      const url = site.scene.issuer
      const sameSite = ways?.https ? ('None' as const) : ('Lax' as const)
      await profile.addCookies(
        cookies.map(({ name, value }) => ({ name, value, url, sameSite, secure: ways?.https === true })),
      )
    }
    profile.setDefaultTimeout(15_000)
    const page = await profile.newPage()
    const problems: string[] = []
    page.on('pageerror', ({ message }) => problems.push(message))
    page.on('console', (message) => {
      if (VIOLATION.test(message.text())) problems.push(message.text())
    })
    const issued = await site.scene.issue(issue)
    await use({ site, page, problems, ...issued })
    expect(problems).to.deep.equal([])
  } finally {
    await profile.close()
    await site.close()
  }
}

const open = async ({ site, page, token }: Visit) => {
  await page.goto(site.desk(token))
  await page.getByRole('button', { name: 'Open the shop as alice' }).click()
}
const agree = (page: Page) => page.getByRole('button', { name: /^Open as/ }).click()
const until = (page: Page, text: string) => page.getByRole('heading', { name: text, exact: true }).waitFor()

describe('the door in Chromium', () => {
  before(async function () {
    if (!isChromiumAvailable()) this.skip()
    else await openChromium()
  })

  for (const javaScriptEnabled of [true, false]) {
    it(`opens the shop from a desk on another site, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, () =>
      visit(
        {},
        async (session) => {
          const { site, page, token } = session
          await open(session)
          expect(page.url()).to.equal(site.scene.door)
          expect(await page.content()).not.to.include(token)
          await agree(page)
          await until(page, 'alice')
          expect(site.arrived).to.have.length(1)
          expect(site.arrived[0]).to.deep.include({ sub: 'alice', act: { sub: 'bob' } })
          const cookies = await page.context().cookies()
          expect(cookies.filter(({ name }) => name.startsWith('_imp_'))).to.deep.equal([])
        },
        { javaScriptEnabled },
      ))
  }

  it('asks an engineer who is not signed in to sign in first, at the provider', () =>
    visit(
      {},
      async (session) => {
        await open(session)
        await agree(session.page)
        await until(session.page, 'alice')
      },
      { signedIn: false },
    ))

  it('opens the shop over https with cookies that are sent to other sites, also by a form', async () => {
    for (const posts of [false, true])
      await visit(
        {
          https: true,
          posts,
          given: {
            configuration: {
              enableHttpPostMethods: true,
              cookies: {
                keys: ['a key of the tests'],
                long: { sameSite: 'none', signed: true },
                short: { sameSite: 'none', signed: true },
              },
            },
          },
        },
        async (session) => {
          const { page, site } = session
          await open(session)
          const before = await page.context().cookies()
          expect(before.find(({ name }) => name === '_imp_brought')).to.include({
            secure: true,
            sameSite: 'Lax',
          })
          await agree(page)
          if (posts) {
            const armed = (await page.context().cookies()).find(({ name }) =>
              /^_imp_[0-9a-f]{16}_[0-9a-f]{32}$/.test(name),
            )
            expect(armed).to.include({ secure: true, sameSite: 'None', httpOnly: true, path: '/oidc/auth' })
            await page.getByRole('button', { name: 'Go on' }).click()
          }
          await until(page, 'alice')
          expect(site.arrived.at(-1)).to.include({ sub: 'alice' })
        },
      )
  })

  it('lets no other site press its button, show it in a frame, or hold its window', () =>
    visit({}, async (session) => {
      const { site, page, id } = session
      await open(session)
      const sealed = await page.locator('input[name=sealed]').inputValue()
      await page.goto(site.desk('none'))
      await page.evaluate(`{
        const form = document.createElement('form')
        form.method = 'post'
        form.action = '${site.scene.door}/confirm'
        form.innerHTML = '<input name="sealed" value="${sealed}">'
        document.body.append(form)
        form.submit()
      }`)
      await until(page, 'This cannot be opened')
      expect((await site.scene.record(id))?.use).to.equal(undefined)
      await page.goto(site.desk('none'))
      const frame = await page.evaluate(`new Promise((resolve) => {
        const element = document.createElement('iframe')
        element.src = '${site.scene.door}'
        element.onload = () => resolve(element.contentDocument ? element.contentDocument.body.innerText : 'another origin')
        document.body.append(element)
      })`)
      expect(frame).not.to.include('Open as')
      const answer = await page.evaluate(
        `fetch('${site.scene.door}', { credentials: 'include' }).then(() => 'read', () => 'refused')`,
      )
      expect(answer).to.equal('refused')
      session.problems.splice(0)
    }))

  it('is one page with its names in any direction, also on a small screen', () =>
    visit(
      {
        given: {
          options: { requiredContext: ['reason'] },
          sessions: {
            nameOf: () =>
              new Map([
                ['alice', 'ليلى الفاسي'],
                ['bob', 'סם כהן'],
              ]),
          },
        },
        client: { client_name: 'متجر الكتب' },
      },
      async (session) => {
        const { page } = session
        await open(session)
        const heading = page.getByRole('heading', { level: 1 })
        expect(await heading.innerText()).to.equal('Open متجر الكتب as ليلى الفاسي?')
        await page.screenshot({ path: 'test/pages/screenshots/door-360.png' })
        const overflow = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
        expect(overflow).to.equal(false)
        const button = page.getByRole('button')
        expect(await button.count()).to.equal(1)
        const box = await button.boundingBox()
        expect((box?.x ?? 0) + (box?.width ?? 0)).to.be.at.most(360)
        await page.keyboard.press('Tab')
        expect(await page.evaluate('document.activeElement.tagName')).to.equal('BUTTON')
        await page.keyboard.press('Enter')
        await until(page, 'alice')
      },
      {
        viewport: { width: 360, height: 640 },
        issue: {
          context: { reason: `${'سبب طويل '.repeat(20)}https://tickets.example.com/${'x'.repeat(80)}` },
        },
      },
    ))

  it('mirrors where a reader has pages from right to left', () =>
    visit({}, async (session) => {
      const { page } = session
      await open(session)
      await page.evaluate("document.documentElement.dir = 'rtl'")
      const box = await page.getByRole('button').boundingBox()
      const main = await page.locator('main').boundingBox()
      const [left, right] = [(main?.x ?? 0) + 30, (main?.x ?? 0) + (main?.width ?? 0) - 30]
      expect((box?.x ?? 0) + (box?.width ?? 0)).to.be.closeTo(right, 12)
      expect(box?.x ?? 0).to.be.greaterThan(left)
    }))
})
