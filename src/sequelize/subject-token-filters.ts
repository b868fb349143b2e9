/** Where the rows lie that a filter names, and the statements that list and mark them. */
import type { Seconds } from '../clock.ts'
import type { KillFilter, SubjectTokenFilter, SubjectTokenStore } from '../subject-tokens/store.ts'
import { LONGEST_LIFE, type SubjectTokenState } from '../subject-tokens/subject-token.ts'
import type { Bound, Dialect } from './database/driver.ts'
import { COLUMNS } from './subject-token-rows.ts'

/** A way to rows of one name, by one index. */
interface Branch {
  readonly from: string
  /** The id of a row, as the index holds it after the name. */
  readonly id: string
  readonly where: (name: string) => string
  /** The same of a row that was found another way. */
  readonly holds: (name: string) => string
}

const TOKENS = 'subject_tokens t'

const byColumn = (column: string): Branch => ({
  from: TOKENS,
  id: 't.id',
  where: (name) => `t.${column} = ${name}`,
  holds: (name) => `t.${column} = ${name}`,
})

/** By a further link of the chain that used the token; `chain` tells it from what the loser of a race left behind. */
const byFurtherActor: Branch = {
  from: 'subject_token_actors l JOIN subject_tokens t ON t.id = l.token_id AND t.used_chain = l.chain',
  id: 'l.token_id',
  where: (name) => `l.actor_id = ${name}`,
  holds: (name) => `EXISTS (SELECT 1 FROM subject_token_actors l
    WHERE l.actor_id = ${name} AND l.token_id = t.id AND l.chain = t.used_chain)`,
}

/**
 * One branch for each index. An OR over several would read all rows of a name before it sorts them, or walk the
 * table. Names with few rows come first, because a list goes by the first that is given.
 */
const BRANCHES = {
  userId: [byColumn('user_id')],
  actorId: [byColumn('actor_id'), byColumn('used_actor_id'), byFurtherActor],
  createdBy: [byColumn('created_by')],
} as const satisfies Readonly<Record<string, readonly Branch[]>>

type Named = keyof typeof BRANCHES
const NAMED = ['userId', 'actorId', 'createdBy'] as const satisfies readonly Named[]

const STATES: Readonly<Record<SubjectTokenState, (now: () => string) => string>> = {
  revoked: () => 't.revoked_at IS NOT NULL',
  consumed: () => 't.revoked_at IS NULL AND t.consumed_at IS NOT NULL',
  expired: (now) => `t.revoked_at IS NULL AND t.consumed_at IS NULL AND t.expires_at <= ${now()}`,
  active: (now) => `t.revoked_at IS NULL AND t.consumed_at IS NULL AND t.expires_at > ${now()}`,
}

/** Two sizes, and so few texts; the rest of a page is cut off after reading. 101 tells whether there are more than 100. */
const PAGES = [51, 101]

interface ListRequest {
  readonly issuer: Bound
  readonly filter: SubjectTokenFilter
  readonly page: Parameters<SubjectTokenStore['list']>[2]
  readonly name: (value: string) => Bound
}

/**
 * A page of every branch, and of those together the newest. One text for each combination of filters, so that the
 * server's prepared statements stay few.
 */
