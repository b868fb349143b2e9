/** The banner in pages of other people: nothing that they do takes it out of sight, and it hides nothing of theirs. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import type { Frame, Page } from 'playwright-core'
import { inChromium } from '../../../fixtures/chromium.ts'
import { FRAME, HOST_PAGES, type HostPage } from './host-pages.ts'
import { blockOf } from './on-banner-page.ts'
import { serveBannerPage } from './page.ts'

const SCREENSHOTS = path.resolve(import.meta.dirname, '../../../test/pages/screenshots')
const SIZES = [
  [1280, 800],
  [360, 640],
] as const

const SHOW = `import('/page.js').then(({ showView }) => {
  window.heard = []
  const view = { customer: 'Alice Archer', engineer: 'Sam Sawyer', ticket: 'T-4711', expiresIn: 300 }
  window.banner = showView(view, (type) => window.heard.push(type))
})`

/** What lies on top at the centre of *Stop viewing*: the banner, and in it this button. */
const AT_STOP = `(() => {
  const stop = [...banner.shadowRoot.querySelectorAll('button')].find((one) => one.textContent === 'Stop viewing')
  const { x, y, width, height } = stop.getBoundingClientRect()
  const centre = [x + width / 2, y + height / 2]
  return [document.elementFromPoint(...centre)?.localName, stop.contains(banner.shadowRoot.elementFromPoint(...centre))]
})()`
const STOP_ON_TOP = ['impersonation-banner', true]

/** How many of the corners of the page's header something else lies over, or are outside the window. */
const CORNERS_HIDDEN = `(() => {
  const header = document.querySelector('.page-header')
  const { left, right, top, bottom } = header.getBoundingClientRect()
  const corners = [left + 1, right - 1].flatMap((x) => [top + 1, bottom - 1].map((y) => [x, y]))
  return corners.filter(([x, y]) => !header.contains(document.elementFromPoint(x, y))).length
})()`

