/** Which records a filter means. A store may find them by indexes; what it means is said here. */
import type { Seconds } from '../base/clock.ts'
import { subsOf } from './actor-chain.ts'
import { earliestId } from './id.ts'
import type { KillFilter, SubjectTokenFilter } from './store.ts'
import { isLive, isUnacknowledged, type SubjectToken, stateOf } from './subject-token.ts'

export function matches(token: SubjectToken, filter: SubjectTokenFilter, now: Seconds): boolean {
  const { id, userId, actorId, clientId, createdBy, ticketId, state } = filter
  const { live, replayed, withoutActor, readOnly, unacknowledged, createdAfter, createdBefore } = filter
  const actors = [token.actorId, ...subsOf(token.use?.actor)]
  const clients = [token.clientId, token.use?.clientId]
  return (
    (id === undefined || token.id === id) &&
    (!userId || userId.includes(token.userId)) &&
    (!actorId || actorId.some((name) => actors.includes(name))) &&
    (clientId === undefined || clients.includes(clientId)) &&
    (createdBy === undefined || token.createdBy === createdBy) &&
    (ticketId === undefined || token.context.ticketId === ticketId) &&
    (state === undefined || stateOf(token, now) === state) &&
    (live === undefined || isLive(token, now) === live) &&
    (replayed === undefined || (token.replay !== undefined) === replayed) &&
    (withoutActor === undefined || (token.use !== undefined && !token.use.actor) === withoutActor) &&
    (readOnly === undefined || (token.readOnly === true) === readOnly) &&
    (!unacknowledged || isUnacknowledged(token)) &&
    isCreatedIn(token, createdAfter, createdBefore)
  )
}

/** Whether the time in the id is in this range. */
export const isCreatedIn = (
  { id }: SubjectToken,
  from: Seconds | undefined,
  until: Seconds | undefined,
): boolean =>
  (from === undefined || id >= earliestId(from)) && (until === undefined || id < earliestId(until))

/** The filter of lists that finds what a kill switch stops. */
export function namesOf(filter: KillFilter): SubjectTokenFilter {
  if ('userId' in filter) return { userId: [filter.userId] }
  return 'actorId' in filter ? { actorId: [filter.actorId] } : filter
}
