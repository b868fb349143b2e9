/**
 * Finds the ids of records, the newest first, with the parts of their rows that cost nothing more. Each walk reads one index
 * of one table, as far as its limit.
 */
import type { Seconds } from '../../base/clock.ts'
import type { SubjectTokenFilter } from '../../tokens/store.ts'
import { LONGEST_LIFE } from '../../tokens/subject-token.ts'
import type { Walk } from '../database/dialect.ts'
import { hexOf, type Row } from '../database/text.ts'
import { ACTORS, STOPS, TOKENS, USES } from '../tables.ts'
import type { Found, Place } from './place.ts'
import { partOf, stepOf } from './rows.ts'

/** Older than every id, and newer. */
const OLDEST = '0'.repeat(32)
export const NEWEST = 'f'.repeat(32)

const byColumn = ({ name }: { readonly name: string }, column: string): Walk => ({
  table: name,
  id: name === TOKENS.name ? 'id' : 'token_id',
  index: `${name}_${column}`,
  column,
})

/** Finds tokens by a further link of the chain that used them: the use's chain tells it from the rows that a race's loser left. */
const byFurtherActor: Walk = {
  table: ACTORS.name,
  id: 'token_id',
  column: 'actor_id',
  where: `(SELECT u.chain FROM ${USES.name} u
    WHERE u.issuer = ${ACTORS.name}.issuer AND u.token_id = ${ACTORS.name}.token_id) = ${ACTORS.name}.chain`,
}

const BY_NAME = {
  userId: [byColumn(TOKENS, 'user_id')],
  ticketId: [byColumn(TOKENS, 'ticket_id')],
  actorId: [byColumn(TOKENS, 'actor_id'), byColumn(USES, 'actor_id'), byFurtherActor],
  createdBy: [byColumn(TOKENS, 'created_by')],
  clientId: [byColumn(TOKENS, 'client_id'), byColumn(USES, 'client_id')],
} as const satisfies Partial<Record<keyof SubjectTokenFilter, readonly Walk[]>>

export type Named = keyof typeof BY_NAME

/** Names with few rows come first, because a list walks the rows of the first that is given. */
export const NAMED = Object.keys(BY_NAME) as readonly Named[]

/** Ids from the first on, older than the second. */
export interface Sought {
  readonly from: string
  readonly below: string
  readonly limit: number
}

async function follow(place: Place, walk: Walk, name: string | undefined, { from, below, limit }: Sought) {
  const { database, dialect, number } = place
  const names = name === undefined ? [] : [dialect.bindName(name)]
  const bind = [number, dialect.bindId(from), dialect.bindId(below), ...names]
  return database.find(dialect.selectNewest(walk, limit), bind)
}

/** The rows that several walks find, each once. One walk after the other: a request holds one connection. */
async function newestOf(
  place: Place,
  walks: readonly (readonly [walk: Walk, name?: string])[],
  sought: Sought,
): Promise<Found> {
  const rows = new Map<string, Row>()
  for (const [walk, name] of walks)
    for (const { found, of_issuer: _, ...row } of await follow(place, walk, name, sought))
      rows.set(hexOf(found), row)
  const ids = [...rows.keys()].sort().reverse()
  return new Map(ids.slice(0, sought.limit).map((id) => [id, rows.get(id) ?? {}]))
}

export function newestNamed(
  place: Place,
  by: Named,
  names: readonly string[],
  sought: Sought,
): Promise<Found> {
  const walks = BY_NAME[by].flatMap((walk) => names.map((name) => [walk, name] as const))
  return newestOf(place, walks, sought)
}

/** The condition of rows that have no name in common. */
const REPLAYED: Walk = { ...byColumn(STOPS, 'replayed'), value: '1' }
const WITHOUT_ACTOR: Walk = { ...byColumn(USES, 'actor_id'), value: `''` }
/** Walks that read the rows, too. */
const ROWS = {
  u: { table: `${USES.name} u`, columns: partOf('u') },
  s: { table: `${STOPS.name} s`, columns: partOf('s') },
}
const IN_COMMON = {
  issued: [{ table: TOKENS.name, id: 'id' }],
  /** Tombstones included. */
  used: [{ id: 'token_id', ...ROWS.u }],
  revoked: [{ id: 'token_id', where: 'stopped_at IS NOT NULL', ...ROWS.s }],
  replayed: [{ ...REPLAYED, ...ROWS.s }],
  withoutActor: [{ ...WITHOUT_ACTOR, ...ROWS.u }],
  /** Something to look into. */
  alarming: [REPLAYED, WITHOUT_ACTOR],
} as const satisfies Readonly<Record<string, readonly Walk[]>>

export type InCommon = keyof typeof IN_COMMON

export const newest = (place: Place, what: InCommon, sought: Sought): Promise<Found> =>
  newestOf(
    place,
    IN_COMMON[what].map((walk) => [walk]),
    sought,
  )

/** Tokens that have not ended, by the index of their end. */
const BY_END = {
  open: { table: TOKENS.name, id: 'id', ends: 'expires_at' },
  live: { table: USES.name, id: 'token_id', ends: 'access_token_expires_at' },
} as const

/**
 * The steps of the end are bounded on both sides, or a planner without statistics would take them for a third of the
 * table. Without a limit, all.
 */
export async function unended(
  { database, dialect, number }: Place,
  ending: keyof typeof BY_END,
  now: Seconds,
  { from = OLDEST, below = NEWEST, limit }: Partial<Sought> = {},
): Promise<Found> {
  const { table, id, ends } = BY_END[ending]
  const rows = await database.find(
    `SELECT ${id} AS found FROM ${table} ${dialect.by(`${table}_${ending}`)}
      WHERE issuer = $1 AND ${ending} >= $2 AND ${ending} <= $3 AND ${ends} > $4 AND ${id} < $5
      ORDER BY ${id} DESC ${limit === undefined ? '' : `LIMIT ${limit}`}`,
    // No token lives longer.
    [number, stepOf(now), stepOf(now + 2 * LONGEST_LIFE), now, dialect.bindId(below)],
  )
  return new Map(rows.map(({ found }) => [hexOf(found), {}] as const).filter(([found]) => found >= from))
}
