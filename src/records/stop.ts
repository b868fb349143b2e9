import { epochTime, type Seconds } from '../base/clock.ts'
import { invalidRequest } from '../base/errors.ts'
import { emit, type SubjectTokenRevoked } from '../events.ts'
import { timed } from '../metrics/metrics.ts'
import { endAccessToken } from '../provider/access-token.ts'
import { storageUnavailable } from '../provider/outage.ts'
import type { Service } from '../provider/settings.ts'
import { isId } from '../tokens/id.ts'
import type { KillFilter, Revoked, RevokedToken } from '../tokens/store.ts'
import { isUnexpired, jtiOf, type Revocation, shownRevocation } from '../tokens/subject-token.ts'
import { forAccount, type Lookup } from './accounts.ts'
import { assertKnown, mustBe, onlyOne, parseName, parseText } from './fields.ts'
import { findToken, recordNotFound } from './record.ts'

/** How many impersonations a call has stopped: none when it is repeated, and those that an earlier one left unfinished. */
export interface Stopped {
  readonly revoked: number
  /** How many of them nothing could end. Absent if there are none. */
  readonly kept?: number
}

/** Stops one: an unused token can no longer be exchanged, what it was exchanged for ends. */
export const revokeSubjectToken = timed('stop', stopOne)

async function stopOne(
  service: Service,
  id: string,
  revocation: Revocation,
  { request }: Pick<Lookup, 'request'> = {},
): Promise<Stopped> {
  const { provider, store } = service
  const now = epochTime()
  if (revocation.continuedBy !== undefined) await assertContinues(service, id, revocation.continuedBy)
  const revoked = isId(id) ? await store.revoke(provider.issuer, id, now, revocation) : undefined
  if (!revoked) throw recordNotFound()
  return stoppedBy([await carryOut(service, [revoked], { now, request })])
}

/** One impersonation goes on in another one, of the same user. */
async function assertContinues(service: Service, id: string, continuedBy: string): Promise<void> {
  const [ended, other] = await Promise.all([findToken(service, id), findToken(service, continuedBy)])
  if (!ended) throw recordNotFound()
  const field = 'continuedBy'
  if (!other || other.id === ended.id || other.userId !== ended.userId)
    throw invalidRequest({ field, public: 'continuedBy must be the id of another record of the same user' })
  if (ended.readOnly && !other.readOnly)
    throw invalidRequest({ field, public: 'continuedBy must be the id of a read-only record' })
}

/**
 * The kill switch. It stops by the name as given first, and then by the account that it is an alias of: a slow `findAccount`
 * must not delay it.
 */
export const revokeSubjectTokens = timed('stop', stopAll)

async function stopAll(
  service: Service,
  lookup: Lookup,
  given: KillFilter,
  revocation: Revocation,
): Promise<Stopped> {
  const { provider, store, options } = service
  const { request } = lookup
  const now = epochTime()
  const outcomes: Outcome[] = []
  const revokeAll = async (filter: KillFilter) => {
    try {
      for await (const batch of store.revokeWhere(provider.issuer, filter, now, revocation))
        outcomes.push(await carryOut(service, batch, { now, request }))
    } catch (error) {
      outcomes.push({ told: [], failures: [error] })
    }
  }
  await revokeAll(given)
  const account = await forAccount(lookup, given, options.customClaimsTimeout)
  if (account) await revokeAll(account)
  return stoppedBy(outcomes)
}

/** When a call stops, and for which request. */
interface Call {
  readonly now: Seconds
  readonly request: string | undefined
}

interface Outcome {
  /** The tokens that this request ended and reported. */
  readonly told: readonly RevokedToken[]
  /** They keep nothing else alive. */
  readonly failures: readonly unknown[]
}

/** @throws what failed first. The rest was stopped all the same. */
function stoppedBy(outcomes: readonly Outcome[]): Stopped {
  const [failure] = outcomes.flatMap(({ failures }) => failures)
  if (failure !== undefined) throw failure
  const told = outcomes.flatMap((outcome) => outcome.told)
  const kept = told.filter(({ use }) => use?.accessToken.kept).length
  return { revoked: told.length, ...(kept > 0 && { kept }) }
}

/**
 * Ends the access tokens of what was stopped, then reports and tells it: a report that storage refuses keeps no token
 * alive, and what could not be ended stays unreported, so that a repeated request completes it.
 */
