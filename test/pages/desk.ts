/** The support desk in a real browser: a deployment and a browser profile of its own for every test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { type Example, startExample } from '../../example/deployment.ts'
import { isChromiumAvailable, openChromium } from '../../fixtures/chromium.ts'
import { allowMoreTime } from '../../fixtures/limits.ts'

/** Long enough for a busy machine, and shorter than Mocha's own limit. */
const PATIENCE = 15_000

interface AuditEntry {
  readonly event: string
  readonly [member: string]: unknown
}

export interface Desk {
  readonly baseUrl: string
  readonly page: Page
  /** The audit log so far. */
  readonly log: AuditEntry[]
  /** What no page may do: throw, or violate its Content-Security-Policy. */
  readonly problems: string[]
  /** A page in a browser profile of its own, as a colleague would have. */
  elsewhere(): Promise<Page>
}

/** How Chromium reports a violation in its console. */
export const VIOLATION = /Content Security Policy|Trusted(HTML|Script|ScriptURL)' assignment/

/** Starts a deployment that keeps its files in `folder`. */
type Start = (folder: string, log: AuditEntry[]) => Promise<Example>

const startHere: Start = (folder, log) =>
  startExample({
    port: 0,
    storage: path.join(folder, 'desk.sqlite'),
    log: (entry) => log.push(entry as AuditEntry),
  })

/** A `describe` whose tests open desks. Each desk is closed after its test, and must have obeyed its policy. */
export function inChromium(title: string, tests: (openDesk: (start?: Start) => Promise<Desk>) => void): void {
  describe(title, () => {
    const opened: OpenDesk[] = []

    before(async function () {
      if (!isChromiumAvailable()) return this.skip()
      await openChromium()
    })
    afterEach(async function () {
      const desks = opened.splice(0)
      await Promise.all(desks.map((desk) => desk.close()))
      // If the test has failed, its own error says more.
      if (this.currentTest?.isPassed()) expect(desks.flatMap(({ problems }) => problems)).to.deep.equal([])
    })

    tests(async (start = startHere) => {
      const desk = await openDesk(await openChromium(), start)
      opened.push(desk)
      return desk
    })
  })
}

interface OpenDesk extends Desk {
  close(): Promise<void>
}

async function openDesk(browser: Browser, start: Start): Promise<OpenDesk> {
  allowMoreTime()
  const folder = mkdtempSync(path.join(tmpdir(), 'impersonation-desk-'))
  const log: AuditEntry[] = []
  const example = await start(folder, log)
  const problems: string[] = []
  const pages: Page[] = []

  async function elsewhere(): Promise<Page> {
    const context = await browser.newContext({ baseURL: example.baseUrl })
    context.setDefaultTimeout(PATIENCE)
    const page = await context.newPage()
    pages.push(page)
    page.on('pageerror', ({ message }) => problems.push(message))
    page.on('console', (message) => {
      if (VIOLATION.test(message.text())) problems.push(message.text())
    })
    return page
  }

  return {
    baseUrl: example.baseUrl,
    page: await elsewhere(),
    log,
    problems,
    elsewhere,
    async close() {
      await Promise.all(pages.map((page) => page.context().close()))
      await example.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** Signs in at the provider, and waits for the customers. */
export async function signIn(page: Page, name = 'Sam Sawyer'): Promise<void> {
  await choose(page, name)
  const entered = page.waitForResponse('**/backend/api/session')
  await page.getByRole('button', { name: 'Allow' }).click()
  await heading(page, 'Customers')
  await entered
}

/** Signs in, up to the consent page. */
export async function choose(page: Page, name: string): Promise<void> {
  await page.goto('/')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name }).click()
}

export const REASON = 'A teapot is missing'

/** Picks a customer, enters a reason and a ticket, and starts. */
export async function ask(page: Page, name: string, reason = REASON, ticket = 'T-1'): Promise<void> {
  await page.getByRole('button', { name: `View as ${name}` }).click()
  await page.getByRole('textbox', { name: 'Reason' }).fill(reason)
  await page.getByLabel('Ticket').fill(ticket)
  await page.getByRole('button', { name: 'Start' }).click()
}

/** The same, and waits for the view. */
export async function view(
  page: Page,
  name = 'Alice Archer',
  reason = REASON,
  ticket = 'T-1',
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
  return rowsShown(page)
}

export const WHY_STOPPED = 'The ticket is closed'

/** Stops a view from the record, and says why. */
export async function stop(
  page: Page,
  what = 'Stop Sam Sawyer viewing Alice Archer',
  why = WHY_STOPPED,
): Promise<void> {
  await page.getByRole('button', { name: what }).click()
  await page.getByRole('heading', { level: 2, name: what }).waitFor()
  await page.getByLabel('Why').fill(why)
  await page.getByRole('button', { name: 'Stop it' }).click()
}

export async function rowsShown(page: Page): Promise<string[][]> {
  const rows = await page.locator('#record-rows tr').all()
  const read = rows.map(async (row) => (await row.locator('td').allInnerTexts()).map(words))
  return Promise.all(read)
}

/** The column of the record that holds the state. */
export const STATE = 5

/** A text with its white space collapsed. */
export const words = (text: string | null): string => (text ?? '').replace(/\s+/g, ' ').trim()

/** What was written to the audit log under this name. */
export const logged = ({ log }: Desk, event: string): AuditEntry[] =>
  log.filter((entry) => entry.event === event)
