import type { Seconds } from '../clock.ts'
import { isId } from '../subject-tokens/id.ts'
import type { KillFilter, SubjectTokenFilter } from '../subject-tokens/store.ts'
import type { SubjectTokenState } from '../subject-tokens/subject-token.ts'
import { invalidRequest } from './errors.ts'
import { onlyOne, parseName, unknownName } from './fields.ts'
import { KILLED_BY, killFilterOf } from './revocation-request.ts'
import { MAX_DAYS } from './summary.ts'

/** Which records `GET /subject-tokens` selects, and which page of them (protocol.md §2.2). */
export interface ListRequest {
  /** `undefined`: no record can match. */
  readonly filter: SubjectTokenFilter | undefined
  readonly limit: number
  readonly cursor?: string
}

const STATES: readonly SubjectTokenState[] = ['active', 'expired', 'consumed', 'revoked']
export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 100

const NAMES = ['userId', 'actorId', 'clientId', 'createdBy', 'jti', 'ticketId'] as const
const FLAGS = ['live', 'replayed', 'withoutActor'] as const
const TIMES = ['createdAfter', 'createdBefore'] as const

export function parseListRequest(query: string): ListRequest {
  const given = single(query, [...NAMES, 'state', ...FLAGS, 'unacknowledged', ...TIMES, 'limit', 'cursor'])
  const { state, unacknowledged, limit, cursor } = given
  const { userId, actorId, jti, ...names } = parseEach(given, NAMES, parseName)
  const id = jti === undefined ? undefined : recordIdIn(jti)
  const filter: SubjectTokenFilter = {
    ...names,
    ...(userId !== undefined && { userId: [userId] }),
    ...(actorId !== undefined && { actorId: [actorId] }),
    ...(id !== undefined && { id }),
    ...(state !== undefined && { state: parseState(state) }),
    ...parseEach(given, FLAGS, parseFlag),
    ...(unacknowledged !== undefined && { unacknowledged: parseTrue('unacknowledged', unacknowledged) }),
    ...parseEach(given, TIMES, parseTime),
  }
  return {
    filter: jti === undefined || id !== undefined ? filter : undefined,
    limit: limit === undefined ? DEFAULT_LIMIT : parseLimit(limit),
    ...(cursor !== undefined && { cursor: parseId('cursor', cursor) }),
  }
}

function parseEach<Name extends string, Value>(
  given: Readonly<Partial<Record<Name, string>>>,
  names: readonly Name[],
  parse: (name: Name, value: string) => Value,
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

function parseTrue(parameter: string, value: string): true {
  if (value === 'true') return true
  throw invalidRequest({ public: `${parameter} must be true` })
}

function parseFlag(parameter: string, value: string): boolean {
  if (value === 'true') return true
  if (value === 'false') return false
  throw invalidRequest({ public: `${parameter} must be true or false` })
}

function parseTime(parameter: string, value: string): Seconds {
  if (/^(0|[1-9]\d{0,11})$/.test(value)) return Number(value)
  throw invalidRequest({ public: `${parameter} must be whole seconds since the epoch` })
}

/** Whose tokens the kill switch revokes: of one user, one actor or one backend. */
export function parseKillRequest(query: string): KillFilter {
  const given = single(query, KILLED_BY)
  return killFilterOf(onlyOne(given, KILLED_BY), given)
}

const DEFAULT_DAYS = 30

/** How many days a summary has. */
export function parseSummaryRequest(query: string): number {
  const { days } = single(query, ['days'])
  if (days === undefined) return DEFAULT_DAYS
  const given = /^[1-9]\d?$/.test(days) ? Number(days) : 0
  if (given < 1 || given > MAX_DAYS)
    throw invalidRequest({ public: `days must be a whole number from 1 to ${MAX_DAYS}` })
  return given
}

/** Refuses every parameter: one that is ignored would promise something. */
export function assertNoQuery(query: string): void {
  single(query, [])
}

function parseId(parameter: string, value: string): string {
  if (!isId(value)) throw invalidRequest({ public: `${parameter} must be the id of a subject token` })
  return value
}

function parseState(value: string): SubjectTokenState {
  const state = STATES.find((known) => known === value)
  if (!state) throw invalidRequest({ public: `state must be one of ${STATES.join(', ')}` })
  return state
}

function parseLimit(value: string): number {
  const limit = /^[1-9]\d{0,2}$/.test(value) ? Number(value) : 0
  if (limit < 1 || limit > MAX_LIMIT)
    throw invalidRequest({ public: `limit must be a whole number from 1 to ${MAX_LIMIT}` })
  return limit
}

/** Each of the known parameters once, and no other. */
export function single<Name extends string>(
  query: string,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const given: Partial<Record<Name, string>> = {}
  for (const [parameter, value] of decode(query)) {
    const name = names.find((known) => known === parameter)
    if (!name) throw unknownName('parameter', parameter)
    if (given[name] !== undefined) throw invalidRequest({ public: `${name} must not be repeated` })
    given[name] = value
  }
  return given
}

/** `URLSearchParams` accepts anything; what is not UTF-8 is refused instead of guessed. */
function decode(query: string): URLSearchParams {
  try {
    decodeURIComponent(query)
  } catch {
    throw invalidRequest({ public: 'the query is malformed' })
  }
  return new URLSearchParams(query)
}