async function carryOut(service: Service, batch: readonly Revoked[], call: Call): Promise<Outcome> {
  const { provider, store } = service
  const failures: unknown[] = []
  const ended: RevokedToken[] = []
  const unreported = batch.filter((revoked) => revoked.unreported)
  await forEach(unreported, AT_ONCE, async ({ token }) => {
    try {
      await endProduced(service, token)
      ended.push(token)
    } catch (error) {
      failures.push(storageUnavailable(error))
    }
  })
  if (ended.length === 0) return { told: [], failures }
  try {
    const ids = ended.map(({ id }) => id)
    const reported = new Set(await store.report(provider.issuer, ids))
    const told = ended.filter(({ id }) => reported.has(id))
    for (const token of told) emit(provider, 'subject_token.revoked', payloadOf(token, call))
    return { told, failures }
  } catch (error) {
    return { told: [], failures: [...failures, error] }
  }
}

/** Ends what a use has produced: an access token, or a session. */
export async function endProduced(
  { provider, sessions }: Service,
  { use }: Pick<RevokedToken, 'use'>,
): Promise<void> {
  if (use?.grantId === undefined) return
  if (use.accessToken.format === 'session') await sessions.end(provider, use.grantId)
  else await endAccessToken(provider, use.grantId)
}

/** Tokens that are ended at the same time: they share the round trips of the adapter. */
const AT_ONCE = 32

async function forEach<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  const worker = async () => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

function payloadOf(token: RevokedToken, { now, request }: Call): SubjectTokenRevoked {
  const { id, userId, actorId, clientId, use } = token
  const revocation = shownRevocation(token) ?? { cause: 'unknown' }
  return {
    id,
    userId,
    actorId: use?.actor?.sub ?? actorId,
    clientId: use?.clientId ?? clientId,
    revokedBy: revocation.client,
    revocation,
    jti: jtiOf(token),
    ended: use && (isUnexpired({ use }, now) ? (use.accessToken.kept ? 'kept' : 'now') : 'expired'),
    request,
  }
}

/** The names by which a kill switch finds tokens. */
export const KILLED_BY = ['userId', 'actorId', 'createdBy'] as const

/** One record, or those of a kill switch, and who stops it and why, as the caller says (protocol.md §2.2). */
export function parseStopRequest(body: Readonly<Record<string, unknown>>) {
  assertKnown(body, ['id', ...KILLED_BY, 'by', 'reason', 'cause', 'continuedBy'])
  const given = onlyOne(body, ['id', ...KILLED_BY])
  const { by, reason, cause } = body
  if (cause !== undefined && given !== 'id')
    throw invalidRequest({ field: 'cause', public: `cause must not come with ${given}` })
  return {
    revoked: given === 'id' ? { id: parseName('id', body.id) } : killFilterOf(given, body),
    says: {
      ...(by !== undefined && { by: parseName('by', by) }),
      ...(reason !== undefined && { reason: parseText('reason', reason) }),
      ...(cause !== undefined && { cause: parseCause(cause) }),
      ...parseContinuedBy(body),
    },
  }
}

export function killFilterOf(
  by: (typeof KILLED_BY)[number],
  given: Readonly<Record<string, unknown>>,
): KillFilter {
  const name = parseName(by, given[by])
  if (by === 'userId') return { userId: name }
  return by === 'actorId' ? { actorId: name } : { createdBy: name }
}

/** The causes that a caller may name for one record, in place of that of the route. */
const CAUSES = ['self', 'continued'] as const

function parseCause(value: unknown): (typeof CAUSES)[number] {
  const cause = CAUSES.find((known) => known === value)
  if (!cause) throw mustBe('cause', CAUSES.join(' or '))
  return cause
}

/** The record that goes on. Whether it may be this one is known where the records are. */
function parseContinuedBy({
  cause,
  continuedBy,
}: Readonly<Record<string, unknown>>): Pick<Revocation, 'continuedBy'> {
  const field = 'continuedBy'
  if (cause === 'continued') {
    if (continuedBy === undefined)
      throw invalidRequest({ field, public: 'continuedBy is required with the cause continued' })
    return { continuedBy: parseName('continuedBy', continuedBy) }
  }
  if (continuedBy === undefined) return {}
  throw invalidRequest({ field, public: 'continuedBy must come with the cause continued' })
}

/** Stops what was asked for. `revocation` is how the call came about, unless it says so itself. */
export const revokeAsAsked = (
  service: Service,
  lookup: Lookup,
  { revoked, says }: ReturnType<typeof parseStopRequest>,
  revocation: Revocation,
): Promise<Stopped> =>
  'id' in revoked
    ? revokeSubjectToken(service, revoked.id, { ...revocation, ...says }, lookup)
    : revokeSubjectTokens(service, lookup, revoked, { ...revocation, ...says })
