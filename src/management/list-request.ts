import { invalidField } from '../refusals.ts'
import type { KillFilter, SubjectTokenFilter } from '../subject-tokens/store.ts'
import type { SubjectTokenState } from '../subject-tokens/subject-token.ts'
import { text } from './issue-request.ts'

/** Which tokens `GET /subject-tokens` asks for, and which page of them (CONTRACT §2.2). */
export interface ListRequest {
  readonly filter: SubjectTokenFilter
  readonly limit: number
  readonly cursor?: string
}

const STATES: readonly SubjectTokenState[] = ['active', 'expired', 'consumed', 'revoked']
const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100

export function parseListRequest(query: string): ListRequest {
  const given = single(query, ['userId', 'actorId', 'clientId', 'createdBy', 'state', 'limit', 'cursor'])
  const { userId, actorId, clientId, createdBy, state, limit, cursor } = given
  return {
    filter: {
      ...(userId !== undefined && { userId: [text('userId', userId)] }),
      ...(actorId !== undefined && { actorId: [text('actorId', actorId)] }),
      ...(clientId !== undefined && { clientId: text('clientId', clientId) }),
      ...(createdBy !== undefined && { createdBy: text('createdBy', createdBy) }),
      ...(state !== undefined && { state: parseState(state) }),
    },
    limit: limit === undefined ? DEFAULT_LIMIT : parseLimit(limit),
    ...(cursor !== undefined && { cursor: parseId('cursor', cursor) }),
  }
}

/** Whose tokens the kill switch ends: of one user, of one actor, or of one backend. */
export function parseKillRequest(query: string): KillFilter {
  const { userId, actorId, createdBy } = single(query, ['userId', 'actorId', 'createdBy'])
  const [first, second] = Object.entries({ userId, actorId, createdBy }).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  )
  if (second !== undefined) throw invalidField(second, `must not come with ${first}`)
  if (userId !== undefined) return { userId: text('userId', userId) }
  if (actorId !== undefined) return { actorId: text('actorId', actorId) }
  if (createdBy !== undefined) return { createdBy: text('createdBy', createdBy) }
  throw invalidField('userId, actorId or createdBy', 'is required')
}

/** Takes no parameters: one that is ignored would promise something. */
export function assertNoQuery(query: string): void {
  single(query, [])
}

const ID = /^[0-9a-f]{32}$/

/** Ids that cannot be ours are not looked up. */
export const isId = (value: string): boolean => ID.test(value)

function parseId(parameter: string, value: string): string {
  if (!isId(value)) throw invalidField(parameter, 'must be the id of a subject token')
  return value
}

function parseState(value: string): SubjectTokenState {
  const state = STATES.find((known) => known === value)
  if (!state) throw invalidField('state', `must be one of ${STATES.join(', ')}`)
  return state
}

function parseLimit(value: string): number {
  const limit = /^[1-9]\d{0,2}$/.test(value) ? Number(value) : 0
  if (limit < 1 || limit > MAX_LIMIT)
    throw invalidField('limit', `must be a whole number from 1 to ${MAX_LIMIT}`)
  return limit
}

/** Each of the known parameters once, and no other. */
function single<Name extends string>(query: string, names: readonly Name[]): Partial<Record<Name, string>> {
  const given: Partial<Record<Name, string>> = {}
  for (const [parameter, value] of decode(query)) {
    const name = names.find((known) => known === parameter)
    if (!name)
      throw invalidField(/^\w{1,64}$/.test(parameter) ? parameter : 'a query parameter', 'is unknown')
    if (given[name] !== undefined) throw invalidField(name, 'must not be repeated')
    given[name] = value
  }
  return given
}

/** `URLSearchParams` reads anything; what is no UTF-8 is refused instead of guessed. */
function decode(query: string): URLSearchParams {
  try {
    decodeURIComponent(query)
  } catch {
    throw invalidField('the query', 'is malformed')
  }
  return new URLSearchParams(query)
}
