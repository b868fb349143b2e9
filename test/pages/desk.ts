/** The support desk in a real browser: a deployment for every test, and what its pages show and send, as a person would say it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import type { BrowserContextOptions, Page, Request, Route } from 'playwright-core'
import { type Example, startExample } from '../../example/deployment.ts'
import { inChromium, type Visits } from '../../fixtures/chromium.ts'

interface AuditEntry {
  readonly event: string
  readonly [member: string]: unknown
}

export interface Desk extends Pick<Visits, 'problems'> {
  readonly baseUrl: string
  readonly page: Page
  /** The audit log so far. */
  readonly log: AuditEntry[]
  /** A page in a browser profile of its own, as a colleague would have. */
  elsewhere(options?: BrowserContextOptions): Promise<Page>
}

/** Starts a deployment that keeps its files in `folder`. */
type Start = (folder: string, log: AuditEntry[]) => Promise<Example>

const startHere: Start = (folder, log) =>
  startExample({
    port: 0,
    storage: path.join(folder, 'desk.sqlite'),
    log: (entry) => log.push(entry as AuditEntry),
  })

/** A `describe` whose tests open desks, each of which is closed after its test. */
export function deskInChromium(
  title: string,
  tests: (openDesk: (start?: Start) => Promise<Desk>) => void,
): void {
  inChromium(title, ({ open, closing, problems }) =>
    tests(async (start = startHere) => {
      const folder = mkdtempSync(path.join(tmpdir(), 'impersonation-desk-'))
      closing.push(() => rmSync(folder, { recursive: true }))
      const log: AuditEntry[] = []
      const { baseUrl, close } = await start(folder, log)
      closing.push(close)
      const elsewhere: Desk['elsewhere'] = (options) => open({ baseURL: baseUrl, ...options })
      return { baseUrl, page: await elsewhere(), log, problems, elsewhere }
    }),
  )
}

/** Signs in at the provider, and waits for the customers. */
export async function signIn(page: Page, name = 'Sam Sawyer'): Promise<void> {
  await page.goto('/')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name }).click()
  const entered = page.waitForResponse('**/backend/api/session')
  await page.getByRole('button', { name: 'Allow' }).click()
  await heading(page, 'Customers')
  await entered
}

/** Signs in on a page that was loaded anew: the provider still knows who it is. */
export async function signInAgain(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click()
  await heading(page, 'Customers')
}

export const REASON = 'A teapot is missing'

/** Fills in the dialog of a reason and a ticket, and starts. */
export async function giveReason(page: Page, reason = REASON, ticket = 'T-1'): Promise<void> {
  await page.getByRole('textbox', { name: 'Reason' }).fill(reason)
  await page.getByLabel('Ticket').fill(ticket)
  await page.getByRole('button', { name: 'Start' }).click()
}

/** Picks a customer, enters a reason and a ticket, and starts. */
export async function ask(page: Page, name: string, reason?: string, ticket?: string): Promise<void> {
  await page.getByRole('button', { name: `View as ${name}` }).click()
  await giveReason(page, reason, ticket)
}

/** The same, and waits for the view. */
export async function view(
  page: Page,
  name = 'Alice Archer',
  reason?: string,
  ticket?: string,
): Promise<void> {
  await ask(page, name, reason, ticket)
  await heading(page, `Viewing as ${name}`)
}

export const heading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

/** Waits until the page says so. */
export const says = (page: Page, role: 'alert' | 'status', text: string | RegExp): Promise<void> =>
  page.getByRole(role).filter({ hasText: text }).waitFor()

/** The stripe that is shown while someone is viewed. */
export const banner = (page: Page) => page.getByRole('region', { name: /^Impersonation of / })

/** Opens the record, and returns its rows, each as the texts of its cells. */
export async function record(page: Page): Promise<string[][]> {
  await page.getByRole('link', { name: 'Record', exact: true }).click()
  await heading(page, 'Record')
  await page.locator('#record-rows[aria-busy=false]').waitFor({ state: 'attached' })
  const rows = await page.locator('#record-rows tr').all()
  const read = rows.map(async (row) => (await row.locator('td').allInnerTexts()).map(words))
  return Promise.all(read)
}

export const WHY_STOPPED = 'The ticket is closed'

/** Stops the view of Alice Archer from the record, and says why. */
export async function stop(page: Page): Promise<void> {
  const name = 'Stop Sam Sawyer viewing Alice Archer'
  await page.getByRole('button', { name }).click()
  await page.getByRole('heading', { level: 2, name }).waitFor()
  await page.getByLabel('Why').fill(WHY_STOPPED)
  await page.getByRole('button', { name: 'Stop it' }).click()
}

/** The column of the record that holds the state. */
export const STATE = 5

/** A text with its white space collapsed. */
export const words = (text: string | null): string => (text ?? '').replace(/\s+/g, ' ').trim()

/** What was written to the audit log under this name. */
export const logged = ({ log }: Desk, event: string): AuditEntry[] =>
  log.filter((entry) => entry.event === event)

/** In seconds. */
export async function remaining(page: Page): Promise<number> {
  const [minutes, seconds] = (await page.getByRole('timer').innerText()).split(':').map(Number)
  return Number(minutes) * 60 + Number(seconds)
}

/** The clock runs until it is stopped, which takes longer on a busy machine. */
const AHEAD = 5000

/** No time passes from then on but what the test lets pass; for a page whose clock is installed. */
export async function stopTime(page: Page): Promise<void> {
  await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + AHEAD)
}

/** What the banner says while it stays for a moment after the view. */
const STOPPING = /Stopping …|Not stopped yet|Stopped \d\d:\d\d:\d\d/

/** No banner but one that says what becomes of the stop, and nothing of the customer left in the document. */
export async function expectNothingViewed(page: Page): Promise<void> {
  await banner(page).filter({ hasNotText: STOPPING }).waitFor({ state: 'hidden' })
  for (const id of ['orders', 'profile', 'invoice', 'api-saw', 'copy', 'claims', 'wire']) {
    expect(await page.locator(`#${id}`).innerHTML(), id).to.equal('')
  }
}

/** Everything that the page requests from now on, except its own files. */
export function requestsOf(page: Page): Request[] {
  const sent: Request[] = []
  page.on('request', (request) => {
    if (!new URL(request.url()).pathname.startsWith('/desk/')) sent.push(request)
  })
  return sent
}

/** Holds the next request to this address until the test lets it go on. Later ones pass. */
export async function hold(page: Page, address: string): Promise<{ readonly reached: Promise<Route> }> {
  const { promise, resolve } = Promise.withResolvers<Route>()
  await page.route(address, resolve, { times: 1 })
  return { reached: promise }
}
