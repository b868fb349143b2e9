import type { Seconds } from '../clock.ts'
import type { SubjectTokenRecord } from '../management/inspect.ts'
import type { Revocation } from '../subject-tokens/subject-token.ts'
import { type Html, html } from './html.ts'
import type { Names } from './people.ts'
import { clockOf, lengthOf } from './words.ts'

interface Happening {
  readonly at: Seconds
  readonly kind: '' | 'bad' | 'warn' | 'future'
  readonly text: Html
}

/** What happened to a subject token, oldest first, and when what is under way will end. */
export function timelineOf(record: SubjectTokenRecord, names: Names, now: Seconds): Html {
  const happenings = [
    issued(record),
    exchanged(record, names),
    replayed(record),
    stopped(record, names),
    ended(record, now),
  ]
    .filter((happening) => happening !== undefined)
    .sort((one, other) => one.at - other.at)
  return html`<ol class="timeline">${happenings.map(
    ({ at, kind, text }) =>
      html`<li class="${kind}"><time>${clockOf(at, now)}</time> <span>${text}</span></li>`,
  )}</ol>`
}

const issued = ({ createdAt, createdBy, expiresAt }: SubjectTokenRecord): Happening => ({
  at: createdAt,
  kind: '',
  text: html`issued by <code>${createdBy}</code>, to be used within ${lengthOf(expiresAt - createdAt)}`,
})

function exchanged(
  { consumedAt, usedBy, actor, accessToken }: SubjectTokenRecord,
  names: Names,
): Happening | undefined {
  if (consumedAt === undefined) return undefined
  const token = accessToken?.format === 'jwt' ? 'a JWT' : 'an opaque access token'
  const id = accessToken?.jti === undefined ? undefined : html` <code>${accessToken.jti}</code>`
  const life = (accessToken?.expiresAt ?? consumedAt) - consumedAt
  return {
    at: consumedAt,
    kind: '',
    text: html`exchanged by <code>${usedBy}</code> ${
      actor ? html`for ${names.short(actor.sub)}` : 'without an engineer'
    }: ${token}${id}, valid for ${lengthOf(life)}`,
  }
}

const replayed = ({ replay }: SubjectTokenRecord): Happening | undefined =>
  replay && {
    at: replay.at,
    kind: 'bad',
    text: html`used again by <code>${replay.clientId}</code>, and refused`,
  }

function stopped({ revokedAt, revocation }: SubjectTokenRecord, names: Names): Happening | undefined {
  if (revokedAt === undefined) return undefined
  const { by, reason } = revocation ?? {}
  return {
    at: revokedAt,
    kind: revocation?.cause === 'replay' ? 'bad' : 'warn',
    text: html`stopped ${by !== undefined && html`by ${names.whole(by)} `}${wayOf(revocation)}${
      reason !== undefined && html`: “<bdi>${reason}</bdi>”`
    }`,
  }
}

function wayOf(revocation: Revocation | undefined): Html | undefined {
  switch (revocation?.cause) {
    case 'api':
      return html`through the management API (<code>${revocation.client}</code>)`
    case 'console':
      return html`in the console`
    case 'replay':
      return html`because the subject token was used again`
    case 'command':
      return html`by the command line`
    default:
      return undefined
  }
}

/** Unless it was stopped before. */
function ended(
  { revokedAt, consumedAt, accessToken, expiresAt }: SubjectTokenRecord,
  now: Seconds,
): Happening | undefined {
  if (revokedAt !== undefined) return undefined
  if (consumedAt === undefined)
    return {
      at: expiresAt,
      kind: expiresAt > now ? 'future' : '',
      text: html`${expiresAt > now ? 'expires if it is not used' : 'expired without being used'}`,
    }
  const at = accessToken?.expiresAt ?? consumedAt
  return {
    at,
    kind: at > now ? 'future' : '',
    text: html`${at > now ? 'will end' : 'ended'}: the access token expires`,
  }
}
