import type { Seconds } from '../clock.ts'
import type { SubjectTokenRecord } from '../management/inspect.ts'
import { cut, type Lengths, USUAL } from './cut.ts'
import { type Html, html } from './html.ts'
import type { Names } from './people.ts'
import { clockOf, lengthOf } from './words.ts'

/** Whether someone acts as the user right now. */
export const isLive = ({ state, accessToken }: SubjectTokenRecord, now: Seconds): boolean =>
  state === 'consumed' && accessToken !== undefined && accessToken.expiresAt > now

/** Whether there is something left to stop. */
export const canStop = (record: SubjectTokenRecord, now: Seconds): boolean =>
  record.state === 'active' || isLive(record, now)

/** The state as a person would say it, and a line of detail. `names` holds those of the record. */
export function stateCell(
  record: SubjectTokenRecord,
  names: Names,
  now: Seconds,
  lengths: Lengths = USUAL,
): Html {
  const { state, replay, revocation } = record
  const wasReplayed = replay !== undefined && revocation?.cause !== 'replay'
  return html`${wasReplayed && pill('bad', 'used again')}${state === 'revoked' ? stopped(record, names, now, lengths) : unstopped(record, now)}`
}

function stopped(
  { revocation, revokedAt = 0, replay }: SubjectTokenRecord,
  names: Names,
  now: Seconds,
  { name, text }: Lengths,
): Html {
  if (revocation?.cause === 'replay')
    return html`${pill('bad', 'used again')}<small>by <bdi>${cut(name, replay?.clientId ?? '')}</bdi>, ${clockOf(revokedAt, now)}</small>`
  const { by, reason } = revocation ?? {}
  return html`${pill('warn', 'stopped')}<small>${by !== undefined && html`by ${names.short(by, name)}`} ${
    reason !== undefined && html`“<bdi>${cut(text, reason)}</bdi>”`
  }</small>`
}

function unstopped(record: SubjectTokenRecord, now: Seconds): Html {
  const { state, accessToken, expiresAt, consumedAt = 0 } = record
  if (isLive(record, now)) {
    const until = accessToken?.expiresAt ?? now
    const left = html`<span data-until="${until}">${lengthOf(until - now)}</span>`
    return html`${pill('live', html`live · ${left}`)}`
  }
  if (state === 'active')
    return html`${pill('', 'not used yet')}<small>until ${clockOf(expiresAt, now)}</small>`
  if (state === 'expired') return pill('', 'never used')
  const length = (accessToken?.expiresAt ?? consumedAt) - consumedAt
  return pill('', `ended after ${lengthOf(length)}`)
}

const pill = (kind: '' | 'live' | 'warn' | 'bad', text: Html | string): Html =>
  html`<b class="pill ${kind}">${text}</b>`
