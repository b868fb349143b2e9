import { setTimeout as wait } from 'node:timers/promises'
import type { ManagementService } from '../management/service.ts'
import { summarizeSubjectTokens } from '../management/summary.ts'
import type { Visit } from './visit.ts'

export type Summary = Awaited<ReturnType<typeof summarizeSubjectTokens>>

const DAYS = 30
/** Milliseconds that a page waits for numbers. */
const PATIENCE = 20

interface Counting {
  last?: Summary
  running?: Promise<unknown>
}

const countings = new WeakMap<ManagementService, Counting>()

/** The last ones, while new ones are being counted. */
export async function numbersFor({ service, lookup }: Visit): Promise<Summary | undefined> {
  const counting = countings.get(service) ?? {}
  countings.set(service, counting)
  counting.running ??= summarizeSubjectTokens(service, DAYS)
    .then((summary) => {
      counting.last = summary
    })
    .catch(lookup.report)
    .finally(() => {
      counting.running = undefined
    })
  await Promise.race([counting.running, wait(PATIENCE, undefined, { ref: false })])
  return counting.last
}
