/** The console in a real browser: a deployment with people at work, and pages that must obey their policy. */
import { expect } from 'chai'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { isChromiumAvailable, openChromium } from '../../fixtures/chromium.ts'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import type { ConsoleOptions } from '../../src/console/index.ts'
import { VIOLATION } from './desk.ts'

const PEOPLE = new Map([
  ['sam', 'Sam Sawyer'],
  ['robin', 'Robin Reed'],
  ['alice', 'Alice Archer'],
  ['bob', 'Bob Baker'],
  ['dora', 'Dora Dorn'],
])

export interface OpenConsole extends ConsoleDeployment {
  readonly ids: { readonly live: string; readonly other: string; readonly replayed: string }
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
        ticketUrl: ({ ticketId }) => ticketId && `https://tickets.example.com/${String(ticketId)}`,
        ...options,
      } as Partial<ConsoleOptions>)
      closing.push(() => deployment.close())
      const ids = await peopleAtWork(deployment)
      const open = async (context: BrowserContextOptions = {}) => {
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

async function peopleAtWork({ keep }: ConsoleDeployment): Promise<OpenConsole['ids']> {
  const context = (ticketId: string, reason: string) => ({ ticketId, reason })
  const use = (sub: string) => ({
    actor: { sub, clientId: 'support-desk' },
    clientId: 'support-desk',
    scope: 'orders:read',
  })
  const LONG = `T-${'4711'.repeat(50)}`
  await keep({ userId: 'bob', context: context('T-4698', 'Lamp arrived broken'), expiresAt: 1 })
  await keep({
    userId: 'bob',
    context: context('T-4702', 'Invoice shows another VAT'),
    use: use('sam'),
    revocation: { cause: 'console', by: 'robin', reason: 'wrong customer' },
  })
  await keep({ userId: 'alice', context: context(LONG, LONG), actorId: 'sam' })
  await keep({ userId: 'alice', context: {}, use: { clientId: 'support-desk' } })
  return {
    replayed: await keep({
      userId: 'alice',
      context: context('T-4711', 'Order A-1 is missing'),
      use: use('sam'),
      replayedBy: 'other-app',
    }),
    other: await keep({ userId: 'bob', context: context('T-4720', 'Cannot pay by card'), use: use('robin') }),
    live: await keep({
      userId: 'alice',
      context: context('T-4711', 'Order A-1 is missing'),
      use: use('sam'),
    }),
  }
}
