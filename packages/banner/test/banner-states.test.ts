/** What becomes of the view, as the page tells the banner: stopping, not stopped yet, stopped, over. */
import { expect } from 'chai'
import { isFocused } from '../../../fixtures/chromium.ts'
import { onBannerPage } from './on-banner-page.ts'

onBannerPage('the banner, when the view ends', (banner) => {
  const { page, bar, timer, button, fold, news, heard, time, inPage, styleOf, show, put, from, violations } =
    banner
  const again = () => page().getByRole('button', { name: 'Try now' })
  const cover = () => page().getByRole('dialog')
  const goOn = () => page().getByRole('button', { name: 'Continue as' })
  const view = () => put({ user: 'Alice Archer', actor: 'Sam Sawyer', until: from(300) })
  const state = (name: string) => inPage(`banner.state = '${name}'`)

  it('stays where it is while the view is being stopped, and its button does nothing more', async () => {
    await view()
    await inPage("banner.addEventListener('end', () => { banner.state = 'stopping' })")
    const before = await button().boundingBox()
    await button().dblclick()
    expect([await heard(), await news(), await time()]).to.deep.equal([['end'], 'Stopping …', '5:00'])
    expect(await button().getAttribute('aria-disabled')).to.equal('true')
    expect((await button().boundingBox())?.y).to.equal(before?.y)
    await page().keyboard.press('Enter')
    await button().focus()
    await page().keyboard.press('Enter')
    expect(await heard()).to.deep.equal(['end'])
  })

  it('says that it is not stopped yet, and lets it be tried now', async () => {
    await view()
    await state('failed')
    expect([await news(), await time()]).to.deep.equal(['Not stopped yet', '5:00'])
    await again().click()
    expect(await heard()).to.deep.equal(['end'])
    expect(await button().count()).to.equal(0)
    await page().clock.runFor(301_000)
    expect(await heard(), 'its token ends in any case').to.deep.equal(['end', 'over'])
  })

  it('says when it was stopped, in a row of the same height without buttons, and then nothing more', async () => {
    await view()
    await page().clock.setSystemTime(new Date(2027, 0, 15, 23, 42, 53))
    await state('stopped')
    expect(await news()).to.equal('Stopped 23:42:53')
    expect(await bar().getByRole('button').count()).to.equal(0)
    expect((await bar().boundingBox())?.height).to.equal(44)
    expect([await timer().count(), await page().title()]).to.deep.equal([0, 'Orders'])
    await page().clock.runFor(400_000)
    expect([await heard(), await news(), await page().title()]).to.deep.equal([
      [],
      'Stopped 23:42:53',
      'Orders',
    ])
    await state('')
    expect(await page().title()).to.equal('● Alice Archer · Orders')
  })

  it('unfolds when something becomes of the view, and shows it on a phone', async () => {
    await page().setViewportSize({ width: 360, height: 640 })
    await view()
    for (const [name, said] of [
      ['stopping', 'Stopping …'],
      ['failed', 'Not stopped yet'],
      ['stopped', /^Stopped \d\d:\d\d:\d\d$/],
    ] as const) {
      await state('')
      await fold().click()
      await state(name)
      const told = bar().getByRole('status').getByText(said)
      expect((await told.boundingBox())?.width, name).to.be.greaterThan(60)
      expect(await page().evaluate('document.documentElement.scrollWidth')).to.equal(360)
      expect((await bar().boundingBox())?.height).to.equal(44)
      await page().clock.resume()
      expect(await violations(), name).to.deep.equal([])
    }
  })

  it('covers the page when the view is over, until someone says that they go on as themselves', async () => {
    await view()
    await state('over')
    expect(await cover().innerText()).to.match(
      /^You no longer see what Alice Archer sees\.\s+Continue as Sam Sawyer$/,
    )
    expect(await isFocused(goOn())).to.equal(true)
    expect(await cover().boundingBox()).to.deep.equal({ x: 0, y: 0, width: 1280, height: 720 })
    expect(await bar().count()).to.equal(0)
    expect(await page().title()).to.equal('Orders')
    for (const _ of [1, 2, 3]) await page().keyboard.press('Escape')
    await page().clock.runFor(1000)
    expect(await cover().isVisible()).to.equal(true)
    await page().clock.resume()
    expect(await violations()).to.deep.equal([])
    await goOn().click()
    expect(await heard()).to.deep.equal(['continue'])
    expect([await cover().count(), await bar().count()]).to.deep.equal([0, 0])
    await inPage("banner.reason = 'T-2'")
    expect(await cover().count(), 'once').to.equal(0)
  })

  it('covers the next page of the application, which is no longer that of the customer', async () => {
    await view()
    expect(await page().evaluate('Object.entries(sessionStorage)'), 'no name is kept').to.deep.equal([
      ['impersonation-banner', 'shown'],
    ])
    await page().reload()
    await put({ state: 'over', actor: 'Sam Sawyer' })
    expect(await cover().innerText()).to.include('You no longer see what someone else sees.')
    await page().reload()
    await put({ state: 'over' })
    await page().getByRole('button', { name: 'Continue as yourself' }).click()
    expect(await page().evaluate('sessionStorage.length')).to.equal(0)
    await page().reload()
    await put({ state: 'over' })
    expect(await page().getByRole('dialog').count()).to.equal(0)
    await inPage('banner.remove()')
    // Nothing where no view was shown, and it takes no room.
    await put({ state: 'over', actor: 'Sam Sawyer' })
    expect([await cover().count(), await bar().count(), await page().title()]).to.deep.equal([0, 0, 'Orders'])
    expect(await page().evaluate('getComputedStyle(document.documentElement).paddingTop')).to.equal('0px')
  })

  it('forgets the view when the page removes it, and not when the page moves it', async () => {
    await view()
    await inPage('document.body.append(banner)')
    await state('over')
    await inPage('document.body.prepend(banner)')
    await cover().waitFor()
    await inPage('banner.remove()')
    await put({ state: 'over' })
    expect(await cover().count()).to.equal(0)
  })

  it('covers the page also where nothing can be stored', async () => {
    await page().evaluate(
      `Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('no') } })`,
    )
    await view()
    await state('over')
    await goOn().click()
    expect(await heard()).to.deep.equal(['continue'])
  })

  it('is over when the time is up, if the page says so, and keeps its colours where the system forces its own', async () => {
    await page().emulateMedia({ forcedColors: 'active' })
    await show({ left: 5 })
    await inPage("banner.remove = () => { banner.state = 'over' }")
    await page().clock.runFor(5001)
    await cover().waitFor()
    expect(await styleOf('dialog button', 'borderTopStyle')).to.equal('solid')
  })
})
