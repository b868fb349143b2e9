/** The lists whose cost is a fact: what they search for, and what a page of them may read. */
import type { Database } from '../../fixtures/databases.ts'
import { type Run, recordRuns } from '../../fixtures/runs.ts'
import { epochTime } from '../../src/base/clock.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import type { SubjectTokenFilter } from '../../src/tokens/store.ts'
import { DAY, ISSUER } from './deployment.ts'
import {
  APPLICATION,
  BACKEND,
  BOT,
  BUSY_USER,
  ENGINEER,
  OTHER_BACKEND,
  QUIET_USER,
  TICKET,
} from './facts-fill.ts'

const SOME_DAYS_AGO = epochTime() - 5 * DAY

/** What someone may be without being in any row. */
const UNKNOWN = 'no such name'

const FILTERS = {
  newest: {},
  'by userId, of few': { userId: [QUIET_USER] },
  'by userId, of 1 %': { userId: [BUSY_USER] },
  'by actorId, rare': { actorId: [ENGINEER] },
  'by actorId, of 40 %': { actorId: [BOT] },
  'by clientId, of 98 %': { clientId: APPLICATION },
  'by createdBy, of 67 %': { createdBy: BACKEND },
  'by createdBy, an hour of days ago': {
    createdBy: OTHER_BACKEND,
    createdAfter: SOME_DAYS_AGO,
    createdBefore: SOME_DAYS_AGO + 3600,
  },
  'by ticketId': { ticketId: TICKET },
  'without an actor': { withoutActor: true },
  live: { live: true },
  replayed: { replayed: true },
  revoked: { state: 'revoked' },
  'by userId that no row has': { userId: [UNKNOWN] },
  'by actorId that no row has': { actorId: [UNKNOWN] },
  'by clientId that no row has': { clientId: UNKNOWN },
  'by createdBy that no row has': { createdBy: UNKNOWN },
  'by ticketId that no row has': { ticketId: UNKNOWN },
} satisfies Record<string, SubjectTokenFilter>

/** What a list sends, what is said of its alarms included, and how many rows it returns. */
interface Listed {
  readonly name: string
  readonly runs: readonly Run[]
  readonly rows: number
}

export async function* runLists(database: Database): AsyncGenerator<Listed> {
  const store = createSubjectTokenStore(database.sequelize)
  for (const [name, filter] of Object.entries(FILTERS)) {
    let rows = 0
    const runs = await recordRuns(database, async () => {
      const { tokens } = await store.list(ISSUER, filter, { limit: 50, now: epochTime() })
      rows = tokens.length
    })
    yield { name, runs, rows }
  }
}

/** More rows mean deeper indexes. What lives is told from what was stopped, too. One more row tells that there are more. */
export function mostPages(name: string, returned: number, size: number): number {
  if (name.endsWith('that no row has')) return 12
  const rows = returned === 50 ? 51 : returned
  const deep = size > 3_000_000
  const perRow = name === 'live' ? (deep ? 18 : 15) : deep ? 15 : 12
  return perRow * rows + 20
}
