import type { Seconds } from '../clock.ts'
import type { SubjectTokenRecord } from '../records/record.ts'
import * as domain from '../subject-tokens/subject-token.ts'
import { type Html, html, type Value } from './html.ts'
import { short } from './people.ts'
import { clockOf, cut, lengthOf, TEXT } from './words.ts'

/** Whether someone acts as the user right now. */
export const isLive = (record: SubjectTokenRecord, now: Seconds): boolean =>
  domain.isLive(lifeOf(record), now)

/** Whether it was stopped, and nothing could end its access token. */
const isKept = ({ revocation }: SubjectTokenRecord): boolean => revocation?.ended === 'kept'

/** Whether there is something left to stop. */
export const canStop = (record: SubjectTokenRecord, now: Seconds): boolean =>
  domain.isStoppable(lifeOf(record), now)

const lifeOf = (record: SubjectTokenRecord) => {
  const { accessToken } = record
  const use = accessToken && { accessToken: { ...accessToken, kept: isKept(record) } }
  return { ...record, use }
}

/** Whether those who acted have stopped it. */
export const isEnded = ({ revocation }: SubjectTokenRecord): boolean =>
  revocation !== undefined && domain.isEnd(revocation)

/** That nothing can end the access token, while it lives. */
export const keptUntil = (record: SubjectTokenRecord, now: Seconds): Value =>
  isKept(record) && isLive(record, now) && html`cannot be ended, expires at ${clockOf(endOf(record), now)}`

/** When it ends: the access token, or before there is one the subject token. */
export const endOf = ({ accessToken, consumedAt, expiresAt }: SubjectTokenRecord): Seconds =>
  accessToken?.expiresAt ?? consumedAt ?? expiresAt

const pill = (kind: '' | 'live' | 'warn' | 'bad', text: Value, detail?: Html): Html =>
  html`<b class="pill ${kind}">${text}</b>${detail && html`<small>${detail}</small>`}`

/** The state as a person would say it, and a line of detail. */
export function stateCell(record: SubjectTokenRecord, now: Seconds): Html {
  const { replay, revocation, revokedAt = 0 } = record
  if (revocation?.cause !== 'replay' || isLive(record, now))
    return html`${replay && pill('bad', 'used again')}${stateOf(record, now)}`
  const by = html`by <bdi>${cut(replay?.clientId ?? replay?.by ?? '')}</bdi>, ${clockOf(revokedAt, now)}`
  return pill('bad', 'used again', by)
}

function stateOf(record: SubjectTokenRecord, now: Seconds): Html {
  const { state, revocation: { by, reason } = {}, consumedAt = 0, expiresAt } = record
  const end = endOf(record)
  if (isLive(record, now)) {
    const kept = keptUntil(record, now)
    const text = html`live · <span data-until="${end}">${lengthOf(end - now)}</span>`
    return pill(kept ? 'bad' : 'live', text, kept ? html`stopped: ${kept}` : undefined)
  }
  switch (state) {
    case 'active':
      return pill('', 'not used yet', html`until ${clockOf(expiresAt, now)}`)
    case 'expired':
      return pill('', 'never used')
    case 'consumed':
      return pill('', `ended after ${lengthOf(end - consumedAt)}`)
    case 'revoked': {
      const why = reason !== undefined && html`“<bdi>${cut(reason, TEXT)}</bdi>”`
      const who = html`${by !== undefined && html`by ${short(by)} `}${why}`
      return isEnded(record) ? pill('', 'ended', who) : pill('warn', 'stopped', who)
    }
  }
}
