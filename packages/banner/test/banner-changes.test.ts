/** The banner over time: what changes it, and what it does by itself. */
import { expect } from 'chai'
import { NOW, onBannerPage } from './on-banner-page.ts'

onBannerPage('the banner, as it changes', (banner) => {
  const { page, bar, timer, button, news, heard, time, inPage, styleOf, show, put, from, violations } = banner

  it('counts down, marks the last minute and says so once, and emits `over` once', async () => {
    await show()
    expect(await time()).to.equal('3:04')
    await page().clock.runFor(1000)
    expect(await time()).to.equal('3:03')
    await page().clock.runFor(122_000)
    expect([await time(), await news()]).to.deep.equal(['1:01', ''])
    await page().evaluate(`{
      const status = document.querySelector('impersonation-banner').shadowRoot.querySelector('[role=status]')
      window.said = []
      new MutationObserver(() => said.push(status.textContent)).observe(status, { childList: true })
    }`)
    await page().clock.runFor(1000)
    expect([await time(), await news()]).to.deep.equal(['1:00', 'Last minute'])
    expect(await styleOf('section', 'backgroundColor')).to.equal('rgb(163, 35, 15)')
    await inPage('window.kept = banner; banner.remove = () => {}')
    await page().clock.runFor(59_999)
    expect([await time(), await heard()]).to.deep.equal(['0:01', []])
    await page().clock.runFor(2)
    expect([await time(), await heard(), await news()]).to.deep.equal(['0:00', ['over'], 'Time is up'])
    await page().clock.runFor(100_000)
    expect(await heard()).to.deep.equal(['over'])
    expect(await page().evaluate('window.said')).to.deep.equal(['Last minute', 'Time is up'])
  })

  it('knows the time when a tab is looked at again, no matter what its timers did', async () => {
    await show()
    await page().clock.setSystemTime((NOW + 151) * 1000)
    expect(await time()).to.equal('3:04')
    await page().evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(await time()).to.equal('0:34')
    // Its events are heard by what is around it, too.
    await inPage('banner.remove = () => {}')
    await page().evaluate(`window.around = []
      for (const type of ['end', 'over'])
        document.addEventListener(type, ({ target }) => around.push(type + ' of ' + target.user))`)
    await button().click()
    await page().clock.runFor(34_001)
    expect(await page().evaluate('window.around')).to.deep.equal([
      'end of Alice Archer',
      'over of Alice Archer',
    ])
  })

  it('does nothing before it is in the page', async () => {
    await page().evaluate(`import('/page.js').then(() => {
      window.heard = []
      window.kept = document.createElement('impersonation-banner')
      window.kept.addEventListener('over', () => window.heard.push('over'))
      window.kept.setAttribute('user', 'Alice')
      window.kept.setAttribute('until', '${NOW - 5}')
    })`)
    await page().clock.runFor(5000)
    expect([await heard(), await page().title()]).to.deep.equal([[], 'Orders'])
  })

  it('wakes up when its time changes, and once a second when there is none left', async () => {
    await page().evaluate(`{
      const start = setTimeout
      window.pauses = []
      window.setTimeout = (work, pause) => {
        pauses.push(pause)
        return start(work, pause)
      }
    }`)
    const pauses = () => page().evaluate('window.pauses.splice(0)')
    await page().clock.runFor(400)
    await put({ user: 'Alice', until: from(3) })
    await page().clock.runFor(4700)
    expect(await pauses()).to.deep.equal([600, 1000, 1000, 0, 1000, 1000, 1000])
    await inPage(`banner.until = ${NOW}`)
    await page().clock.runFor(2500)
    expect(await pauses()).to.deep.equal([0, 1000, 1000, 1000])
    await inPage("banner.removeAttribute('until')")
    await page().clock.runFor(2500)
    expect(await pauses()).to.deep.equal([1000, 1000, 1000])
  })

  it('follows attributes and properties that change later', async () => {
    await put({ user: 'Alice', until: from(300) })
    await inPage("banner.setAttribute('user', 'Bob Baker'); banner.actor = 'Robin'; banner.reason = 'T-2'")
    await inPage(`banner.until = ${NOW + 11}`)
    expect(await bar().innerText()).to.match(/Bob Baker sees\s+· as Robin\s+· T-2/)
    expect([await time(), await news(), await page().title()]).to.deep.equal([
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
    await page().clock.runFor(1)
    expect(await heard()).to.deep.equal(['over'])
    await inPage(`banner.until = ${NOW + 6}`)
    await page().clock.runFor(5000)
    expect(await heard(), 'a new time, a new end').to.deep.equal(['over', 'over'])
    await inPage(`banner.until += 60`)
    await inPage(`banner.until -= 60`)
    await page().clock.runFor(1)
    expect(await heard(), 'the same time again').to.deep.equal(['over', 'over', 'over'])
  })

  it('stops when it is removed, and goes on when it is added again', async () => {
    await put({ user: 'Alice', until: from(100) })
    await inPage('window.kept = banner; banner.remove()')
    expect(await page().title()).to.equal('Orders')
    await page().evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await page().clock.runFor(200_000)
    expect([await heard(), await page().title()]).to.deep.equal([[], 'Orders'])
    await page().evaluate('document.body.append(window.kept)')
    await page().clock.runFor(1)
    expect([await heard(), await time(), await page().title()]).to.deep.equal([
      ['over'],
      '0:00',
      '● Alice · Orders',
    ])
    await inPage('document.body.prepend(banner)')
    await page().clock.runFor(1)
    expect(await heard(), 'moved').to.deep.equal(['over'])
    await inPage(`banner.until = ${NOW - 7}; banner.remove()`)
    await page().clock.runFor(1)
    expect(await heard(), 'removed before it could say so').to.deep.equal(['over'])
    await put({ user: 'Alice', until: from(200_000) })
    await inPage(`banner.addEventListener('over', () => banner.remove()); banner.until = ${NOW}`)
    await page().clock.runFor(2000)
    expect(await page().title(), 'removed as soon as it says so').to.equal('Orders')
  })

  it('puts the name into the title once, also after the page has changed its title, and takes it out', async () => {
    await put({ user: ' Alice \n  Archer ', until: from(100) })
    expect(await page().title()).to.equal('● Alice Archer · Orders')
    await page().evaluate("document.title = 'Order 1'")
    await page().clock.runFor(5000)
    expect(await page().title()).to.equal('● Alice Archer · Order 1')
    await page().evaluate("document.title = ''")
    await page().clock.runFor(5000)
    expect(await page().title()).to.equal('● Alice Archer ·')
    await inPage('banner.remove()')
    expect(await page().title()).to.equal('')
  })

  it('shows HTML, and text that turns around, as text', async () => {
    const hostile = '<img src=x onerror="window.ran = 1"></bdi><b>&amp;'
    await put({ user: hostile, actor: hostile, reason: `\u202e${hostile}`, until: from(100) })
    expect(await bar().locator('bdi').allTextContents()).to.deep.equal([hostile, hostile, `\u202e${hostile}`])
    expect(await bar().locator('img').count()).to.equal(0)
    expect(await page().evaluate('window.ran')).to.equal(undefined)
    expect(await page().title()).to.match(/^● <img src=x onerror=/)
  })

  it('shows no time, and no end, if until is absent or no time', async () => {
    for (const until of [undefined, '', ' ', 'soon', '12abc', 'NaN', 'Infinity', '1e999']) {
      await put({ user: 'Alice', ...(until === undefined ? {} : { until }) })
      await page().clock.runFor(100_000)
      expect([await time(), await news(), await heard()], until).to.deep.equal([undefined, '', []])
      expect(await inPage('return String(banner.until)'), until).to.equal('NaN')
      await button().click()
      expect(await page().evaluate('window.heard.splice(0)'), until).to.deep.equal(['end'])
      await inPage('banner.remove()')
    }
  })

  it('emits `over` if until is in the past, late enough to be heard', async () => {
    await page().evaluate(`import('/page.js').then(() => {
      window.heard = []
      const banner = document.createElement('impersonation-banner')
      banner.setAttribute('until', '${NOW - 100}')
      document.body.prepend(banner)
      banner.addEventListener('over', () => window.heard.push('over'))
    })`)
    expect([await heard(), await time()]).to.deep.equal([[], '0:00'])
    await page().clock.runFor(1)
    expect(await heard()).to.deep.equal(['over'])
    expect(await bar().innerText()).to.include('someone else')
  })

  it('emits `over` at until and not in the second before it, whenever it was shown', async () => {
    await page().clock.runFor(400)
    await put({ user: 'Alice', until: from(1) })
    await page().clock.runFor(599)
    expect([await time(), await heard(), await news()]).to.deep.equal(['0:01', [], 'Last minute'])
    await page().clock.runFor(2)
    expect([await time(), await heard(), await news()]).to.deep.equal(['0:00', ['over'], 'Time is up'])
  })

  it('takes properties that were set before the element was defined', async () => {
    await page().reload()
    const early = `const one = document.createElement('impersonation-banner')
      one.user = 'Alice'
      one.until = ${NOW + 100}
      document.body.prepend(one)`
    await page().addInitScript(
      `document.addEventListener('readystatechange', () => { ${early} }, { once: true })`,
    )
    await page().reload()
    await bar().waitFor()
    expect(await inPage('return [banner.getAttribute("user"), Object.hasOwn(banner, "user")]')).to.deep.equal(
      ['Alice', false],
    )
  })

  it('is one of several', async () => {
    await put({ user: 'Alice', until: from(5) })
    await put({ user: 'Bob', until: from(100) })
    expect(await page().title()).to.equal('● Bob · ● Alice · Orders')
    expect(await timer().allTextContents()).to.deep.equal(['1:40', '0:05'])
    await page().clock.runFor(6000)
    expect(await heard()).to.deep.equal(['over'])
    await page().evaluate("document.querySelectorAll('impersonation-banner')[1].remove()")
    expect(await page().title()).to.equal('● Bob · Orders')
    await put({ user: 'Carol', until: from(100) })
    await page().clock.resume()
    expect(await violations()).to.deep.equal([])
  })
})
