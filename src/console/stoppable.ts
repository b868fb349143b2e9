import { listSubjectTokens } from '../management/inspect.ts'
import type { SubjectTokenFilter } from '../subject-tokens/store.ts'
import { LONGEST_LIFE } from '../subject-tokens/subject-token.ts'
import type { Person } from './stop-all-form.ts'
import type { Visit } from './visit.ts'

const MOST = 100
/** Requests for a count. Each reads a bounded number of rows. */
const PATIENCE = 5

/** In words: how many a kill switch would stop, counted up to a hundred. */
export async function countStoppable(visit: Visit, { field, id }: Person): Promise<string> {
  const person = field === 'userId' ? { userId: [id] as const } : { actorId: [id] as const }
  // What is older has ended: a subject token lives for a day at most, and its access token for another.
  const recent = { ...person, createdAfter: visit.now - 2 * LONGEST_LIFE - 60 }
  const counts = await Promise.all([
    count(visit, { ...recent, state: 'active' }),
    count(visit, { ...recent, live: true }),
  ])
  const total = counts.reduce((sum, { found }) => sum + found, 0)
  if (total >= MOST) return `${MOST} or more impersonations`
  const least = counts.some(({ complete }) => !complete) ? 'at least ' : ''
  return `${least}${total} impersonation${total === 1 ? '' : 's'}`
}

async function count(
  { service, lookup }: Visit,
  filter: SubjectTokenFilter,
): Promise<{ readonly found: number; readonly complete: boolean }> {
  let found = 0
  let cursor: string | undefined
  for (let requests = 0; requests < PATIENCE; requests += 1) {
    const page = await listSubjectTokens(service, lookup, { filter, limit: MOST, ...(cursor && { cursor }) })
    found += page.items.length
    cursor = page.nextCursor
    if (cursor === undefined || found >= MOST) return { found, complete: true }
  }
  return { found, complete: false }
}
