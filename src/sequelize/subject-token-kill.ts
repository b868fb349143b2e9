/** The kill switch, batch by batch. */
import { randomBytes } from 'node:crypto'
import type { Seconds } from '../clock.ts'
import { earliestId } from '../subject-tokens/id.ts'
import type { KillFilter, Revoked } from '../subject-tokens/store.ts'
import { LONGEST_LIFE, type Revocation } from '../subject-tokens/subject-token.ts'
import type { Database } from './database/database.ts'
import type { Dialect } from './database/dialect.ts'
import type { Bound } from './database/text.ts'
import { text } from './database/values.ts'
import { type Named, NEWEST, newestOf, TOKENS } from './subject-token-branches.ts'
import { fromRevokedRow, REVOKED_COLUMNS } from './subject-token-rows.ts'

/** Index entries of a name that one statement searches for tokens to end. */
const WINDOW = 1000
/** Rows that are marked together: one statement text for few rows, and one for many. */
const BATCHES = [20, 500]
const LARGEST_BATCH = 500
/** Walks through the rows of a name: more than one, because others commit meanwhile, but bounded, so that it ends. */
const WALKS = 5

interface Kill {
  readonly issuer: string
  readonly filter: KillFilter
  readonly now: Seconds
  readonly revocation: Revocation
}

/** What `stopped_index` becomes when a row is revoked. A token that was not spent has nothing to show in a list. */
export const STOPPED_INDEX = 'CASE WHEN consumed_at IS NOT NULL THEN status_index END'

/**
 * Marks what a kill switch ends, and reads each batch before it marks the next: if the database fails, the caller
 * misses one batch at most.
 */
export async function* killInBatches(
  database: Database,
  { issuer, filter, now, revocation }: Kill,
): AsyncGenerator<readonly Revoked[]> {
  const { dialect } = database
  const call = randomBytes(16).toString('hex')
  const startedAt = Date.now()
  const one = { issuer: dialect.bindName(issuer), now, call, revocation: JSON.stringify(revocation) }
  for (let walk = 0; walk < WALKS; walk += 1) {
    const windows = walkWindows(database, { ...one, filter, again: walk === 0 })
    let found = 0
    for await (const hashes of windows) {
      found += hashes.length
      for (let from = 0; from < hashes.length; from += LARGEST_BATCH) {
        const batch = hashes.slice(from, from + LARGEST_BATCH)
        // The caller may take its time between batches, and status lists look back only so far.
        const passed = Math.floor(Math.max(0, Date.now() - startedAt) / 1000)
        const { mark, find } = batchStatements(dialect, batch, { ...one, now: now + passed })
        await database.writeAll(mark.sql, mark.bind)
        const rows = await database.find(find.sql, find.bind)
        yield rows.map((row) => ({ token: fromRevokedRow(row), marked: row.revoked_call === call }))
      }
    }
    if (found === 0) return
  }
}

interface One {
  readonly issuer: Bound
  readonly now: Seconds
  /** A name of this one call, so that it can tell its rows from those that others mark at the same time. */
  readonly call: string
  /** As JSON. */
  readonly revocation: string
}

/** Active, or its access token has not expired. */
const unmarked = (now: string) => `t.revoked_at IS NULL
  AND ((t.consumed_at IS NULL AND t.expires_at > ${now}) OR t.access_token_expires_at > ${now})`
/** Marked by a call that may have died before it ended the token. */
const toEnd = (now: string) =>
  `t.revoked_at IS NOT NULL AND t.grant_id IS NOT NULL AND t.access_token_expires_at > ${now}`

/** The hashes of the tokens to end, newest first. Older rows are skipped: their access tokens must have expired. */
async function* walkWindows(
  database: Database,
  { issuer, now, filter, again }: One & { filter: KillFilter; again: boolean },
): AsyncGenerator<readonly string[]> {
  const [by, name] = namedBy(filter)
  const oldest = earliestId(now - 2 * LONGEST_LIFE)
  const span = { issuer: '$2', from: '$3', below: '$4' }
  const newest = (limit: number) => newestOf(database.dialect, { by, names: ['$1'], span, limit })
  const end = `SELECT found FROM (${newest(WINDOW)}) rows_found ORDER BY found DESC LIMIT 1 OFFSET ${WINDOW - 1}`
  // Twice as many: others may be issued or exchanged since the end was found.
  const rows = newest(2 * WINDOW)
  const relevant = `SELECT t.token_hash FROM (${rows}) rows_found
    ${database.dialect.joinEach('subject_tokens', 't.id = rows_found.found')}
    WHERE ${again ? `((${unmarked('$5')}) OR (${toEnd('$5')}))` : unmarked('$5')}`
  for (let below: string | undefined = NEWEST; below !== undefined; ) {
    const bind: Bound[] = [database.dialect.bindName(name), issuer]
    const [last] = await database.find(end, [...bind, oldest, below])
    const from: string | undefined = last && text(last.found)
    const found = await database.find(relevant, [...bind, from ?? oldest, below, now])
    yield found.map((row) => text(row.token_hash))
    below = from
  }
}

function namedBy(filter: KillFilter): [by: Named, name: string] {
  if ('userId' in filter) return ['userId', filter.userId]
  return 'actorId' in filter ? ['actorId', filter.actorId] : ['createdBy', filter.createdBy]
}

function batchStatements(
  dialect: Dialect,
  hashes: readonly string[],
  { issuer, now, call, revocation }: One,
) {
  const size = BATCHES.find((rows) => rows >= hashes.length) ?? hashes.length
  // A text has one size: a hash that appears twice fills the places that are left.
  const bound = Array.from({ length: size }, (_, index) => hashes[index] ?? hashes[0] ?? '')
  const batch = (first: number) =>
    `t.token_hash IN (${bound.map((_, index) => `$${index + first}`).join(', ')}) AND t.issuer = $3`
  return {
    mark: {
      sql: dialect.updateInOrder({
        table: 'subject_tokens',
        key: 'id',
        set: {
          stopped_index: STOPPED_INDEX,
          revocation: '$4',
          revoked_call: '$2',
          // The last one, because MySQL assigns from left to right.
          revoked_at: '$1',
        },
        from: TOKENS,
        where: `${batch(5)} AND ${unmarked('$1')}`,
        order: 'token_hash',
      }),
      bind: [now, call, issuer, revocation, ...bound],
    },
    find: {
      sql: `SELECT ${REVOKED_COLUMNS} FROM ${TOKENS} WHERE ${batch(4)} AND (t.revoked_call = $2 OR (${toEnd('$1')}))`,
      bind: [now, call, issuer, ...bound],
    },
  }
}
