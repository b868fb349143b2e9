/** The place of the banner: the room that the page keeps free, the pill, either side, and paper. */
import { expect } from 'chai'
import { isFocused } from '../../../fixtures/chromium.ts'
import { until } from '../../../fixtures/until.ts'
import { onBannerPage } from './on-banner-page.ts'

const ROOM = `return ['top', 'bottom', 'color'].map((name) =>
  getComputedStyle(document.documentElement).getPropertyValue('--impersonation-banner-' + name))`
const YELLOW = '#ffc53d'

onBannerPage('the banner, and the room that it takes', (banner) => {
  const { page, bar, button, fold, heard, time, inPage, styleOf, show, put, from, violations } = banner
  const top = async () => (await bar().boundingBox())?.y
  const padding = () =>
    page().evaluate<number>('parseFloat(getComputedStyle(document.documentElement).paddingTop)')
  const headingTop = async () => (await page().getByRole('heading').boundingBox())?.y ?? 0

  it('keeps its height free at the top while it is there, and says so to the headers of the page', async () => {
    const before = await headingTop()
    await show()
    expect(await inPage(ROOM)).to.deep.equal(['44px', '0px', YELLOW])
    expect(await headingTop()).to.equal(before + 44)
    expect(await page().evaluate('getComputedStyle(document.documentElement).scrollPaddingTop')).to.equal(
      '44px',
    )
    await page().evaluate("document.documentElement.style.fontSize = '400%'")
    await until(async () => (await padding()) > 44)
    expect((await bar().boundingBox())?.height).to.equal(await padding())
    await inPage('banner.hidden = true')
    await until(async () => (await padding()) === 0)
    await inPage('banner.hidden = false')
    await inPage('banner.remove()')
    expect(await inPage(ROOM)).to.deep.equal(['', '', ''])
    await page().evaluate("document.documentElement.style.fontSize = ''")

    // Also after the page has taken its own style sheets anew.
    await show()
    // In one turn of the page, because the banner looks by itself as well.
    expect(await inPage(`document.adoptedStyleSheets = []; ${ROOM}`)).to.deep.equal(['', '', ''])
    await inPage("banner.actor = 'Robin Reed'")
    expect(await inPage(ROOM)).to.deep.equal(['44px', '0px', YELLOW])
  })

  it('tells the page its colour, which changes in the last minute', async () => {
    await show({ left: 61 })
    await page().emulateMedia({ colorScheme: 'dark' })
    expect(await inPage(ROOM)).to.deep.equal(['44px', '0px', '#e0a92b'])
    await page().clock.runFor(2000)
    expect(await inPage(ROOM)).to.deep.equal(['44px', '0px', '#a3230f'])
    // At the bottom, too.
    await inPage('banner.remove()')
    await page().emulateMedia({ colorScheme: 'light' })
    await put({ user: 'Alice', until: from(100), side: 'bottom' })
    expect([await top(), await inPage(ROOM)]).to.deep.equal([720 - 44, ['0px', '44px', YELLOW]])
    await inPage("banner.side = 'top'")
    expect([await top(), await inPage(ROOM)]).to.deep.equal([0, ['44px', '0px', YELLOW]])
    expect(await inPage('return banner.side')).to.equal('top')
  })

  it('lies below another one, so that each can be stopped', async () => {
    await put({ user: 'Alice', until: from(100) })
    await put({ user: 'Bob', until: from(100) })
    expect((await inPage<string[]>(ROOM))[0]).to.equal('88px')
    for (const stop of await button().all()) await stop.click()
    expect(await heard()).to.deep.equal(['end', 'end'])
    await page().evaluate("document.querySelectorAll('impersonation-banner')[1].remove()")
    expect([await top(), (await inPage<string[]>(ROOM))[0]]).to.deep.equal([0, '44px'])
  })

  for (const side of ['top', 'bottom']) {
    it(`folds at the ${side} to a pill with the name and the time, which stays until it is unfolded`, async () => {
      await page().setViewportSize({ width: 360, height: 640 })
      await put({ user: 'Alice Archer', actor: 'Sam', reason: 'T-1', until: from(184), side })
      await fold().click()
      expect(await isFocused(fold())).to.equal(true)
      expect(await fold().getAttribute('aria-expanded')).to.equal('false')
      expect(await bar().innerText()).to.match(/^Alice Archer\s+3:04\s+\+$/)
      expect((await inPage<string[]>(ROOM)).slice(0, 2)).to.deep.equal(['0px', '0px'])
      const { x, y, width, height } = (await bar().boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
      expect([Math.round(x + width / 2), height]).to.deep.equal([180, 34])
      expect(y).to.equal(side === 'top' ? 5 : 640 - 39)
      expect(await button().count()).to.equal(0)
      await page().keyboard.press('Escape')
      await page().mouse.click(180, 320)
      await page().clock.runFor(130_000)
      expect([await time(), await styleOf('section', 'backgroundColor')]).to.deep.equal([
        '0:54',
        'rgb(163, 35, 15)',
      ])
      await page().clock.resume()
      expect(await violations()).to.deep.equal([])
      await bar().locator('bdi').first().click()
      await button().click()
      expect(await heard()).to.deep.equal(['end'])
      expect(await page().title()).to.equal('● Alice Archer · Orders')
    })
  }

  it('unfolds by keyboard, and cuts a long name in the pill, so that the time stays', async () => {
    await show({ user: 'Alexandrina-Wilhelmina '.repeat(20) })
    await fold().press('Enter')
    expect(await button().count()).to.equal(0)
    await fold().press('Enter')
    expect(await button().count()).to.equal(1)
    expect(await fold().getAttribute('aria-expanded')).to.equal('true')
    await page().setViewportSize({ width: 360, height: 640 })
    await fold().click()
    expect((await bar().boundingBox())?.width).to.be.lessThan(260)
    expect(await page().evaluate('document.documentElement.scrollWidth')).to.equal(360)
    expect(await page().getByRole('timer').isVisible()).to.equal(true)
  })

  it('shows hours where there are some', async () => {
    await show({ left: 9000 })
    expect(await time()).to.equal('2:30:00')
    await inPage(`banner.until = ${from(3661)}`)
    expect(await time()).to.equal('1:01:01')
    await page().clock.runFor(62_000)
    expect(await time()).to.equal('59:59')
  })

  it('is on paper once, above the page, with long names whole', async () => {
    const user = 'Alexandrina-Wilhelmina '.repeat(5).trim()
    await show({ user })
    await page().emulateMedia({ media: 'print' })
    await page().setViewportSize({ width: 700, height: 900 })
    expect(await styleOf('section', 'position')).to.equal('absolute')
    const shown = await bar().innerText()
    expect(shown).to.include(user).and.to.include('as Sam Sawyer').and.to.include('T-4711')
    expect(await styleOf('p', 'whiteSpace')).to.equal('normal')
    const { height = 0 } = (await bar().boundingBox()) ?? {}
    await until(async () => (await padding()) === height)
  })
})
