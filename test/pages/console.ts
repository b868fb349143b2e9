/** The console in a real browser: a deployment with people at work. */
import type { BrowserContextOptions, Page } from 'playwright-core'
import { inChromium } from '../../fixtures/chromium.ts'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import { type AtWork, PEOPLE, peopleAtWork } from '../../fixtures/people-at-work.ts'
import type { ConsoleOptions } from '../../packages/console/src/index.ts'

export interface OpenConsole extends ConsoleDeployment {
  readonly ids: AtWork
  /** A page in a browser profile of its own. */
  open(options?: BrowserContextOptions): Promise<Page>
}

/** A `describe` whose tests open consoles, each of which is closed after its test. */
export function consoleInChromium(title: string, tests: (open: () => Promise<OpenConsole>) => void): void {
  inChromium(title, ({ open, closing }) =>
    tests(async () => {
      const deployment = await startConsole({
        nameOf: () => PEOPLE,
        find: (text) => [...PEOPLE].filter(([, name]) => name.includes(text)).map(([id]) => id),
        ticketUrl: ({ ticketId }) => ticketId && `https://tickets.example.com/${String(ticketId)}`,
      } as Partial<ConsoleOptions>)
      closing.push(() => deployment.close())
      await extremes(deployment)
      return {
        ...deployment,
        ids: await peopleAtWork(deployment),
        open: (options = {}) => open({ baseURL: deployment.baseUrl, ...options }),
      }
    }),
  )
}

/** From now on no time passes in this page but what the test lets pass. It stops at a time that has not come yet. */
export async function stopClock(page: Page, now = Date.now()): Promise<void> {
  await page.clock.install({ time: now })
  await page.clock.pauseAt(now + 60_000)
}

const LONG = `T-${'4711'.repeat(50)}`

/** Texts that do not fit, and none at all. */
async function extremes({ keep }: ConsoleDeployment): Promise<void> {
  await keep({ userId: 'alice', context: { ticketId: LONG, reason: LONG }, actorId: 'sam' })
  await keep({ userId: 'alice', context: {}, use: { clientId: 'support-desk' } })
}