export function listStatement({ issuer, filter, page, name }: ListRequest): { sql: string; bind: Bound[] } {
  const bind: Bound[] = []
  const bound = (value: Bound) => `$${bind.push(value)}`
  const [first, ...others] = NAMED.flatMap((by) => {
    const given = filter[by]
    if (given === undefined) return []
    const names = [given].flat().map((value) => bound(name(value)))
    return [names.flatMap((one) => BRANCHES[by].map((branch) => ({ branch, name: one })))]
  })
  const rest = [
    `t.issuer = ${bound(issuer)}`,
    ...others.map((any) => `(${any.map(({ branch, name }) => branch.holds(name)).join(' OR ')})`),
  ]
  if (filter.clientId !== undefined) {
    const client = bound(name(filter.clientId))
    rest.push(`(t.client_id = ${client} OR t.consumed_by = ${client})`)
  }
  if (filter.state !== undefined) rest.push(STATES[filter.state](() => bound(page.now)))
  const cursor = page.cursor === undefined ? undefined : bound(page.cursor)
  // A bound LIMIT reaches MySQL as a floating-point number, which it refuses.
  const size = PAGES.find((rows) => rows >= page.limit) ?? Number(page.limit)

  const newest = ({ from, id }: Pick<Branch, 'from' | 'id'>, where: readonly string[]) => {
    const older = cursor === undefined ? [] : [`${id} < ${cursor}`]
    const conditions = [...where, ...rest, ...older].join(' AND ')
    return `SELECT ${id} AS found FROM ${from} WHERE ${conditions} ORDER BY ${id} DESC LIMIT ${size}`
  }
  const pages = first
    ? first.map(({ branch, name }) => newest(branch, [branch.where(name)]))
    : [newest({ from: TOKENS, id: 't.id' }, [])]
  return { sql: `${rowsOf(pages, COLUMNS)} ORDER BY rows_found.found DESC LIMIT ${size}`, bind }
}

/** The rows that several selects find, each of them once. */
function rowsOf(selects: readonly string[], columns: string): string {
  const found = selects
    .map((select, index) => `SELECT found FROM (${select}) branch_${index}`)
    .join(' UNION ')
  return `SELECT ${columns} FROM (${found}) rows_found JOIN subject_tokens t ON t.id = rows_found.found`
}

interface Kill {
  readonly issuer: Bound
  readonly filter: KillFilter
  readonly now: Seconds
  /** A name of this one call, so that it can tell its rows from those that others mark at the same time. */
  readonly revocation: string
  readonly name: (value: string) => Bound
}

interface KillStatements {
  /** Mark what is active or whose access token lives. */
  readonly mark: readonly string[]
  /** Finds what this call has marked, and what was marked before and whose opaque access token could still live. */
  readonly find: string
  readonly bind: Bound[]
}

const REVOCABLE = '((t.consumed_at IS NULL AND t.expires_at > $1) OR t.access_token_expires_at > $1)'

/**
 * A backend may have issued most of the table. A token that expired longer ago than an access token can live has
 * nothing left to end: its index skips it.
 */
const RECENT = 't.expires_at > $5'

export function killStatements(
  dialect: Dialect,
  { issuer, filter, now, revocation, name }: Kill,
): KillStatements {
  const [by, value] = namedBy(filter)
  const bind = [now, revocation, issuer, name(value)]
  if (by === 'createdBy') bind.push(now - LONGEST_LIFE)
  const ofThem = ({ where }: Branch) =>
    [where('$4'), ...(by === 'createdBy' ? [RECENT] : []), 't.issuer = $3'].join(' AND ')
  const marked = BRANCHES[by].map(
    (branch) => `SELECT t.id AS found FROM ${branch.from} WHERE ${ofThem(branch)} AND t.revoked_at IS NOT NULL
      AND (t.revocation = $2 OR (t.grant_id IS NOT NULL AND t.access_token_expires_at > $1))`,
  )
  return {
    mark: BRANCHES[by].map((branch) => markStatement(dialect, branch.from, ofThem(branch))),
    find: rowsOf(marked, `${COLUMNS}, revocation`),
    bind,
  }
}

function namedBy(filter: KillFilter): [by: Named, value: string] {
  if ('userId' in filter) return ['userId', filter.userId]
  return 'actorId' in filter ? ['actorId', filter.actorId] : ['createdBy', filter.createdBy]
}

function markStatement(dialect: Dialect, from: string, ofThem: string): string {
  return dialect.updateInOrder({
    table: 'subject_tokens',
    key: 'id',
    set: { revoked_at: '$1', revocation: '$2' },
    from,
    where: `${ofThem} AND t.revoked_at IS NULL AND ${REVOCABLE}`,
    order: 'token_hash',
  })
}
