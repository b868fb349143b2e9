/** A step that says that someone has looked into the alarms of a record (docs/protocol.md §2.2, M170 to M176). */
import { expect } from 'chai'
import { now } from '../../../fixtures/clock.ts'
import { defined, isAlarming, isUnacknowledged, type Lane, type Token } from './model.ts'
import { expectRecord } from './reading.ts'
import type { Acknowledge } from './steps.ts'
import { expectRefused, other, tokenOf, type Walk } from './walk.ts'

const NOTE = 'a walk'

export async function acknowledge(walk: Walk, lane: Lane, step: Acknowledge): Promise<void> {
  const alarming = lane.tokens.filter((token) => isAlarming(token))
  const token = alarming[step.token % alarming.length] ?? tokenOf(lane, step.token)
  if (!token) return
  const { by, astray } = step
  const replayedAt = seenBy(step, token)
  const response = await walk.manage(lane, astray ? other(token.issuer) : token.issuer, {
    method: 'POST',
    path: `/${token.id}/acknowledgement`,
    body: defined({ by, note: NOTE, replayedAt }),
  })
  if (astray || token.purged)
    return expectRefused(walk, response, { status: 404, error: 'not_found', text: 'subject token not found' })
  const conflict = conflictOf(token, replayedAt)
  if (conflict !== undefined)
    return expectRefused(walk, response, { status: 409, error: 'invalid_request', text: conflict })
  expect([response.status, response.text]).to.deep.equal([204, ''])
  if (isUnacknowledged(token)) {
    const given = { at: now(), by, note: NOTE, coversReplay: token.replay !== undefined }
    token.acknowledged = [...(token.acknowledged ?? []), given]
  }
  await expectRecord(walk, lane, token)
}

function seenBy({ saw }: Acknowledge, { replay }: Token): number | null | undefined {
  if (saw === undefined) return undefined
  if (saw === 'none') return null
  return saw === 'another' ? (replay?.at ?? now()) + 1 : (replay?.at ?? null)
}

function conflictOf(token: Token, replayedAt: number | null | undefined): string | undefined {
  if (!isAlarming(token)) return 'the subject token has no alarm'
  const isOther = replayedAt !== undefined && replayedAt !== (token.replay?.at ?? null)
  return isOther ? 'replayedAt is not the replay of the subject token' : undefined
}
