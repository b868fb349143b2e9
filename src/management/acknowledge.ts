import { epochTime } from '../clock.ts'
import { isAlarming, isUnacknowledged } from '../subject-tokens/subject-token.ts'
import type { AcknowledgementRequest } from './acknowledgement-request.ts'
import { nothingToAcknowledge, otherReplay } from './errors.ts'
import { findRecord } from './inspect.ts'
import type { ManagementService } from './service.ts'

/** Notes that someone has looked into the alarms that the record has now. */
export async function acknowledgeSubjectToken(
  service: Pick<ManagementService, 'provider' | 'store'>,
  id: string,
  { by, note, replayedAt }: AcknowledgementRequest,
): Promise<void> {
  const token = await findRecord(service, id)
  if (!isAlarming(token)) throw nothingToAcknowledge()
  if (replayedAt !== undefined && replayedAt !== (token.replay?.at ?? null)) throw otherReplay()
  if (!isUnacknowledged(token)) return
  // By what was read: a replay that comes meanwhile is not covered.
  const coversReplay = token.replay !== undefined
  await service.store.acknowledge(token, { at: epochTime(), by, note, coversReplay })
}
