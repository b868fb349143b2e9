/** The whole flow, as a support engineer clicks through it. */
import { expect } from 'chai'
import { ask, banner, heading, inChromium, REASON, record, STATE, says, signIn, view, words } from './desk.ts'
import {
  claimsShown,
  expectNothingViewed,
  isFocused,
  remaining,
  requestsOf,
  responseTo,
  stopTime,
  wireShown,
} from './shown.ts'

inChromium('the support desk: the click path', (openDesk) => {
  it('leads from the sign-in through login and consent to the customers', async () => {
    const { page } = await openDesk()
    await page.goto('/')
    await heading(page, 'See what a customer sees')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await heading(page, 'Who are you?')
    await page.getByRole('button', { name: 'Sam Sawyer' }).click()
    await heading(page, 'Let Support desk know who you are?')
    expect(await page.getByRole('main').innerText()).to.include('You are signed in as Sam Sawyer.')
    await page.getByRole('button', { name: 'Allow' }).click()
    await heading(page, 'Customers')
    expect(await page.locator('#account').innerText()).to.include('Signed in as Sam Sawyer')
    await page.locator('#people[aria-busy=false]').waitFor()
    expect((await page.locator('#people h2').allInnerTexts()).slice(0, 5)).to.deep.equal([
      'Alice Archer',
      'Bob Baker',
      'Carol Cole',
      'Sam Sawyer',
      'Robin Reed',
    ])
  })

  it('asks for a reason and a ticket, and sends nothing without them', async () => {
    const { page } = await openDesk()
    await signIn(page)
    const sent = requestsOf(page)
    await ask(page, 'Alice Archer', '  ')
    const reason = page.getByRole('textbox', { name: 'Reason' })
    expect(await reason.getAttribute('aria-invalid')).to.equal('true')
    expect(await page.locator('#reason-error').innerText()).to.equal('Enter a reason.')
    expect(await isFocused(reason)).to.equal(true)
    expect(sent).to.deep.equal([])

    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect(sent).to.deep.equal([])
  })

  it('shows who is viewed and who is acting, what the customer sees, and what the API saw', async () => {
    const { page, baseUrl } = await openDesk()
    await signIn(page)
    await view(page)
    expect(words(await banner(page).locator('p').textContent())).to.match(
      /^You see what Alice Archer sees · as Sam Sawyer · T-1$/,
    )
    expect((await page.locator('#orders li').allInnerTexts()).map(words)).to.deep.equal([
      'A teapot Order 1001 · 28 Oct 2026 On its way €34.90 Invoice',
      'Six cups Order 1002 · 12 Oct 2026 Delivered €42.00 Invoice',
    ])
    expect(words(await page.locator('#profile').innerText())).to.equal(
      'Name Alice Archer E-mail alice@example.com Address 4 Mill Lane, Ashford Plan Plus',
    )
    await page.getByRole('button', { name: 'Invoice of order 1001' }).click()
    await page.getByRole('heading', { name: 'Invoice R-2026-1001' }).waitFor()
    expect(words(await page.locator('#invoice ul').innerText())).to.equal(
      'A teapot €34.90 Delivery €4.90 Total €39.80',
    )
    // Everything about tokens is in one drawer, which is closed.
    expect(await page.locator('#api-saw').isVisible()).to.equal(false)
    await page.getByText('How this works').click()
    expect(await page.locator('#api-saw dt').allInnerTexts()).to.deep.equal([
      'customer',
      'actor',
      'scope',
      'billing',
      'impersonation',
    ])
    const saw = await page.locator('#api-saw dd').allInnerTexts()
    expect(saw.slice(0, 3)).to.deep.equal(['alice', '{"sub":"sam"}', 'orders:read payments:read'])
    expect(saw[3]).to.equal('alice ← sam ← orders-api')
    const { id, ...why } = JSON.parse(saw[4] ?? '')
    expect(id).to.match(/^[0-9a-f]{32}$/)
    expect(why).to.deep.equal({ reason: REASON, ticket_id: 'T-1' })
    const claims = await claimsShown(page)
    expect([...claims.keys()].slice(0, 5)).to.deep.equal(['sub', 'act', 'impersonation', 'aud', 'scope'])
    expect(claims.get('sub')).to.deep.equal(['alice', 'Whose data it gives access to: the customer.'])
    expect(claims.get('act')?.[0]).to.equal('{"sub":"sam"}')
    expect(claims.get('act')?.[1]).to.match(/^Who is really acting: you\./)
    expect(claims.get('impersonation')?.[0]).to.equal(saw[4])
    expect(claims.get('impersonation')?.[1]).to.include('getCustomJwtClaims')
    expect(claims.get('aud')).to.deep.equal([`${baseUrl}/orders-api`, 'The only API that may accept it.'])
    for (const [name, [, meaning]] of claims) expect(meaning, name).to.match(/\w{3}.*\.$/)
  })

  it('counts the remaining time down', async () => {
    const { page } = await openDesk()
    await page.clock.install()
    await signIn(page)
    await view(page)
    await stopTime(page)
    const before = await remaining(page)
    expect(before).to.be.within(270, 300)
    await page.clock.runFor(60_000)
    expect(await remaining(page)).to.equal(before - 60)
  })

  it('sends four requests, and shows them with every token truncated', async () => {
    const desk = await openDesk()
    const { page, baseUrl } = desk
    await signIn(page)
    const sent = requestsOf(page)
    await view(page)
    expect(sent.map((request) => `${request.method()} ${request.url()}`)).to.deep.equal([
      `POST ${baseUrl}/backend/api/request-impersonation`,
      `POST ${baseUrl}/oidc/token`,
      `GET ${baseUrl}/orders-api/orders`,
      `GET ${baseUrl}/orders-api/profile`,
    ])
    const [asked, exchanged, called] = sent
    const { subjectToken } = await responseTo(asked)
    const { access_token } = await responseTo(exchanged)
    const actorToken = new URLSearchParams(exchanged?.postData() ?? '').get('actor_token') ?? ''
    expect(await called?.headerValue('authorization')).to.equal(`Bearer ${access_token}`)

    const wire = await wireShown(page)
    expect(wire).to.have.lengthOf(4)
    const truncated = (token: string) => `${token.slice(0, 12)}…`
    expect(wire[0]).to.include(
      `Authorization: Bearer ${truncated(actorToken)}\nContent-Type: application/json\n`,
    )
    expect(wire[0])
      .to.include(`"ticketId": "T-1"`)
      .and.include(`"subjectToken": "${truncated(subjectToken)}"`)
    expect(wire[1]).to.include(`subject_token=${truncated(subjectToken)}\n`)
    expect(wire[1]).to.include(`actor_token=${truncated(actorToken)}\n`)
    expect(wire[1]).to.include(`"access_token": "${truncated(access_token)}"`)
    expect(wire[2]).to.include(`Authorization: Bearer ${truncated(access_token)}\n`)
    for (const token of [subjectToken, actorToken, access_token]) {
      expect(wire.join('\n')).to.not.include(token.slice(0, 13))
    }
  })

  it('ends on request, and marks the record', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page)
    expect((await record(page))[0]?.[STATE]).to.match(/^Live \d:\d\d left$/)
    await page.getByRole('link', { name: 'Back to the view' }).click()
    await heading(page, 'Viewing as Alice Archer')
    await banner(page).getByRole('button', { name: 'Stop viewing' }).click()
    await says(
      page,
      'status',
      /^The view of Alice Archer has ended\. This page has discarded its access token\.$/,
    )
    await expectNothingViewed(page)
    await heading(page, 'Customers')

    const [row, ...others] = await record(page)
    expect(others).to.deep.equal([])
    expect(row?.slice(0, 5)).to.deep.equal(['just now', 'Sam Sawyer', 'Alice Archer', REASON, 'T-1'])
    expect(row?.[STATE]).to.match(/^Ended by the engineer \d:\d\d$/)
    expect(await page.getByRole('button', { name: /^Stop/ }).count()).to.equal(0)
  })

  it('shows one customer at a time: the next view ends the previous one', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page)
    await page.getByRole('link', { name: 'Customers' }).click()
    await view(page, 'Bob Baker')
    expect(words(await banner(page).innerText())).to.include('Bob Baker')
    expect(words(await page.locator('#orders').innerText())).to.match(/^A lamp Order 1003 /)
    const states = (await record(page)).map((row) => [row[2], row[STATE]?.split(' ')[0]])
    expect(states).to.deep.equal([
      ['Bob Baker', 'Live'],
      ['Alice Archer', 'Ended'],
    ])
  })

  it('lists what matches the filters, page by page', async () => {
    const { page } = await openDesk()
    await signIn(page)
    await view(page)
    await page.getByRole('link', { name: 'Customers' }).click()
    await view(page, 'Bob Baker')
    expect(await record(page)).to.have.lengthOf(2)
    const customer = page.getByRole('combobox', { name: 'Customer' })
    await customer.fill('alice')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByText('1 shown.').waitFor()
    expect(await page.locator('#record-rows td:nth-child(3)').allInnerTexts()).to.deep.equal(['Alice Archer'])
    const state = page.getByRole('combobox', { name: 'State' })
    await state.selectOption('Live now')
    await page.getByText('No impersonations match these filters.').waitFor()
    const chosen = page.getByRole('list', { name: 'Filters in force' }).getByRole('button')
    expect(await chosen.allInnerTexts()).to.deep.equal(['Customer: alice ×', 'State: Live now ×'])
    // The corner outside of what is round.
    await page
      .locator('#chosen-filters li')
      .nth(1)
      .click({ position: { x: 1, y: 1 } })
    expect(await chosen.allInnerTexts()).to.deep.equal(['Customer: alice ×', 'State: Live now ×'])
    await page.getByRole('button', { name: 'Remove the filter State: Live now' }).click()
    await page.getByText('1 shown.').waitFor()
    expect(await chosen.allInnerTexts()).to.deep.equal(['Customer: alice ×'])
    expect(await state.and(page.locator(':focus')).count()).to.equal(1)
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('2 shown.').waitFor()
    expect(await customer.inputValue()).to.equal('')
    expect(await chosen.count()).to.equal(0)
  })
})