inChromium('the banner in pages of other people', ({ open: openPage, closing }) => {
  let page: Page

  before(() => mkdirSync(SCREENSHOTS, { recursive: true }))

  /** The frame that shows the page, with a banner. */
  async function open(name: string, { policy, html, css }: HostPage): Promise<Frame> {
    const others = {
      '/page.css': css,
      '/frame': FRAME.html.replace('page.css', 'frame.css'),
      '/frame.css': FRAME.css,
    }
    const server = await serveBannerPage(policy, html, blockOf('js'), others)
    closing.push(server.close)
    page = await openPage({ baseURL: server.baseUrl })
    await page.goto(name === 'iframe' ? '/frame' : '/')
    const frame = page.frames().at(-1) ?? page.mainFrame()
    await frame.waitForLoadState()
    await frame.evaluate(SHOW)
    return frame
  }

  const resize = async ([width, height]: (typeof SIZES)[number]) => page.setViewportSize({ width, height })

  for (const [name, hostPage] of Object.entries(HOST_PAGES)) {
    it(`${name}: it lies on top, scrolled or not, and the header of the page is whole`, async () => {
      const frame = await open(name, hostPage)
      for (const size of SIZES) {
        await resize(size)
        for (const scrolled of [0, 900]) {
          await frame.evaluate(`window.scrollTo(0, ${scrolled})`)
          const where = `${size[0]} px, scrolled by ${scrolled}`
          expect(await frame.evaluate(AT_STOP), where).to.deep.equal(STOP_ON_TOP)
          if (scrolled > 0)
            expect(await frame.evaluate('window.scrollY'), 'can be scrolled').to.be.greaterThan(99)
          if (scrolled === 0 || hostPage.isHeaderPinned)
            expect(await frame.evaluate(CORNERS_HIDDEN), `header at ${where}`).to.equal(0)
        }
        await page.screenshot({
          path: path.join(SCREENSHOTS, `banner-${name.replace(/\W+/g, '-')}-${size[0]}.png`),
        })
      }
      await frame.getByRole('button', { name: 'Stop' }).click()
      expect(await frame.evaluate('window.heard')).to.deep.equal(['end'])
    })
  }

  it('modal dialog: it stays in view while the dialog is open, and Stop works again when it closes', async () => {
    const frame = await open('modal dialog', HOST_PAGES['modal dialog'] as HostPage)
    await page.clock.install()
    await page.clock.pauseAt(Date.now() + 60_000)
    for (const size of SIZES) {
      await resize(size)
      const clip = { x: 0, y: 0, width: size[0], height: 44 }
      const before = await page.screenshot({ clip })
      await frame.evaluate(`{
        const dialog = document.querySelector('dialog')
        dialog.showModal()
        new Promise((resolve) => dialog.addEventListener('toggle', resolve, { once: true })).then(() => undefined)
      }`)
      expect((await page.screenshot({ clip })).equals(before), 'the backdrop is not over it').to.equal(true)
      await page.screenshot({ path: path.join(SCREENSHOTS, `banner-modal-dialog-open-${size[0]}.png`) })
      const [x, y] = [size[0] - 100, 22]
      await page.mouse.click(x, y)
      expect(await frame.evaluate('window.heard'), 'the page lets no one press it now').to.deep.equal([])
      await page.getByRole('button', { name: 'Keep it' }).click()
      expect(await frame.evaluate(AT_STOP)).to.deep.equal(STOP_ON_TOP)
    }
    await frame.getByRole('button', { name: 'Stop' }).click()
    expect(await frame.evaluate('window.heard')).to.deep.equal(['end'])
  })

  it('lies above a popover of the page that opens later', async () => {
    const frame = await open('popover', HOST_PAGES['fixed header at z-index 1100'] as HostPage)
    await frame.evaluate(`{
      const menu = document.createElement('div')
      menu.popover = 'auto'
      Object.assign(menu.style, { width: '100%', height: '100%' })
      document.body.append(menu)
      menu.showPopover()
      new Promise((resolve) => menu.addEventListener('toggle', () => setTimeout(resolve)))
    }`)
    expect(await frame.evaluate(AT_STOP)).to.deep.equal(STOP_ON_TOP)
  })

  it('stays in view above an element that fills the screen, and Stop works again afterwards', async () => {
    const frame = await open('full screen', HOST_PAGES['fixed header at z-index 1100'] as HostPage)
    const clip = { x: 0, y: 0, width: 1000, height: 40 }
    const before = await page.screenshot({ clip })
    await frame.evaluate(`{
      const changed = new Promise((resolve) => document.addEventListener('fullscreenchange', resolve))
      document.querySelector('main').requestFullscreen()
      changed.then(() => undefined)
    }`)
    expect((await page.screenshot({ clip })).equals(before)).to.equal(true)
    await frame.evaluate('document.exitFullscreen()')
    expect(await frame.evaluate(AT_STOP)).to.deep.equal(STOP_ON_TOP)
  })

  it('lies on top of a header that knows nothing of it, and of a page that is transformed and clipped', async () => {
    const css = `.page-header { position: fixed; inset: 0 0 auto; z-index: 2147483647; height: 60px; background: #ccc }
      body { transform: scale(0.5); overflow: hidden; height: 30px }`
    const frame = await open('unaware', { ...(HOST_PAGES['body as grid'] as HostPage), css })
    expect(await frame.evaluate(AT_STOP)).to.deep.equal(STOP_ON_TOP)
    expect(await frame.evaluate('banner.shadowRoot.firstChild.getBoundingClientRect().height')).to.equal(44)
  })

  it('takes no other place in the page: styles for every element change nothing', async () => {
    const css = `${HOST_PAGES['body as grid']?.css}
      body > * { position: static !important; display: none !important; z-index: 0 !important; opacity: 0; pointer-events: none }
      * { all: unset !important }`
    const frame = await open('hostile', { ...(HOST_PAGES['body as grid'] as HostPage), css })
    expect(await frame.evaluate(AT_STOP)).to.deep.equal(STOP_ON_TOP)
  })
})
