import { invalidRequest } from '../base/errors.ts'
import type { KillFilter } from '../tokens/store.ts'
import type { Revocation } from '../tokens/subject-token.ts'
import { assertKnown, onlyOne, parseName, parseText } from './fields.ts'

/** What is to be stopped, and what is said of it, each member checked (protocol.md §2.2). */
interface StopRequest {
  /** One record, or those of a kill switch. */
  readonly revoked: { readonly id: string } | KillFilter
  /** Who revokes, and why, as the caller says. */
  readonly says: Pick<Revocation, 'by' | 'reason' | 'continuedBy'> & Partial<Pick<Revocation, 'cause'>>
}

/** Whose tokens a kill switch may revoke. */
export const KILLED_BY = ['userId', 'actorId', 'createdBy'] as const

export function parseStopRequest(body: Readonly<Record<string, unknown>>): StopRequest {
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
  if (!cause) throw invalidRequest({ field: 'cause', public: `cause must be ${CAUSES.join(' or ')}` })
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
