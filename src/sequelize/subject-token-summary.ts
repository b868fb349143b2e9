/** Counts, in slices: a driver that is synchronous blocks the event loop for one of them at a time. */
import type { Seconds } from '../clock.ts'
import { earliestId } from '../subject-tokens/id.ts'
import type { SubjectTokenCounts } from '../subject-tokens/store.ts'
import { LONGEST_LIFE } from '../subject-tokens/subject-token.ts'
import type { Database } from './database/database.ts'
import type { Bound } from './database/text.ts'
import { text } from './database/values.ts'
import { NEWEST, newestOfAll, newestOfLive, nextExpiries, OLDEST } from './subject-token-branches.ts'

/** Rows that one statement reads. */
const SLICE = 500

interface Created {
  readonly issuer: Bound
  readonly from: Seconds
  readonly until: Seconds
}

/** From the newest to the oldest. */
export async function* summarize(
  database: Database,
  { issuer, from, until }: Created,
): AsyncGenerator<SubjectTokenCounts> {
  const { dialect } = database
  const found = newestOfAll(dialect, { issuer: '$1', from: '$2', below: '$3' }, SLICE)
  const count = `SELECT COUNT(*) AS issued, COUNT(t.consumed_at) AS exchanged, COUNT(t.without_actor) AS without_actor,
      COUNT(t.revoked_at) AS revoked, COUNT(t.replayed_at) AS replayed, MIN(t.id) AS oldest
    FROM (${found}) rows_found ${dialect.joinEach('subject_tokens', 't.id = rows_found.found')}`
  for (let below = earliestId(until); ; ) {
    const [row = {}] = await database.find(count, [issuer, earliestId(from), below])
    const issued = Number(row.issued)
    yield {
      issued,
      exchanged: Number(row.exchanged),
      withoutActor: Number(row.without_actor),
      revoked: Number(row.revoked),
      replayed: Number(row.replayed),
    }
    if (issued < SLICE) return
    below = text(row.oldest)
  }
}

/** Many may expire in one second, and are counted together: so many more than there are in a second. */
const ANY = 1_000_000

/** From the last to expire to the first. */
export async function* countLive(database: Database, issuer: Bound, now: Seconds): AsyncGenerator<number> {
  const { dialect } = database
  const expiries = nextExpiries(dialect, { issuer: '$1', from: '$2', below: '$3' }, SLICE)
  const end = `SELECT found FROM (${expiries}) rows_found ORDER BY found DESC LIMIT 1 OFFSET ${SLICE - 1}`
  const span = { issuer: '$1', from: '$2', below: '$3' }
  const found = newestOfLive(dialect, span, { after: '$4', before: '$5' }, ANY)
  const count = `SELECT COUNT(*) AS live FROM (${found}) rows_found`
  for (let before = now + 2 * LONGEST_LIFE; ; ) {
    const [last] = await database.find(end, [issuer, now + 1, before])
    const after = last === undefined ? now : Number(last.found) - 1
    const [row = {}] = await database.find(count, [issuer, OLDEST, NEWEST, after, before])
    yield Number(row.live)
    if (last === undefined) return
    before = after + 1
  }
}
