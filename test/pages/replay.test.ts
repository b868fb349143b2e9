/** A subject token that someone else has a copy of. */
import { expect } from 'chai'
import type { Request } from 'playwright-core'
import { ask, heading, inChromium, logged, record, STATE, says, signIn } from './desk.ts'
import { holdExchange, REFUSED } from './exchange.ts'
import { expectNothingViewed } from './shown.ts'

/** The page's request, sent by someone else. */
const replay = (request: Request): Promise<Response> =>
  fetch(request.url(), {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: request.postData(),
  })

inChromium('the support desk: a replayed token', (openDesk) => {
  it('is refused for the page when someone else was faster, and the theft is on record', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    const exchange = await holdExchange(page)
    await ask(page, 'Alice Archer')
    const route = await exchange.reached()
    const stolen = await replay(route.request())
    expect(stolen.status).to.equal(200)

    await route.continue()
    await says(page, 'alert', REFUSED)
    await expectNothingViewed(page)
    expect(logged(desk, 'subject_token.exchanged')).to.have.lengthOf(1)
    expect(logged(desk, 'subject_token.replayed')).to.have.lengthOf(1)
    expect(logged(desk, 'subject_token.replayed')[0]).to.include({ userId: 'alice' })
    expect(logged(desk, 'subject_token.refused')).to.deep.equal([])
    expect(logged(desk, 'orders.read')).to.deep.equal([])
    // The page's own use is the second one: it has stopped the JWT of the thief.
    const rows = await record(page)
    expect(rows).to.have.lengthOf(1)
    expect(rows[0]?.[STATE]).to.match(/^Used again \d:\d\d$/)
  })

  it('is refused for the thief who comes second, and ends the view, which says so', async () => {
    const desk = await openDesk()
    const { page } = desk
    await signIn(page)
    const exchange = await holdExchange(page)
    await ask(page, 'Alice Archer')
    const route = await exchange.reached()
    await route.continue()
    await heading(page, 'Viewing as Alice Archer')

    const late = await replay(route.request())
    expect(late.status).to.equal(400)
    expect(await late.json()).to.deep.equal({
      error: 'invalid_request',
      error_description: 'subject_token is invalid',
    })
    expect(logged(desk, 'subject_token.exchanged')).to.have.lengthOf(1)
    expect(logged(desk, 'subject_token.replayed')).to.have.lengthOf(1)
    // The replay has stopped the JWT, too. The page looks at its record when someone comes back to it.
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await says(page, 'alert', /^Your view of Alice Archer was stopped at .* its subject token was used twice/)
    await expectNothingViewed(page)
    expect((await record(page))[0]?.[STATE]).to.match(/^Used again \d:\d\d$/)
  })
})
