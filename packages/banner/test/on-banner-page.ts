/** The banner on the page that docs/banner.md shows, in a real browser: what every test of it begins with. */
import type { Page } from 'playwright-core'
import { inChromium } from '../../../fixtures/chromium.ts'
import type { Listening } from '../../../fixtures/listening.ts'
import { blocksOf, readPage } from '../../../fixtures/markdown.ts'
import { violations } from '../../../test/pages/look.ts'
import { serveBannerPage } from './page.ts'

const BLOCKS = blocksOf(readPage('docs/banner.md'))
export const blockOf = (language: string): string =>
  BLOCKS.find((block) => block.language === language)?.code ?? `no block in ${language}`
export const POLICY =
  /^Content-Security-Policy: (.*)$/m.exec(BLOCKS.map(({ code }) => code).join('\n'))?.[1] ?? ''

/** Seconds since the epoch. */
export const NOW = 1_800_000_000

/** A `describe` whose tests begin on this page, with what is done to it and seen on it. */
export function onBannerPage(title: string, tests: (banner: ReturnType<typeof bannerOn>) => void): void {
  inChromium(title, ({ open }) => {
    let server: Listening
    let page: Page
    before(async () => {
      server = await serveBannerPage(POLICY, blockOf('html'), blockOf('js'))
    })
    after(() => server?.close())
    beforeEach(async () => {
      page = await open({ baseURL: server.baseUrl })
      // The clock runs until it is stopped, which takes longer on a busy machine.
      await page.clock.install({ time: (NOW - 60) * 1000 })
      await page.clock.pauseAt(NOW * 1000 + 1)
      await page.goto('/')
      await page.clock.runFor(999)
    })
    tests(bannerOn(() => page))
  })
}

function bannerOn(page: () => Page) {
  const bar = () => page().getByRole('region', { name: 'Impersonation of' })
  const timer = () => page().getByRole('timer', { name: 'Time left' })
  const button = () => page().getByRole('button', { name: 'Stop' })
  const fold = () => page().getByRole('button', { name: /^(Unf|F)old$/ })
  const may = () => bar().locator('.may').textContent()
  const news = () => page().getByRole('status').textContent()
  const heard = () => page().evaluate<string[]>('window.heard')
  const time = async () => ((await timer().count()) === 0 ? undefined : timer().textContent())
  /** Runs in the page with `banner`, the first one. */
  const inPage = <T = unknown>(code: string): Promise<T> =>
    page().evaluate<T>(`(() => { const banner = document.querySelector('impersonation-banner'); ${code} })()`)

  const styleOf = (part: string, name: string) =>
    inPage(`return getComputedStyle(banner.shadowRoot.querySelector('${part}')).${name}`)

  /** As the script of the docs shows it, with an ear for its events. `left` counts from the clock's 1 s. */
  const show = async ({
    user = 'Alice Archer',
    engineer = 'Sam Sawyer',
    ticket = 'T-4711',
    left = 184,
  } = {}) => {
    const given = { customer: user, engineer, ticket, expiresIn: left }
    await page().evaluate(`import('/page.js').then(({ showView }) => {
      window.heard ??= []
      showView(${JSON.stringify(given)}, (type) => window.heard.push(type))
    })`)
  }
  /** Written as HTML would be: attributes only. */
  const put = (attributes: Record<string, string>) =>
    page().evaluate(`import('/page.js').then(() => {
      window.heard ??= []
      const banner = document.createElement('impersonation-banner')
      for (const type of ['end', 'over', 'continue']) banner.addEventListener(type, () => window.heard.push(type))
      for (const [name, value] of Object.entries(${JSON.stringify(attributes)})) banner.setAttribute(name, value)
      document.body.prepend(banner)
    })`)
  const from = (seconds: number) => String(NOW + 1 + seconds)

  return {
    page,
    bar,
    timer,
    button,
    fold,
    may,
    news,
    heard,
    time,
    inPage,
    styleOf,
    show,
    put,
    from,
    violations: () => violations(page()),
  }
}
