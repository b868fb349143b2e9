/** The console in a real browser: a deployment with people at work, and pages that must obey their policy. */
import { expect } from 'chai'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { isChromiumAvailable, openChromium } from '../../fixtures/chromium.ts'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import { allowMoreTime } from '../../fixtures/limits.ts'
import { type AtWork, PEOPLE, peopleAtWork } from '../../fixtures/people-at-work.ts'
import type { ConsoleOptions } from '../../packages/console/src/index.ts'
import { VIOLATION } from './desk.ts'

export interface OpenConsole extends ConsoleDeployment {
  readonly ids: AtWork
  /** A page in a browser profile of its own. */
  open(options?: BrowserContextOptions): Promise<Page>
}

type Open = (options?: Partial<ConsoleOptions>) => Promise<OpenConsole>

/** A `describe` whose tests open consoles. Each is closed after its test, and its pages must have obeyed their policy. */
export function consoleInChromium(title: string, tests: (open: Open) => void): void {
  describe(title, () => {
    const closing: (() => Promise<void>)[] = []
    const problems: string[] = []

    before(async function () {
      if (!isChromiumAvailable()) return this.skip()
      await openChromium()
    })
    afterEach(async function () {
      for (const close of closing.splice(0).reverse()) await close()
      const found = problems.splice(0)
      if (this.currentTest?.isPassed()) expect(found).to.deep.equal([])
    })

    tests(async (options = {}) => {
      const deployment = await startConsole({
        nameOf: () => PEOPLE,
        find: (text) => [...PEOPLE].filter(([, name]) => name.includes(text)).map(([id]) => id),
        ticketUrl: ({ ticketId }) => ticketId && `https://tickets.example.com/${String(ticketId)}`,
        ...options,
      } as Partial<ConsoleOptions>)
      closing.push(() => deployment.close())
      await extremes(deployment)
      const ids = await peopleAtWork(deployment)
      const open = async (context: BrowserContextOptions = {}) => {
        allowMoreTime()
        const profile = await (await openChromium()).newContext({ baseURL: deployment.baseUrl, ...context })
        closing.push(() => profile.close())
        profile.setDefaultTimeout(15_000)
        const page = await profile.newPage()
        page.on('pageerror', ({ message }) => problems.push(message))
        page.on('console', (message) => {
          if (VIOLATION.test(message.text())) problems.push(message.text())
        })
        return page
      }
      return { ...deployment, ids, open }
    })
  })
}

/** From now on no time passes in this page but what the test lets pass. It stops at a time that has not come yet. */
export async function stopClock(page: Page): Promise<void> {
  const now = Date.now()
  await page.clock.install({ time: now })
  await page.clock.pauseAt(now + 60_000)
}

const LONG = `T-${'4711'.repeat(50)}`

/** Texts that do not fit, and none at all. */
async function extremes({ keep }: ConsoleDeployment): Promise<void> {
  await keep({ userId: 'alice', context: { ticketId: LONG, reason: LONG }, actorId: 'sam' })
  await keep({ userId: 'alice', context: {}, use: { clientId: 'support-desk' } })
}
