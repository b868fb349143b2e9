/** How the rows of a name are found: one branch for each index. An OR over several would read all rows of a name first. */
import type { Dialect, Slice } from '../database/dialect.ts'
import { ACTORS, columnsOf, STOPS, TOKENS, USES } from '../tables.ts'

/** Ids from the first on, older than the second; all are parameters, as all values here. */
export interface Span {
  readonly issuer: string
  readonly from: string
  readonly below: string
}

/** Older than every id, and newer. */
export const OLDEST = '0'.repeat(32)
export const NEWEST = 'f'.repeat(32)

/** Finds rows of one name, by one index. */
interface Branch {
  readonly newest: (dialect: Dialect, name: string, span: Span, limit: number) => string
  /** Whether a row that another branch found has the name. */
  readonly holds: (name: string) => string
}

const FROM = { t: TOKENS, u: USES, s: STOPS } as const
const keyOf = (alias: keyof typeof FROM): string => (alias === 't' ? 't.id' : `${alias}.token_id`)

const byColumn = (alias: keyof typeof FROM, column: string, more?: readonly string[]): Branch => ({
  newest: (dialect, name, { issuer, from, below }, limit) =>
    dialect.selectNewest({
      table: `${FROM[alias].name} ${alias}`,
      index: `${FROM[alias].name}_${column}`,
      equal: { [`${alias}.${column}`]: name, [`${alias}.issuer`]: issuer },
      key: keyOf(alias),
      ...(more && { more }),
      from,
      below,
      limit,
    }),
  // No name is empty. Bare columns would invite a planner to begin at their index.
  holds: (name) => `COALESCE(${alias}.${column}, '') = ${name}`,
})

/** By the key of a table. */
const byKey =
  (alias: keyof typeof FROM, more?: Pick<Slice, 'where' | 'more'>) =>
  (dialect: Dialect, span: Span, limit: number) =>
    dialect.selectNewest({
      table: `${FROM[alias].name} ${alias}`,
      equal: { [`${alias}.issuer`]: span.issuer },
      ...more,
      key: keyOf(alias),
      from: span.from,
      below: span.below,
      limit,
    })

/** What the use says of its chain tells a link from what the loser of a race left behind. */
const IS_LINK = `(SELECT c.chain FROM ${USES.name} c WHERE c.issuer = l.issuer AND c.token_id = l.token_id) = l.chain`

/** By a further link of the chain that used the token. */
const byFurtherActor: Branch = {
  newest: (dialect, name, { issuer, from, below }, limit) =>
    dialect.selectNewest({
      table: `${ACTORS.name} l`,
      equal: { 'l.actor_id': name, 'l.issuer': issuer },
      where: IS_LINK,
      key: 'l.token_id',
      ...{ from, below, limit },
    }),
  holds: (name) => `(SELECT COUNT(*) FROM ${ACTORS.name} l
    WHERE l.actor_id = ${name} AND l.issuer = t.issuer AND l.token_id = t.id AND l.chain = u.chain) > 0`,
}

const byId: Branch = {
  newest: (_dialect, id, { issuer, from, below }) => `SELECT t.id AS found FROM ${TOKENS.name} t
    WHERE t.issuer = ${issuer} AND t.id = ${id} AND t.id >= ${from} AND t.id < ${below}`,
  holds: (id) => `t.id = ${id}`,
}

const BRANCHES = {
  id: [byId],
  userId: [byColumn('t', 'user_id')],
  ticketId: [byColumn('t', 'ticket_id')],
  actorId: [byColumn('t', 'actor_id'), byColumn('u', 'actor_id'), byFurtherActor],
  createdBy: [byColumn('t', 'created_by')],
  clientId: [byColumn('t', 'client_id'), byColumn('u', 'client_id')],
} as const satisfies Readonly<Record<string, readonly Branch[]>>

export type Named = keyof typeof BRANCHES

/** Names with few rows come first, because a list walks the rows of the first that is given. */
export const NAMED = Object.keys(BRANCHES) as readonly Named[]

const union = (selects: readonly string[]): string =>
  selects.map((select, index) => `SELECT found FROM (${select}) branch_${index}`).join(' UNION ')

/** No more rows than the limit are looked up, however many branches find some. */
const newestOfUnion = (selects: readonly string[], limit: number): string =>
  selects.length === 1
    ? union(selects)
    : `SELECT found FROM (${union(selects)}) found_by_any ORDER BY found DESC LIMIT ${limit}`

/** Of each branch and name the newest rows within the span, each row once, under the name `found`. */
export function newestOf(
  dialect: Dialect,
  { by, names, span, limit }: { by: Named; names: readonly string[]; span: Span; limit: number },
): string {
  const branches: readonly Branch[] = BRANCHES[by]
  const selects = names.flatMap((name) => branches.map(({ newest }) => newest(dialect, name, span, limit)))
  return newestOfUnion(selects, limit)
}

export const holds = (by: Named, names: readonly string[]): string =>
  `(${names.flatMap((name) => (BRANCHES[by] as readonly Branch[]).map((branch) => branch.holds(name))).join(' OR ')})`

type Newest = (dialect: Dialect, span: Span, limit: number) => string

/** The newest rows within the span, whatever their names. */
export const newestOfAll: Newest = byKey('t')

/** The walk reads the rows of stops: no one looks them up again. */
const STOPS_TOO = columnsOf(STOPS).map((column) => `s.${column}`)

/** What was used again. */
export const newestReplayed: Newest = (dialect, span, limit) =>
  byColumn('s', 'replayed', STOPS_TOO).newest(dialect, '1', span, limit)

/** What was exchanged without an actor. */
export const newestWithoutActor: Newest = (dialect, span, limit) =>
  byColumn('u', 'actor_id').newest(dialect, `''`, span, limit)

export const newestStopped: Newest = byKey('s', { where: 's.stopped_at IS NOT NULL', more: STOPS_TOO })

/** What has something to look into. */
export const newestAlarming: Newest = (dialect, span, limit) =>
  newestOfUnion([newestReplayed(dialect, span, limit), newestWithoutActor(dialect, span, limit)], limit)
