/**
 * Finds the ids of records, the newest first, with the parts of their rows that cost nothing more. Each walk reads one index
 * of one table, as far as its limit.
 */
import type { Seconds } from '../../clock.ts'
import type { SubjectTokenFilter } from '../../subject-tokens/store.ts'
import { LONGEST_LIFE } from '../../subject-tokens/subject-token.ts'
import { hexOf, type Row } from '../database/text.ts'
import { ACTORS, STOPS, TOKENS, USES } from '../tables.ts'
import type { Found, Place } from './place.ts'
import { partOf, stepOf } from './rows.ts'

/** Ids from the first on, older than the second. */
interface Span {
  readonly from: string
  readonly below: string
}

/** Older than every id, and newer. */
const OLDEST = '0'.repeat(32)
export const NEWEST = 'f'.repeat(32)

/** Rows of one value of an index that goes on with the issuer and the id. */
interface Walk {
  readonly table: string
  readonly id: string
  /** Absent: the key of the table. */
  readonly index?: string
  /** Absent: all rows of the issuer. */
  readonly column?: string
  /** Of the column, in SQL. Absent: a name that is bound. */
  readonly value?: string
  readonly where?: string
  /** The alias of the table, if its rows are read too. */
  readonly rows?: 's' | 'u'
}

const byColumn = ({ name }: { readonly name: string }, column: string): Walk => ({
  table: name,
  id: name === TOKENS.name ? 'id' : 'token_id',
  index: `${name}_${column}`,
  column,
})

/** By a further link of the chain that used the token: what the use says of its chain tells it from what a loser left. */
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

export interface Sought extends Span {
  readonly limit: number
}

async function follow(place: Place, walk: Walk, name: string | undefined, { from, below, limit }: Sought) {
  const { database, dialect, number } = place
  const { table, id, index, column, value = '$4', where, rows } = walk
  const sql = dialect.selectNewest({
    table: rows === undefined ? table : `${table} ${rows}`,
    ...(index !== undefined && { index }),
    equal: { ...(column !== undefined && { [column]: value }), issuer: '$1' },
    key: id,
    ...(rows !== undefined && { columns: partOf(rows) }),
    ...(where !== undefined && { where }),
    ...{ from: '$2', below: '$3', limit },
  })
  const bind = [
    number,
    dialect.bindId(from),
    dialect.bindId(below),
    ...(name === undefined ? [] : [dialect.bindName(name)]),
  ]
  return database.find(sql, bind)
}

/** What several walks find, each once. One after the other: a request holds one connection. */
async function newestOf(
  place: Place,
  walks: readonly (readonly [walk: Walk, name?: string])[],
  sought: Sought,
): Promise<Found> {
  const rows = new Map<string, Row>()
  for (const [walk, name] of walks)
    for (const { found, of_first: _, ...row } of await follow(place, walk, name, sought))
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

/** What rows have in common that have no name in common. */
const REPLAYED: Walk = { ...byColumn(STOPS, 'replayed'), value: '1' }
const WITHOUT_ACTOR: Walk = { ...byColumn(USES, 'actor_id'), value: `''` }
const IN_COMMON = {
  issued: [{ table: TOKENS.name, id: 'id' }],
  /** Tombstones included. */
  used: [{ table: USES.name, id: 'token_id', rows: 'u' }],
  revoked: [{ table: STOPS.name, id: 'token_id', where: 'stopped_at IS NOT NULL', rows: 's' }],
  replayed: [{ ...REPLAYED, rows: 's' }],
  withoutActor: [{ ...WITHOUT_ACTOR, rows: 'u' }],
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

/** What has not ended, by the index of its end. */
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
