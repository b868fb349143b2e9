import type { Page } from 'playwright-core'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'
import { by, PEOPLE, peopleAtWork } from '../../fixtures/people-at-work.ts'
import { epochTime } from '../../src/base/clock.ts'
import { earliestId } from '../../src/tokens/id.ts'

/** Something to take pictures of. */
export interface Scenery {
  readonly baseUrl: string
  /** By the name of the picture: opens what it shows. Returns the page, if it is another one. */
  readonly views: Readonly<Record<string, (page: Page) => Promise<Page | undefined> | Promise<void>>>
  close(): Promise<void>
}

const DAY = 86_400

/** A console of a team that has worked for a month. */
export async function openConsole(): Promise<Scenery> {
  const deployment = await startConsole({
    // As in the example, whose pictures stand beside these.
    nameOf: () => new Map([...PEOPLE, ['dora', 'Dana Dorn']]),
    title: 'Corner Shop security',
    signOut: '/sign-out',
    ticketUrl: ({ ticketId }) => `https://tickets.example.com/${String(ticketId)}`,
  })
  await monthOfWork(deployment)
  const { replayed } = await peopleAtWork(deployment)
  const { baseUrl, close } = deployment
  return {
    baseUrl,
    views: {
      'console-now': async (page) => {
        await page.goto('/impersonations')
        // The first page after a start comes without numbers.
        await page.reload()
      },
      'console-record': async (page) => void (await page.goto(`/impersonations/${replayed}`)),
    },
    close,
  }
}

/** Fewer at weekends, and one that was used again. */
async function monthOfWork({ keep }: ConsoleDeployment): Promise<void> {
  const now = epochTime()
  for (let day = 29; day > 0; day -= 1) {
    const at = now - day * DAY
    const isWeekend = [0, 6].includes(new Date(at * 1000).getUTCDay())
    const count = (isWeekend ? 3 : 14) + ((day * 7) % 9)
    for (let number = 0; number < count; number += 1) {
      const accessToken = { format: 'jwt', jti: 'a-jti', expiresAt: at + 300 } as const
      await keep({
        id: earliestId(at).slice(0, 16) + String(number).padStart(16, '0'),
        userId: 'bob',
        createdAt: at,
        expiresAt: at + 600,
        use: { ...by('sam'), at: at + 5, accessToken },
        ...(day === 9 && number < 2 && { replayedBy: 'other-app' }),
      })
    }
  }
}
