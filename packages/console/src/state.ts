/** The state of a record by what it means to the reader: its words and colours are here and in no other place. */
import type { Seconds, SubjectTokenRecord } from 'oidc-provider-impersonation'
import { type Html, html, isLive, isStoppable, type Value } from 'oidc-provider-impersonation/inside'
import type { People } from './people.ts'
import { lengthOf, timeOf } from './words.ts'

/** Someone acts; an ordinary end, or nothing yet; someone else has stopped it; it was used again. Colours of design.css. */
type Tone = 'live' | 'ended' | 'stopped' | 'alarm'

const STATES = {
  live: ['live', 'Live'],
  kept: ['alarm', 'Stopped, still live'],
  active: ['ended', 'Not used yet'],
  expired: ['ended', 'Never used'],
  consumed: ['ended', 'Expired'],
  self: ['ended', 'Stopped by the engineer'],
  continued: ['ended', 'Continued'],
  signedOut: ['ended', 'Signed out'],
  stopped: ['stopped', 'Stopped'],
  replayed: ['alarm', 'Reused token'],
} as const satisfies Readonly<Record<string, readonly [Tone, string]>>

/** Whether it was stopped, and nothing could end its access token. */
const isKept = ({ revocation }: SubjectTokenRecord): boolean => revocation?.ended === 'kept'

/** The end of what the use has produced: an access token, or a session. */
const usableUntil = ({ accessToken, session }: SubjectTokenRecord): Seconds | undefined =>
  accessToken?.expiresAt ?? session?.endsAt

function lifeOf(record: SubjectTokenRecord) {
  const expiresAt = usableUntil(record)
  return {
    ...record,
    use: expiresAt === undefined ? undefined : { accessToken: { expiresAt, kept: isKept(record) } },
  }
}

/** Whether someone acts as the user at this time. */
export const isLiveRecord = (record: SubjectTokenRecord, now: Seconds): boolean => isLive(lifeOf(record), now)

/** Whether there is something left to stop. */
export const isStoppableRecord = (record: SubjectTokenRecord, now: Seconds): boolean =>
  isStoppable(lifeOf(record), now)

/** When it ends or would have: the access token or the session, or before there is one the subject token. */
export const endOf = (record: SubjectTokenRecord): Seconds =>
  usableUntil(record) ?? record.consumedAt ?? record.expiresAt

/** The words for an access token that nothing can end, while it lives. */
export const keptUntil = (record: SubjectTokenRecord, now: Seconds): Value =>
  isKept(record) &&
  isLiveRecord(record, now) &&
  html`cannot be ended, expires at ${timeOf(endOf(record), now)}`

/** How long someone could act, or has until now. */
export function lastedOf(record: SubjectTokenRecord, now: Seconds): Seconds | undefined {
  const { consumedAt, revokedAt = now } = record
  if (consumedAt === undefined) return undefined
  return Math.max(0, Math.min(isKept(record) ? now : revokedAt, endOf(record), now) - consumedAt)
}

function kindOf(record: SubjectTokenRecord, now: Seconds): keyof typeof STATES {
  const { state, replay, revocation: { cause } = {} } = record
  if (replay || cause === 'replay') return 'replayed'
  if (isLiveRecord(record, now)) return isKept(record) ? 'kept' : 'live'
  if (state !== 'revoked') return state
  return cause === 'self' || cause === 'continued' || cause === 'signedOut' ? cause : 'stopped'
}

/** The words of the pages, of the CSV, and of the support desk of the example. */
export const wordOf = (record: SubjectTokenRecord, now: Seconds): string => STATES[kindOf(record, now)][1]

/** A pill; beside it how long it lasted, for how much longer it lives, or until when it can be used; what could be done. */
export function stateCell(record: SubjectTokenRecord, now: Seconds, people: People): Html {
  const kind = kindOf(record, now)
  const [tone, word] = STATES[kind]
  const { revocation: { by } = {} } = record
  const who = kind === 'stopped' && by !== undefined && html` by ${people.short(by)}`
  return html`<b class="pill ${tone}">${word}${who}</b> ${detailOf(record, now)}${sessionOf(record)} ${mayOf(record)}`
}

/** Whether the engineer can change things: a warning unless the record is read-only. */
const mayOf = ({ readOnly }: SubjectTokenRecord): Html =>
  readOnly === true ? html`<small>Read only</small>` : html`<b class="changes">Can change things</b>`

/** The mark of a session: in red where its application goes on, or may do so. */
function sessionOf({ session }: SubjectTokenRecord): Value {
  if (!session) return false
  const goesOn = { unsupported: 'cannot be told', gaveUp: 'not confirmed' }[String(session.logout)]
  return goesOn === undefined ? html` <small>session</small>` : html` <b class="alarm">session, ${goesOn}</b>`
}

function detailOf(record: SubjectTokenRecord, now: Seconds): Value {
  const end = endOf(record)
  const kept = keptUntil(record, now)
  if (kept) return html`<small>${kept}</small>`
  if (isLiveRecord(record, now)) return html`<small data-until="${end}">${lengthOf(end - now)}</small>`
  if (record.state === 'active') return html`<small>until ${timeOf(end, now)}</small>`
  const lasted = lastedOf(record, now)
  return lasted !== undefined && html`<small>${lengthOf(lasted)}</small>`
}
