/** The backend's session: it knows what this browser has started, and gets a new id after every start and every stop. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { banner, type Desk, inChromium, record, says, signIn, stop, view } from './desk.ts'
import { requestsOf } from './shown.ts'

const COOKIE = 'support-backend'

async function sessionId(page: Page): Promise<string> {
  const cookie = (await page.context().cookies()).find(({ name }) => name === COOKIE)
  if (!cookie) throw new Error('no session')
  return cookie.value
}

/** The engineer's own token, as the page sends it. */
async function authorization(page: Page): Promise<string> {
  const asking = page.waitForRequest('**/backend/api/impersonations?*')
  await record(page)
  return (await (await asking).headerValue('authorization')) ?? ''
}

interface Credentials {
  readonly id: string
  readonly authorization: string
}

/** Begins to view Bob with this session, which ends what the session knows to be running. */
async function startOther({ baseUrl }: Desk, { id, authorization }: Credentials): Promise<number> {
  const response = await fetch(`${baseUrl}/backend/api/request-impersonation`, {
    method: 'POST',
    headers: { cookie: `${COOKIE}=${id}`, authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ userId: 'bob', reason: 'Another one', ticketId: 'T-2' }),
  })
  return response.status
}

/** The current state of the view of Alice, according to the record. */
async function stateOfAlice({ baseUrl }: Desk, authorization: string): Promise<string | undefined> {
  const response = await fetch(`${baseUrl}/backend/api/impersonations`, { headers: { authorization } })
  const { items } = (await response.json()) as { items: { userId: string; state: string }[] }
  return items.find(({ userId }) => userId === 'alice')?.state
}

inChromium('the support desk: the session of its backend', (openDesk) => {
  it('has a new id after every start and every stop', async () => {
    const { page } = await openDesk()
    await signIn(page)
    const ids: string[] = []
    await view(page)
    ids.push(await sessionId(page))
    await page.getByRole('link', { name: 'Customers' }).click()
    await view(page, 'Bob Baker')
    ids.push(await sessionId(page))
    await banner(page).getByRole('button', { name: 'Stop viewing' }).click()
    await says(page, 'status', 'The view of Bob Baker has ended.')
    ids.push(await sessionId(page))
    await view(page)
    ids.push(await sessionId(page))
    await record(page)
    await stop(page)
    await says(page, 'status', 'Stopped.')
    ids.push(await sessionId(page))
    expect(new Set(ids).size, ids.join()).to.equal(5)
    for (const id of ids) expect(id).to.match(/^[\w-]{22,}$/)
  })

  it('does not exist under its old id: only the new id leads to what is running', async () => {
    const desk = await openDesk()
    const { page } = desk
    const colleague = await desk.elsewhere()
    await Promise.all([signIn(page), signIn(colleague, 'Robin Reed')])
    await view(page)
    await view(colleague, 'Bob Baker')
    const old = await sessionId(page)
    const token = await authorization(page)
    await stop(page, 'Stop Robin Reed viewing Bob Baker')
    await says(page, 'status', 'Stopped.')

    expect(await startOther(desk, { id: old, authorization: token })).to.equal(200)
    expect(await stateOfAlice(desk, token)).to.equal('consumed')
    expect(await startOther(desk, { id: await sessionId(page), authorization: token })).to.equal(200)
    expect(await stateOfAlice(desk, token)).to.equal('revoked')
  })

  it('is useless without the token of the engineer, and to another engineer', async () => {
    const desk = await openDesk()
    const { page } = desk
    const colleague = await desk.elsewhere()
    await Promise.all([signIn(page), signIn(colleague, 'Robin Reed')])
    await view(page)
    const id = await sessionId(page)
    expect(await startOther(desk, { id, authorization: '' })).to.equal(401)
    const token = await authorization(colleague)
    expect(await startOther(desk, { id, authorization: token })).to.equal(200)
    expect(await stateOfAlice(desk, token)).to.equal('consumed')
  })

  it('is a cookie for the backend only, out of reach for scripts and for other sites', async () => {
    const { page } = await openDesk()
    await signIn(page)
    const sent = requestsOf(page)
    await view(page)
    const [started, ...others] = sent
    const header = await (await started?.response())?.headerValue('set-cookie')
    expect(header).to.match(/^support-backend=[\w-]+;/)
    const attributes = header?.split('; ').map((attribute) => attribute.toLowerCase())
    expect(attributes).to.include.members(['path=/backend', 'httponly', 'samesite=strict'])
    const elsewhere = others.filter((other) => !new URL(other.url()).pathname.startsWith('/backend/'))
    expect(elsewhere).not.to.be.empty
    for (const other of elsewhere) {
      expect((await other.headerValue('cookie')) ?? '', other.url()).to.not.include(COOKIE)
    }
  })
})
