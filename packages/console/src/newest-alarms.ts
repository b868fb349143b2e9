/** The alarms that no one has looked into: read once for all pages, each of which says how many there are. */
import type { RecordPage, Seconds } from 'oidc-provider-impersonation'
import { createMemory, type Service } from 'oidc-provider-impersonation/inside'
import type { Visit } from './visit.ts'

/** Alarms that can be marked as seen at once. */
export const MOST_ALARMS = 100
/** Seconds that they are kept. */
const KEPT: Seconds = 10

const createRecall = () => createMemory<'newest', RecordPage>(1)
const recalls = new WeakMap<Service['store'], ReturnType<typeof createRecall>>()

/** The newest ones. May be some seconds old. */
export function newestAlarms({ records, service: { store } }: Visit): Promise<RecordPage> {
  const recall = recalls.get(store) ?? createRecall()
  recalls.set(store, recall)
  return recall('newest', KEPT, () => records.list({ unacknowledged: true, limit: MOST_ALARMS }))
}

/** After some were marked as seen, so that the next page does not count them. */
export function forgetAlarms({ service: { store } }: Visit): void {
  recalls.delete(store)
}

/** How many, in as few characters as a tab has room for; nothing where there are none, or they cannot be read. */
export async function alarmCount(visit: Visit): Promise<string | undefined> {
  try {
    const { items, nextCursor } = await newestAlarms(visit)
    if (items.length >= MOST_ALARMS) return `${MOST_ALARMS - 1}+`
    if (items.length === 0 && nextCursor === undefined) return undefined
    return `${items.length}${nextCursor === undefined ? '' : '+'}`
  } catch (error) {
    visit.report(error)
    return undefined
  }
}
