import type { Seconds } from '../clock.ts'
import { invalidRequest } from './errors.ts'
import { assertKnown, parseName, parseText } from './fields.ts'

/** The body of `POST /subject-tokens/{id}/acknowledgement`, each field checked (protocol.md §2.2). */
export interface AcknowledgementRequest {
  /** Who has looked into it, and what they found: the caller's words. */
  readonly by: string
  readonly note: string
  /** The replay that they saw, `null` if there was none. `undefined`: whatever there is. */
  readonly replayedAt?: Seconds | null
}

const FIELDS = ['by', 'note', 'replayedAt'] as const

export function parseAcknowledgementRequest(body: Record<string, unknown>): AcknowledgementRequest {
  assertKnown(body, FIELDS)
  const { by, note, replayedAt } = body
  for (const [field, value] of Object.entries({ by, note }))
    if (value === undefined) throw invalidRequest({ public: `${field} is required` })
  return {
    by: parseName('by', by),
    note: parseText('note', note),
    ...(replayedAt !== undefined && { replayedAt: parseReplayedAt(replayedAt) }),
  }
}

function parseReplayedAt(value: unknown): Seconds | null {
  if (value === null || (Number.isSafeInteger(value) && Number(value) >= 0)) return value as Seconds | null
  throw invalidRequest({ public: 'replayedAt must be whole seconds since the epoch, or null' })
}
