/** How the rows of a name are found: one branch for each index. */
import type { Dialect } from './database/dialect.ts'

export const TOKENS = 'subject_tokens t'

/** Ids from the first on, older than the second; both are parameters, as all values here. */
export interface Span {
  readonly issuer: string
  readonly from: string
  readonly below: string
}

/** Older and newer than every id. */
export const OLDEST = ''
export const NEWEST = 'g'

/** Finds rows of one name, by one index. */
interface Branch {
  readonly newest: (dialect: Dialect, name: string, span: Span, limit: number) => string
  /** Whether a row that another branch found has the name. */
  readonly holds: (name: string) => string
}

const byColumn = (column: string): Branch => ({
  newest: (dialect, name, { issuer, from, below }, limit) =>
    dialect.selectNewest({
      table: TOKENS,
      index: `subject_tokens_${column}`,
      equal: { [`t.${column}`]: name, 't.issuer': issuer },
      key: 't.id',
      from,
      below,
      limit,
    }),
  // No name is empty. Bare columns would invite a planner to begin at their index.
  holds: (name) => `COALESCE(t.${column}, '') = ${name}`,
})

/** By a further link of the chain that used the token; `chain` tells it from what the loser of a race left behind. */
const byFurtherActor: Branch = {
  newest: (_dialect, name, { issuer, from, below }, limit) => `SELECT l.token_id AS found
    FROM subject_token_actors l JOIN subject_tokens t ON t.id = l.token_id AND t.used_chain = l.chain
    WHERE l.actor_id = ${name} AND l.token_id >= ${from} AND l.token_id < ${below} AND t.issuer = ${issuer}
    ORDER BY l.token_id DESC LIMIT ${limit}`,
  holds: (name) => `EXISTS (SELECT 1 FROM subject_token_actors l
    WHERE l.actor_id = ${name} AND l.token_id = t.id AND l.chain = t.used_chain)`,
}

/** By a mark, which is 1 or absent; 0 stands for absent. */
const byMark = (column: string): Branch => ({
  ...byColumn(column),
  holds: (mark) => `COALESCE(t.${column}, 0) = ${mark}`,
})

/** An OR over several indexes would read all rows of a name before it sorts them, or walk the table. */
const BRANCHES = {
  userId: [byColumn('user_id')],
  actorId: [byColumn('actor_id'), byColumn('used_actor_id'), byFurtherActor],
  createdBy: [byColumn('created_by')],
  clientId: [byColumn('client_id'), byColumn('consumed_by')],
  replayed: [byMark('replayed')],
  withoutActor: [byMark('without_actor')],
} as const satisfies Readonly<Record<string, readonly Branch[]>>

export type Named = keyof typeof BRANCHES

/** Names with few rows come first, because a list walks the rows of the first that is given. */
export const NAMED = ['userId', 'actorId', 'createdBy', 'clientId'] as const satisfies readonly Named[]
export const MARKED = ['replayed', 'withoutActor'] as const satisfies readonly Named[]

/** Of each branch and name the newest rows within the span, each row once, under the name `found`. */
export function newestOf(
  dialect: Dialect,
  { by, names, span, limit }: { by: Named; names: readonly string[]; span: Span; limit: number },
): string {
  const branches = names.flatMap((name) =>
    BRANCHES[by].map((branch) => branch.newest(dialect, name, span, limit)),
  )
  return branches.map((select, index) => `SELECT found FROM (${select}) branch_${index}`).join(' UNION ')
}

/** The newest rows within the span, whatever their names. */
export function newestOfAll(dialect: Dialect, { issuer, from, below }: Span, limit: number): string {
  return dialect.selectNewest({
    table: TOKENS,
    index: 'subject_tokens_issuer',
    equal: { 't.issuer': issuer },
    key: 't.id',
    from,
    below,
    limit,
  })
}

/** Access tokens that expire in this time; parameters. No access token lives for longer than a day. */
export interface Lives {
  readonly after: string
  readonly before: string
}

/** The newest rows within the span whose access token lives and was not stopped. All such rows are read. */
export function newestOfLive(
  dialect: Dialect,
  { issuer, from, below }: Span,
  { after, before }: Lives,
  limit: number,
): string {
  return dialect.selectNewestOf({
    table: TOKENS,
    index: 'subject_tokens_access_token_expires_at',
    // Bounded on both sides, or a planner without statistics expects a third of the table.
    where: `t.issuer = ${issuer} AND t.access_token_expires_at > ${after} AND t.access_token_expires_at < ${before}
      AND t.revoked_at IS NULL`,
    key: 't.id',
    from,
    below,
    limit,
  })
}

/** The latest expiries of access tokens within the span, which is one of times. */
export const nextExpiries = (dialect: Dialect, { issuer, from, below }: Span, limit: number): string =>
  dialect.selectNewest({
    table: TOKENS,
    index: 'subject_tokens_access_token_expires_at',
    equal: { 't.issuer': issuer },
    key: 't.access_token_expires_at',
    only: true,
    from,
    below,
    limit,
  })

/** The same of a row that was found otherwise. */
export const lives = (now: string): string =>
  `(t.revoked_at IS NULL AND COALESCE(t.access_token_expires_at, 0) > ${now})`

export const holds = (by: Named, names: readonly string[]): string =>
  `(${names.flatMap((name) => BRANCHES[by].map((branch) => branch.holds(name))).join(' OR ')})`
