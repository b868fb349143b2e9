/** A reason that contains HTML is shown as text. */
import { expect } from 'chai'
import { inChromium, record, rowsShown, STATE, says, signIn, stop, view } from './desk.ts'
import { claimsShown, wireShown } from './shown.ts'

const HTML = '<img src=x onerror="window.injected=1">'

inChromium('the support desk: what people write', (openDesk) => {
  it('shows HTML in a reason as text, in the view and in the record', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page, 'Alice Archer', HTML)
    const claim = (await claimsShown(page)).get('impersonation')?.[0] ?? ''
    expect(JSON.parse(claim)).to.include({ reason: HTML, ticket_id: 'T-1' })
    expect((await page.locator('#api-saw dd').allInnerTexts()).at(-1)).to.equal(claim)
    expect((await wireShown(page))[0]).to.include(JSON.stringify(HTML))
    expect((await record(page))[0]?.[3]).to.equal(HTML)
    await stop(page, 'Stop Sam Sawyer viewing Alice Archer', HTML)
    await says(page, 'status', 'Stopped.')
    expect((await rowsShown(page))[0]?.[STATE])
      .to.match(/^Ended by the engineer \d:\d\d “/)
      .and.include(HTML)
    expect(await page.locator('img:not(.brand img)').count()).to.equal(0)
    expect(await page.evaluate('window.injected')).to.equal(undefined)
  })
})
