import { epochTime, type Seconds } from '../base/clock.ts'
import { timed } from '../metrics/metrics.ts'
import type { Service } from '../provider/settings.ts'
import { isId } from '../tokens/id.ts'
import type { SubjectTokenFilter } from '../tokens/store.ts'
import type { SubjectTokenState } from '../tokens/subject-token.ts'
import { type Lookup, withAccounts } from './accounts.ts'
import { assertKnown, mustBe, parseFlag, parseName } from './fields.ts'
import { recordOf, type SubjectTokenRecord } from './record.ts'

/** Which records to list, and which page of them (docs/protocol.md §2.2): those that match every member. */
export interface RecordQuery {
  /** The user. An alias that `findAccount` knows finds those of its account, too. 1 to 255 characters. */
  readonly userId?: string | undefined
  /** The actor that it is bound to or was used by, anywhere in the chain; an alias as in `userId`. */
  readonly actorId?: string | undefined
  /** The client that it is bound to or was exchanged by. */
  readonly clientId?: string | undefined
  /** The backend that issued it. */
  readonly createdBy?: string | undefined
  /** The `jti` of an access token that leads to it. */
  readonly jti?: string | undefined
  /** The `context.ticketId`. */
  readonly ticketId?: string | undefined
  readonly state?: SubjectTokenState | undefined
  /** Whether someone can act as the user right now. */
  readonly live?: boolean | undefined
  /** Whether the subject token was used again. */
  readonly replayed?: boolean | undefined
  /** Whether it was exchanged without an actor. */
  readonly withoutActor?: boolean | undefined
  /** Whether what comes of it changes nothing. */
  readonly readOnly?: boolean | undefined
  /** Whether it has an alarm that no one has looked into: `true` only. */
  readonly unacknowledged?: true | undefined
  /** Created at this time or later, in seconds since the epoch. */
  readonly createdAfter?: Seconds | undefined
  /** Created before this time, in seconds since the epoch. */
  readonly createdBefore?: Seconds | undefined
  /** Records on a page, 1 … 100. Default 50. */
  readonly limit?: number | undefined
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined
}

/** One page of a list. */
export interface RecordPage {
  /** Newest first. */
  readonly items: readonly SubjectTokenRecord[]
  /** The id of the last row that was read. The next page begins after it, if there is one. */
  readonly nextCursor?: string
}

export const listSubjectTokens = timed('list', findPage)

async function findPage(
  { provider, store, options }: Service,
  lookup: Lookup,
  { filter: given, limit, cursor }: ReturnType<typeof parseListRequest>,
): Promise<RecordPage> {
  if (!given) return { items: [] }
  const filter = await withAccounts(lookup, given, options.customClaimsTimeout)
  const now = epochTime()
  const { tokens, next } = await store.list(provider.issuer, filter, { limit, cursor, now })
  return { items: tokens.map((token) => recordOf(token, now)), ...(next && { nextCursor: next }) }
}

const STATES: readonly SubjectTokenState[] = ['active', 'expired', 'consumed', 'revoked']
export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 100

const NAMES = ['userId', 'actorId', 'clientId', 'createdBy', 'jti', 'ticketId'] as const
const FLAGS = ['live', 'replayed', 'withoutActor', 'readOnly'] as const
const TIMES = ['createdAfter', 'createdBefore'] as const
export const QUERY = [...NAMES, 'state', ...FLAGS, 'unacknowledged', ...TIMES, 'limit', 'cursor'] as const

export type Given<Name extends string> = { readonly [Member in Name]?: unknown }

/** A query, each member of which is checked. */
export function parseListRequest(given: Given<(typeof QUERY)[number]>) {
  assertKnown(given, QUERY)
  const { userId, actorId, jti, ...names } = parseEach(given, NAMES, parseName)
  const id = jti === undefined ? undefined : recordIdIn(jti)
  const filter: SubjectTokenFilter = {
    ...names,
    ...(userId !== undefined && { userId: [userId] }),
    ...(actorId !== undefined && { actorId: [actorId] }),
    ...(id !== undefined && { id }),
    ...parseEach(given, ['state'], parseState),
    ...parseEach(given, FLAGS, parseFlag),
    ...parseEach(given, ['unacknowledged'], parseTrue),
    ...parseEach(given, TIMES, parseTime),
  }
  return {
    /** `undefined`: no record can match. */
    filter: jti === undefined || id !== undefined ? filter : undefined,
    limit: DEFAULT_LIMIT,
    ...parseEach(given, ['limit'], (name, value) => parseWhole(name, value, MAX_LIMIT)),
    ...parseEach(given, ['cursor'], parseId),
  }
}

function parseEach<Name extends string, Value>(
  given: Given<Name>,
  names: readonly Name[],
  parse: (name: Name, value: unknown) => Value,
): Partial<Record<Name, Value>> {
  const parsed: Partial<Record<Name, Value>> = {}
  for (const name of names) {
    const value = given[name]
    if (value !== undefined) parsed[name] = parse(name, value)
  }
  return parsed
}

/** The id of the record that a `jti` leads to: its own, or of an access token that came of it. */
const recordIdIn = (jti: string): string | undefined => {
  const [, id = ''] = /^([^.]*)(\.[\w-]{22})?$/.exec(jti) ?? []
  return isId(id) ? id : undefined
}

function parseState(field: string, value: unknown): SubjectTokenState {
  const state = STATES.find((known) => known === value)
  if (!state) throw mustBe(field, `one of ${STATES.join(', ')}`)
  return state
}

function parseTrue(field: string, value: unknown): true {
  if (value !== true) throw mustBe(field, 'true')
  return value
}

/** The latest time that is accepted has twelve digits. */
const LATEST = 999_999_999_999

function parseTime(field: string, value: unknown): Seconds {
  if (!isWhole(value, 0, LATEST)) throw mustBe(field, 'whole seconds since the epoch')
  return value
}

export function parseWhole(field: string, value: unknown, most: number): number {
  if (!isWhole(value, 1, most)) throw mustBe(field, `a whole number from 1 to ${most}`)
  return value
}

const isWhole = (value: unknown, least: number, most: number): value is number =>
  Number.isInteger(value) && Number(value) >= least && Number(value) <= most

function parseId(field: string, value: unknown): string {
  if (!isId(value)) throw mustBe(field, 'the id of a subject token')
  return value
}
