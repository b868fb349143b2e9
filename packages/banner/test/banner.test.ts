/** The banner, on the page that docs/banner.md shows, in a real browser. */
import axe from 'axe-core'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { isChromiumAvailable, openChromium } from '../../../fixtures/chromium.ts'
import { blocksOf, readPage } from '../../../fixtures/markdown.ts'
import { VIOLATION } from '../../../test/browser/desk.ts'
import { isFocused } from '../../../test/browser/shown.ts'
import { ADDRESS, type BannerPage, serveBannerPage } from './page.ts'

const BLOCKS = blocksOf(readPage('docs/banner.md'))
const blockOf = (language: string): string =>
  BLOCKS.find((block) => block.language === language)?.code ?? `no block in ${language}`
const POLICY = /^Content-Security-Policy: (.*)$/m.exec(BLOCKS.map(({ code }) => code).join('\n'))?.[1] ?? ''

/** Seconds since the epoch. */
const NOW = 1_800_000_000

describe('the banner', function () {
  this.timeout(60_000)
  let server: BannerPage
  let page: Page
  const problems: string[] = []

  before(async function () {
    if (!isChromiumAvailable()) return this.skip()
    server = await serveBannerPage(POLICY, blockOf('html'), blockOf('js'))
  })
  after(() => server?.close())
  beforeEach(async () => {
    problems.length = 0
    const context = await (await openChromium()).newContext({ baseURL: server.baseUrl })
    context.setDefaultTimeout(10_000)
    page = await context.newPage()
    page.on('pageerror', ({ message }) => problems.push(message))
    page.on('console', (message) => {
      if (VIOLATION.test(message.text())) problems.push(message.text())
    })
    // The clock runs until it is stopped, which takes longer on a busy machine.
    await page.clock.install({ time: (NOW - 60) * 1000 })
    await page.clock.pauseAt(NOW * 1000 + 1)
    await page.goto('/')
    await page.clock.runFor(999)
  })
  afterEach(async function () {
    await page?.context().close()
    if (this.currentTest?.isPassed()) expect(problems).to.deep.equal([])
  })

  const bar = () => page.getByRole('region', { name: 'Impersonation of' })
  const timer = () => page.getByRole('timer', { name: 'Time left' })
  const button = () => page.getByRole('button', { name: 'Stop' })
  const news = () => page.getByRole('status').textContent()
  const heard = () => page.evaluate<string[]>('window.heard')
  const time = async () => ((await timer().count()) === 0 ? undefined : timer().textContent())
  /** Runs in the page with `banner`, the first one. */
  const inPage = <T = unknown>(code: string): Promise<T> =>
    page.evaluate<T>(`(() => { const banner = document.querySelector('impersonation-banner'); ${code} })()`)

  const styleOf = (part: string, name: string) =>
    inPage(`return getComputedStyle(banner.shadowRoot.querySelector('${part}')).${name}`)

  /** As the script of the docs shows it, with an ear for its events. `left` counts from the clock's 1 s. */
  const show = async ({ user = 'Alice Archer', ticket = 'T-4711', left = 184 } = {}) => {
    const given = { customer: user, engineer: 'Sam Sawyer', ticket, expiresIn: left }
    await page.evaluate(`import('/page.js').then(({ showView }) => {
      window.heard ??= []
      showView(${JSON.stringify(given)}, (type) => window.heard.push(type))
    })`)
  }
  /** Written as HTML would be: attributes only. */
  const put = (attributes: Record<string, string>) =>
    page.evaluate(`import('/page.js').then(() => {
      window.heard ??= []
      const banner = document.createElement('impersonation-banner')
      for (const type of ['end', 'over']) banner.addEventListener(type, () => window.heard.push(type))
      for (const [name, value] of Object.entries(${JSON.stringify(attributes)})) banner.setAttribute(name, value)
      document.body.prepend(banner)
    })`)
  const from = (seconds: number) => String(NOW + 1 + seconds)

  it('works under the policy of the documentation, in which text cannot become HTML or style', async () => {
    expect(POLICY).to.match(/^default-src 'none'; script-src 'self'; require-trusted-types-for 'script'/)
    await show()
    expect(await bar().innerText()).to.match(/You see what Alice Archer sees\s+· as Sam Sawyer\s+· T-4711/)
    expect(await styleOf('section', 'backgroundColor')).to.equal('rgb(255, 197, 61)')
    expect(await inPage('return banner.shadowRoot.querySelectorAll("style, [style]").length')).to.equal(0)
    expect(await bar().getAttribute('lang')).to.equal('en')
  })

  for (const width of [1280, 360]) {
    it(`is one row of 44 px at ${width} px, whatever it says`, async () => {
      await page.setViewportSize({ width, height: 800 })
      for (const user of ['Alice Archer', 'Alexandrina-Wilhelmina '.repeat(20)]) {
        await show({ user, ticket: 'because '.repeat(30), left: 42 })
        expect((await bar().boundingBox())?.height).to.equal(44)
        expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(width)
        expect(await button().innerText()).to.equal(width === 360 ? 'Stop' : 'Stop viewing')
        expect((await bar().locator('b bdi').boundingBox())?.width).to.be.greaterThan(80)
        const end = await button().boundingBox()
        expect((end?.x ?? 0) + (end?.width ?? 0)).to.be.within(width - 25, width - 5)
        await inPage('banner.remove()')
      }
    })
  }

  it('cuts long names, and has them whole for the tooltip and for screen readers', async () => {
    const user = `${'Long '.repeat(60)}Name`
    await show({ user })
    const shown = bar().getByText(user)
    expect(await shown.first().textContent()).to.equal(user)
    expect(await bar().locator('p').getAttribute('title'))
      .to.include(user)
      .and.to.include('T-4711')
    expect(await bar().getAttribute('aria-label')).to.equal(`Impersonation of ${user}`)
    expect(await page.title())
      .to.have.lengthOf.below(50)
      .and.to.match(/^● Long .*… · Orders$/)
  })

  it('counts down, marks the last minute and says so once, and emits `over` once', async () => {
    await show()
    expect(await time()).to.equal('3:04')
    await page.clock.runFor(1000)
    expect(await time()).to.equal('3:03')
    await page.clock.runFor(122_000)
    expect([await time(), await news()]).to.deep.equal(['1:01', ''])
    await page.evaluate(`{
      const status = document.querySelector('impersonation-banner').shadowRoot.querySelector('[role=status]')
      window.said = []
      new MutationObserver(() => said.push(status.textContent)).observe(status, { childList: true })
    }`)
    await page.clock.runFor(1000)
    expect([await time(), await news()]).to.deep.equal(['1:00', 'Last minute'])
    expect(await styleOf('section', 'backgroundColor')).to.equal('rgb(163, 35, 15)')
    await inPage('window.kept = banner; banner.remove = () => {}')
    await page.clock.runFor(59_999)
    expect([await time(), await heard()]).to.deep.equal(['0:01', []])
    await page.clock.runFor(2)
    expect([await time(), await heard(), await news()]).to.deep.equal(['0:00', ['over'], 'Time is up'])
    await page.clock.runFor(100_000)
    expect(await heard()).to.deep.equal(['over'])
    expect(await page.evaluate('window.said')).to.deep.equal(['Last minute', 'Time is up'])
  })

  it('knows the time when a tab is looked at again, no matter what its timers did', async () => {
    await show()
    await page.clock.setSystemTime((NOW + 151) * 1000)
    expect(await time()).to.equal('3:04')
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(await time()).to.equal('0:34')
  })

  it('emits `end` when its button is clicked', async () => {
    await show()
    await button().click()
    expect(await heard()).to.deep.equal(['end'])
    expect(await bar().count()).to.equal(0)
  })

  for (const key of ['Enter', 'Space']) {
    it(`emits \`end\` for ${key}, and shows where the focus is`, async () => {
      await show()
      await page.keyboard.press('Tab')
      expect(await isFocused(button())).to.equal(true)
      expect(await styleOf('button', 'outlineWidth')).to.equal('2px')
      await page.keyboard.press(key)
      expect(await heard()).to.deep.equal(['end'])
    })
  }

  it('lets its events be heard by what is around it', async () => {
    await put({ user: 'Alice', until: from(1) })
    await page.evaluate(`window.around = []
      for (const type of ['end', 'over'])
        document.addEventListener(type, ({ target }) => around.push(type + ' of ' + target.user))`)
    await button().click()
    await page.clock.runFor(1001)
    expect(await page.evaluate('window.around')).to.deep.equal(['end of Alice', 'over of Alice'])
  })

  it('says no more than it is told', async () => {
    await put({ user: 'Alice' })
    expect(await bar().locator('p').textContent()).to.equal('You see what Alice sees')
    expect(await inPage('return [banner.user, banner.actor, banner.reason]')).to.deep.equal(['Alice', '', ''])
  })

  it('does nothing before it is in the page', async () => {
    await page.evaluate(`import('/page.js').then(() => {
      window.heard = []
      window.kept = document.createElement('impersonation-banner')
      window.kept.addEventListener('over', () => window.heard.push('over'))
      window.kept.setAttribute('user', 'Alice')
      window.kept.setAttribute('until', '${NOW - 5}')
    })`)
    await page.clock.runFor(5000)
    expect([await heard(), await page.title()]).to.deep.equal([[], 'Orders'])
  })

  it('wakes up when its time changes, and once a second when there is none left', async () => {
    await page.evaluate(`{
      const start = setTimeout
      window.pauses = []
      window.setTimeout = (work, pause) => {
        pauses.push(pause)
        return start(work, pause)
      }
    }`)
    const pauses = () => page.evaluate('window.pauses.splice(0)')
    await page.clock.runFor(400)
    await put({ user: 'Alice', until: from(3) })
    await page.clock.runFor(4700)
    expect(await pauses()).to.deep.equal([600, 1000, 1000, 0, 1000, 1000, 1000])
    await inPage(`banner.until = ${NOW}`)
    await page.clock.runFor(2500)
    expect(await pauses()).to.deep.equal([0, 1000, 1000, 1000])
    await inPage("banner.removeAttribute('until')")
    await page.clock.runFor(2500)
    expect(await pauses()).to.deep.equal([1000, 1000, 1000])
  })

  it('follows attributes and properties that change later', async () => {
    await put({ user: 'Alice', until: from(300) })
    await inPage("banner.setAttribute('user', 'Bob Baker'); banner.actor = 'Robin'; banner.reason = 'T-2'")
    await inPage(`banner.until = ${NOW + 11}`)
    expect(await bar().innerText()).to.match(/Bob Baker sees\s+· as Robin\s+· T-2/)
    expect([await time(), await news(), await page.title()]).to.deep.equal([
      '0:10',
      'Last minute',
      '● Bob Baker · Orders',
    ])
    expect(await inPage('return [banner.user, banner.actor, banner.reason, banner.until]')).to.deep.equal([
      'Bob Baker',
      'Robin',
      'T-2',
      NOW + 11,
    ])
    await inPage(`banner.until += 300; banner.actor = ''; banner.reason = null`)
    expect([await time(), await news()]).to.deep.equal(['5:10', ''])
    expect(await bar().innerText()).not.to.match(/·|null/)
    await inPage(`banner.until = ${NOW - 5}`)
    await page.clock.runFor(1)
    expect(await heard()).to.deep.equal(['over'])
    await inPage(`banner.until = ${NOW + 6}`)
    await page.clock.runFor(5000)
    expect(await heard(), 'a new time, a new end').to.deep.equal(['over', 'over'])
    await inPage(`banner.until += 60`)
    await inPage(`banner.until -= 60`)
    await page.clock.runFor(1)
    expect(await heard(), 'the same time again').to.deep.equal(['over', 'over', 'over'])
  })

  it('stops when it is removed, and goes on when it is added again', async () => {
    await put({ user: 'Alice', until: from(100) })
    await inPage('window.kept = banner; banner.remove()')
    expect(await page.title()).to.equal('Orders')
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await page.clock.runFor(200_000)
    expect([await heard(), await page.title()]).to.deep.equal([[], 'Orders'])
    await page.evaluate('document.body.append(window.kept)')
    await page.clock.runFor(1)
    expect([await heard(), await time(), await page.title()]).to.deep.equal([
      ['over'],
      '0:00',
      '● Alice · Orders',
    ])
    await inPage('document.body.prepend(banner)')
    await page.clock.runFor(1)
    expect(await heard(), 'moved').to.deep.equal(['over'])
    await inPage(`banner.until = ${NOW - 7}; banner.remove()`)
    await page.clock.runFor(1)
    expect(await heard(), 'removed before it could say so').to.deep.equal(['over'])
    await put({ user: 'Alice', until: from(200_000) })
    await inPage(`banner.addEventListener('over', () => banner.remove()); banner.until = ${NOW}`)
    await page.clock.runFor(2000)
    expect(await page.title(), 'removed as soon as it says so').to.equal('Orders')
  })

  it('puts the name into the title once, also after the page has changed its title, and takes it out', async () => {
    await put({ user: ' Alice \n  Archer ', until: from(100) })
    expect(await page.title()).to.equal('● Alice Archer · Orders')
    await page.evaluate("document.title = 'Order 1'")
    await page.clock.runFor(5000)
    expect(await page.title()).to.equal('● Alice Archer · Order 1')
    await page.evaluate("document.title = ''")
    await page.clock.runFor(5000)
    expect(await page.title()).to.equal('● Alice Archer ·')
    await inPage('banner.remove()')
    expect(await page.title()).to.equal('')
  })

  it('shows HTML, and text that turns around, as text', async () => {
    const hostile = '<img src=x onerror="window.ran = 1"></bdi><b>&amp;'
    await put({ user: hostile, actor: hostile, reason: `\u202e${hostile}`, until: from(100) })
    expect(await bar().locator('bdi').allTextContents()).to.deep.equal([hostile, hostile, `\u202e${hostile}`])
    expect(await bar().locator('img').count()).to.equal(0)
    expect(await page.evaluate('window.ran')).to.equal(undefined)
    expect(await page.title()).to.match(/^● <img src=x onerror=/)
  })

  for (const until of [undefined, '', ' ', 'soon', '12abc', 'NaN', 'Infinity', '1e999']) {
    it(`shows no time, and no end, if until is ${JSON.stringify(until) ?? 'absent'}`, async () => {
      await put({ user: 'Alice', ...(until === undefined ? {} : { until }) })
      await page.clock.runFor(100_000)
      expect([await time(), await news(), await heard()]).to.deep.equal([undefined, '', []])
      expect(await inPage('return String(banner.until)')).to.equal('NaN')
      await button().click()
      expect(await heard()).to.deep.equal(['end'])
    })
  }

  it('emits `over` if until is in the past, late enough to be heard', async () => {
    await page.evaluate(`import('/page.js').then(() => {
      window.heard = []
      const banner = document.createElement('impersonation-banner')
      banner.setAttribute('until', '${NOW - 100}')
      document.body.prepend(banner)
      banner.addEventListener('over', () => window.heard.push('over'))
    })`)
    expect([await heard(), await time()]).to.deep.equal([[], '0:00'])
    await page.clock.runFor(1)
    expect(await heard()).to.deep.equal(['over'])
    expect(await bar().innerText()).to.include('someone else')
  })

  it('emits `over` at until and not in the second before it, whenever it was shown', async () => {
    await page.clock.runFor(400)
    await put({ user: 'Alice', until: from(1) })
    await page.clock.runFor(599)
    expect([await time(), await heard(), await news()]).to.deep.equal(['0:01', [], 'Last minute'])
    await page.clock.runFor(2)
    expect([await time(), await heard(), await news()]).to.deep.equal(['0:00', ['over'], 'Time is up'])
  })

  it('takes properties that were set before the element was defined', async () => {
    await page.reload()
    const early = `const one = document.createElement('impersonation-banner')
      one.user = 'Alice'
      one.until = ${NOW + 100}
      document.body.prepend(one)`
    await page.addInitScript(
      `document.addEventListener('readystatechange', () => { ${early} }, { once: true })`,
    )
    await page.reload()
    await bar().waitFor()
    expect(await inPage('return [banner.getAttribute("user"), Object.hasOwn(banner, "user")]')).to.deep.equal(
      ['Alice', false],
    )
  })

  it('is one of several', async () => {
    await put({ user: 'Alice', until: from(5) })
    await put({ user: 'Bob', until: from(100) })
    expect(await page.title()).to.equal('● Bob · ● Alice · Orders')
    expect(await timer().allTextContents()).to.deep.equal(['1:40', '0:05'])
    await page.clock.runFor(6000)
    expect(await heard()).to.deep.equal(['over'])
    await page.evaluate("document.querySelectorAll('impersonation-banner')[1].remove()")
    expect(await page.title()).to.equal('● Bob · Orders')
    await put({ user: 'Carol', until: from(100) })
    await page.clock.resume()
    expect(await violations()).to.deep.equal([])
  })

  it('shows what the page puts into it, and is hidden by `hidden`', async () => {
    await put({ user: 'Alice' })
    await inPage(
      "const link = document.createElement('a'); link.href = '#x'; link.append('The record'); banner.append(link)",
    )
    await page.getByRole('link', { name: 'The record' }).waitFor()
    const style = `const sheet = new CSSStyleSheet(); sheet.replaceSync('a { color: red }')
      document.adoptedStyleSheets = [sheet]; return getComputedStyle(banner.firstChild).color`
    expect(await inPage(style), "the page's own colour would be hard to read").to.equal('rgb(36, 26, 0)')
    await inPage('banner.hidden = true')
    expect(await bar().count()).to.equal(0)
  })

  async function violations(): Promise<string[]> {
    if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(`${axe.source}; undefined`)
    const found = await page.evaluate<{ id: string }[]>('axe.run().then(({ violations }) => violations)')
    return found.map(({ id }) => id)
  }

  for (const width of [1280, 360]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      it(`has no accessibility violation at ${width} px, ${colorScheme}, in any state`, async () => {
        await page.setViewportSize({ width, height: 800 })
        await page.emulateMedia({ colorScheme })
        await page.clock.resume() // axe waits
        for (const left of [184, 42, 0]) {
          await put({ user: 'Alice Archer', actor: 'Sam Sawyer', reason: 'T-1', until: from(left) })
          expect(await violations(), String(left)).to.deep.equal([])
          await inPage('banner.remove()')
        }
      })
    }
  }

  it('fits at 400 % zoom and with text of twice the size', async () => {
    await page.setViewportSize({ width: 320, height: 256 })
    await show()
    expect((await bar().boundingBox())?.height).to.equal(44)
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    expect((await bar().boundingBox())?.height).to.be.within(44, 90)
    expect(await styleOf('section', 'fontSize')).to.equal('30px')
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(1280)
  })

  it('has a border in forced colours, moves nothing, and prints who and why', async () => {
    await show({ left: 42 })
    const style = (name: string) => styleOf('section', name)
    await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
    expect(await style('borderTopStyle')).to.equal('double')
    expect(await page.evaluate('document.getAnimations().length')).to.equal(0)
    await page.emulateMedia({ forcedColors: 'none', media: 'print' })
    expect(await bar().innerText()).to.match(
      /^You see what Alice Archer sees\s+· as Sam Sawyer\s+· T-4711\s*$/,
    )
    expect(await style('color')).to.equal('rgb(0, 0, 0)')
  })

  it('is shown by the program of the README, and ends when its button is pressed', async () => {
    const [, { code } = { code: '' }] = blocksOf(readPage('packages/banner/README.md'))
    const script = code.replace("'oidc-provider-impersonation-banner'", `'${ADDRESS}'`)
    const readme = await serveBannerPage(POLICY, blockOf('html'), script)
    try {
      await page.goto(readme.baseUrl)
      expect(await bar().innerText()).to.match(/You see what Alice Archer sees\s+· as Sam Sawyer\s+· T-4711/)
      expect(await time()).to.match(/^[45]:\d\d$/)
      await button().click()
      await bar().waitFor({ state: 'hidden' })
    } finally {
      readme.close()
    }
  })

  it('can be imported where there is no browser', async () => {
    const { ImpersonationBanner } = await import('../src/banner.js')
    expect(ImpersonationBanner.name).to.equal('ImpersonationBanner')
  })
})
