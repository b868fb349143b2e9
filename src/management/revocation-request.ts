import { isStorableWithin } from '../plain-json.ts'
import type { KillFilter } from '../subject-tokens/store.ts'
import type { Revocation } from '../subject-tokens/subject-token.ts'
import { invalidRequest } from './errors.ts'
import { assertKnown, onlyOne, parseName } from './fields.ts'

/** The body of `POST /subject-tokens/revocations`, each field checked (protocol.md §2.2). */
export interface RevocationRequest {
  /** One record, or those of a kill switch. */
  readonly revoked: { readonly id: string } | KillFilter
  /** Who revokes, and why, as the caller says. */
  readonly says: Pick<Revocation, 'by' | 'reason'>
}

/** Whose tokens a kill switch may revoke. */
export const KILLED_BY = ['userId', 'actorId', 'createdBy'] as const

const MAX_REASON_LENGTH = 1000

export function parseRevocationRequest(body: Record<string, unknown>): RevocationRequest {
  assertKnown(body, ['id', ...KILLED_BY, 'by', 'reason'])
  const given = onlyOne(body, ['id', ...KILLED_BY])
  const { by, reason } = body
  return {
    revoked: given === 'id' ? { id: parseName('id', body.id) } : killFilterOf(given, body),
    says: {
      ...(by !== undefined && { by: parseName('by', by) }),
      ...(reason !== undefined && { reason: parseReason(reason) }),
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

function parseReason(value: unknown): string {
  if (isStorableWithin(MAX_REASON_LENGTH, value) && value.trim() !== '') return value
  throw invalidRequest({
    public: `reason must be a string of 1 to ${MAX_REASON_LENGTH} characters, and must not be blank`,
  })
}
