import { epochTime, type Seconds } from '../base/clock.ts'
import { invalidRequest } from '../base/errors.ts'
import type { Service } from '../provider/settings.ts'
import { isAlarming, isUnacknowledged } from '../tokens/subject-token.ts'
import { assertKnown, mustBe, parseName, parseText, required } from './fields.ts'
import { findToken, recordNotFound } from './record.ts'

/** Notes that someone has looked into the alarms that the record has now. */
export async function acknowledgeSubjectToken(
  service: Service,
  id: string,
  { by, note, replayedAt }: ReturnType<typeof parseAcknowledgementRequest>,
): Promise<void> {
  const token = await findToken(service, id)
  if (!token) throw recordNotFound()
  if (!isAlarming(token)) throw conflict('the subject token has no alarm')
  if (replayedAt !== undefined && replayedAt !== (token.replay?.at ?? null))
    throw conflict('replayedAt is not the replay of the subject token')
  if (!isUnacknowledged(token)) return
  // The record as it was read decides: a replay that comes meanwhile is not covered.
  const coversReplay = token.replay !== undefined
  await service.store.acknowledge(token, { at: epochTime(), by, note, coversReplay })
}

const conflict = (text: string) => invalidRequest({ status: 409, public: text })

const FIELDS = ['by', 'note', 'replayedAt']

/**
 * An acknowledgement of a record's alarms (protocol.md §2.2): who has looked into it, what they found, and the replay that they
 * saw, `null` if there was none.
 */
export function parseAcknowledgementRequest(given: Readonly<Record<string, unknown>>) {
  assertKnown(given, FIELDS)
  const { by, note, replayedAt } = given
  for (const [field, value] of Object.entries({ by, note })) if (value === undefined) throw required(field)
  return {
    by: parseName('by', by),
    note: parseText('note', note),
    ...(replayedAt !== undefined && { replayedAt: parseReplayedAt(replayedAt) }),
  }
}

function parseReplayedAt(value: unknown): Seconds | null {
  if (value === null || (Number.isSafeInteger(value) && Number(value) >= 0)) return value as Seconds | null
  throw mustBe('replayedAt', 'whole seconds since the epoch, or null')
}
