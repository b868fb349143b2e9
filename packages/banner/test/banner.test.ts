/** The banner as it looks, and as its documentation uses it. */
import { expect } from 'chai'
import type { Locator } from 'playwright-core'
import { isFocused } from '../../../fixtures/chromium.ts'
import { blocksOf, readPage } from '../../../fixtures/markdown.ts'
import { blockOf, onBannerPage, POLICY } from './on-banner-page.ts'
import { ADDRESS, serveBannerPage } from './page.ts'

const boxOf = async (shown: Locator) => (await shown.boundingBox()) ?? { x: 0, y: -1, width: 0, height: 0 }

/** Where it ends, in pixels from the left. */
async function edge(control: Locator): Promise<number> {
  const { x, width } = await boxOf(control)
  return x + width
}

onBannerPage('the banner', (banner) => {
  const { fold, page, bar, button, may, heard, time, inPage, styleOf, show, put, from, violations } = banner

  it('works under the policy of the documentation, in which text cannot become HTML or style', async () => {
    expect(POLICY).to.match(/^default-src 'none'; script-src 'self'; require-trusted-types-for 'script'/)
    await show()
    expect(await bar().innerText()).to.match(/You see what Alice Archer sees\s+· as Sam Sawyer\s+· T-4711/)
    expect(await styleOf('section', 'backgroundColor')).to.equal('rgb(255, 197, 61)')
    expect(await inPage('return banner.shadowRoot.querySelectorAll("style, [style]").length')).to.equal(0)
    expect(await bar().getAttribute('lang')).to.equal('en')
    await button().click()
    expect(await heard()).to.deep.equal(['end'])
    expect(await bar().count()).to.equal(0)
  })

  it('is one row of 44 px, whatever it says, and leaves a short name whole beside a long one', async () => {
    for (const width of [1280, 360]) {
      await page().setViewportSize({ width, height: 800 })
      for (const user of ['Alice Archer', 'Alexandrina-Wilhelmina '.repeat(20)]) {
        await show({ user, engineer: user.toUpperCase(), ticket: 'because '.repeat(30), left: 42 })
        expect((await bar().boundingBox())?.height).to.equal(44)
        expect(await page().evaluate('document.documentElement.scrollWidth')).to.equal(width)
        expect(await button().innerText()).to.equal(width === 360 ? 'Stop' : 'Stop viewing')
        for (const part of [1, 2]) {
          const seen = await bar().locator(`p > * > :nth-child(${part})`).boundingBox()
          expect(seen?.width, `person ${part}`).to.be.greaterThan(80)
        }
        expect(await edge(button())).to.be.lessThan((await fold().boundingBox())?.x ?? 0)
        expect(await edge(fold())).to.be.within(width - 25, width - 5)
        await inPage('banner.remove()')
      }
    }
    await page().setViewportSize({ width: 1280, height: 720 })
    const long = 'Alexandrina-Wilhelmina '.repeat(20)
    for (const [user, engineer] of [
      ['Alice Archer', long],
      [long, 'Sam Sawyer'],
    ] as const) {
      await show({ user, engineer })
      const part = user === long ? 2 : 1
      const cut = `const part = banner.shadowRoot.querySelector('p > * > :nth-child(${part})')
        return part.scrollWidth - part.clientWidth`
      expect(await inPage(cut), part === 1 ? user : engineer).to.equal(0)
      await inPage('banner.remove()')
    }
  })

  it('says that nothing can be changed only where the page says so, and otherwise warns', async () => {
    const said = async () => [await may(), await styleOf('.may', 'backgroundColor')]
    const [reads, changes] = [
      ['Read only', 'rgba(0, 0, 0, 0)'],
      ['Can change things', 'rgb(163, 35, 15)'],
    ]
    await put({ user: 'Alice' })
    expect(await said()).to.deep.equal(changes)
    for (const [value, shown] of [
      ['', reads],
      ['true', reads],
      ['false', changes],
      ['no', changes],
    ] as const) {
      await inPage(`banner.setAttribute('read-only', '${value}')`)
      expect(await said(), value).to.deep.equal(shown)
      expect(await inPage('return banner.readOnly'), value).to.equal(shown === reads)
    }
    for (const [value, shown] of [
      ['true', reads],
      ['false', changes],
      ['"false"', changes],
      ['1', changes],
      ['undefined', changes],
    ] as const) {
      await inPage(`banner.readOnly = ${value}`)
      expect(await said(), value).to.deep.equal(shown)
    }
    await inPage("banner.state = 'stopped'")
    expect(await bar().getByText('Can change things').isVisible(), 'nothing can be changed').to.equal(false)
  })

  it('cuts long names, and has them whole for the tooltip and for screen readers', async () => {
    const user = `${'Long '.repeat(60)}Name`
    await show({ user })
    const shown = bar().getByText(user)
    expect(await shown.first().textContent()).to.equal(user)
    expect(await bar().locator('p').getAttribute('title'))
      .to.include(user)
      .and.to.include('T-4711')
    expect(await bar().getAttribute('aria-label')).to.equal(`Impersonation of ${user}`)
    expect(await page().title())
      .to.have.lengthOf.below(50)
      .and.to.match(/^● Long .*… · Orders$/)
  })

  it('emits `end` for Enter and Space, and shows where the focus is', async () => {
    for (const key of ['Enter', 'Space']) {
      await show()
      await page().keyboard.press('Tab')
      expect(await isFocused(button())).to.equal(true)
      expect(await styleOf('button', 'outlineWidth')).to.equal('2px')
      await page().keyboard.press(key)
      expect(await heard()).to.deep.equal(key === 'Enter' ? ['end'] : ['end', 'end'])
    }
  })

  it('says no more than it is told, shows what the page puts into it, and is hidden by `hidden`', async () => {
    await put({ user: 'Alice' })
    expect(await bar().locator('p').textContent()).to.equal('You see what Alice sees')
    expect(await inPage('return [banner.user, banner.actor, banner.reason]')).to.deep.equal(['Alice', '', ''])
    await inPage(
      "const link = document.createElement('a'); link.href = '#x'; link.append('The record'); banner.append(link)",
    )
    await page().getByRole('link', { name: 'The record' }).waitFor()
    const style = `const sheet = new CSSStyleSheet(); sheet.replaceSync('a { color: red }')
      document.adoptedStyleSheets = [sheet]; return getComputedStyle(banner.firstChild).color`
    expect(await inPage(style), "the page's own colour would be hard to read").to.equal('rgb(36, 26, 0)')
    await inPage('banner.hidden = true')
    expect(await bar().count()).to.equal(0)
  })

  it('has no accessibility violation in any state, light or dark, and says it on one row of 44 px, on a desktop and on a phone', async () => {
    await page().clock.resume() // axe waits
    const shown = { user: 'Alice Archer', actor: 'Sam Sawyer', reason: 'T-1' }
    for (const [left, readOnly] of [
      [184, ''],
      [184, 'false'],
      [42, 'false'],
      [0, 'false'],
    ] as const) {
      await put({ ...shown, until: from(left), 'read-only': readOnly })
      for (const width of [1280, 360]) {
        await page().setViewportSize({ width, height: 800 })
        const { y, height } = await boxOf(bar().locator('.may'))
        expect([(await boxOf(bar())).height, height <= 44, y >= 0]).to.deep.equal([44, true, true])
        expect(await edge(bar().locator('.may'))).to.be.lessThan((await boxOf(button())).x)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page().emulateMedia({ colorScheme })
          const state = `${left} s at ${width} px, ${colorScheme}, read-only="${readOnly}"`
          expect(await violations(), state).to.deep.equal([])
        }
      }
      await inPage('banner.remove()')
    }
  })

  it('fits at 400 % zoom and with text of twice the size', async () => {
    await page().setViewportSize({ width: 320, height: 256 })
    await show()
    expect((await bar().boundingBox())?.height).to.equal(44)
    await page().setViewportSize({ width: 1280, height: 800 })
    await page().evaluate("document.documentElement.style.fontSize = '200%'")
    expect((await bar().boundingBox())?.height).to.be.within(44, 90)
    expect(await styleOf('section', 'fontSize')).to.equal('30px')
    expect(await page().evaluate('document.documentElement.scrollWidth')).to.equal(1280)
  })

  it('has a border in forced colours, moves nothing, and prints who and why', async () => {
    await show({ left: 42 })
    const style = (name: string) => styleOf('section', name)
    await page().emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
    expect(await style('borderTopStyle')).to.equal('double')
    expect(await page().evaluate('document.getAnimations().length')).to.equal(0)
    await page().emulateMedia({ forcedColors: 'none', media: 'print' })
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
      await page().goto(readme.baseUrl)
      expect(await bar().innerText()).to.match(/You see what Alice Archer sees\s+· as Sam Sawyer\s+· T-4711/)
      expect(await time()).to.match(/^[45]:\d\d$/)
      await button().click()
      await bar().waitFor({ state: 'hidden' })
    } finally {
      await readme.close()
    }
  })

  it('can be imported where there is no browser', async () => {
    const { ImpersonationBanner } = await import('../src/banner.js')
    expect(ImpersonationBanner.name).to.equal('ImpersonationBanner')
  })
})
