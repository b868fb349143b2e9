import type { RevocationCause, Seconds, SubjectTokenRecord } from 'oidc-provider-impersonation'
import { type Html, html, isEnd, type Value } from 'oidc-provider-impersonation/inside'
import type { People } from '../people.ts'
import { endOf, keptUntil } from '../state.ts'
import type { Visit } from '../visit.ts'
import { lengthOf, timeOf } from '../words.ts'

/** A colour of a state, or what is still ahead. */
type Kind = '' | 'alarm' | 'stopped' | 'future'
type Happening = readonly [at: Seconds | undefined, kind: Kind, text: Value]
const NOTHING: Happening = [undefined, '', undefined]

/** The history of a subject token, oldest first, and when an access that is under way will end. */
export function timelineOf(
  { base, now }: Visit,
  record: SubjectTokenRecord,
  people: People,
  before: SubjectTokenRecord | undefined,
): Html {
  const { createdAt, createdBy, expiresAt, consumedAt, replay, revokedAt, revocation } = record
  const { acknowledged = [], session } = record
  const life = lengthOf(expiresAt - createdAt)
  const continues = before && html`. It continues <a href="${base}/${before.id}">the one before</a>`
  const kept = keptUntil(record, now)
  // Unless it was stopped before.
  const end = revokedAt === undefined || kept ? endOf(record) : undefined
  const isAhead = end !== undefined && end > now
  const unused = isAhead ? 'expires if it is not used' : 'expired without being used'
  const used = `${isAhead ? 'will end' : 'ended'}: the ${session ? 'session' : 'access token'} expires`
  const stopKind = revocation?.cause === 'replay' ? 'alarm' : 'stopped'
  const happenings: readonly Happening[] = [
    [createdAt, '', html`issued by <code>${createdBy}</code>, to be used within ${life}${continues}`],
    [consumedAt, '', html`${session ? 'opened' : 'exchanged'} ${exchangeOf(record, people)}`],
    [replay?.at, 'alarm', html`used again by <code>${replay?.clientId ?? replay?.by}</code>, and refused`],
    [
      revokedAt,
      revocation && isEnd(revocation) ? '' : stopKind,
      html`${stopOf(record, base, people)}${kept && html`. <b class="alarm">It ${kept}</b>`}`,
    ],
    ...acknowledged.map(
      ({ at, by, note }): Happening => [
        at,
        '',
        html`looked into by ${people.whole(by)}: “<bdi>${note}</bdi>”`,
      ],
    ),
    [end, isAhead ? 'future' : '', consumedAt === undefined ? unused : used],
    logoutOf(record, now),
  ]
  const dated = happenings.filter(([at]) => at !== undefined).sort(([one = 0], [other = 0]) => one - other)
  const line = ([at = 0, kind, text]: Happening) =>
    html`<li class="${kind}">${timeOf(at, now)} <span>${text}</span></li>`
  return html`<ol class="timeline">${dated.map(line)}</ol>`
}

const FORMATS = { jwt: 'a JWT', opaque: 'an opaque access token' }

function exchangeOf(record: SubjectTokenRecord, people: People): Html {
  const { consumedAt = 0, usedBy, actor, accessToken } = record
  const token = accessToken ? FORMATS[accessToken.format] : 'a session'
  const jti = accessToken?.jti !== undefined && html` <code>${accessToken.jti}</code>`
  const engineer = actor ? html`for ${people.short(actor.sub)}` : 'without an engineer'
  return html`by <code>${usedBy}</code> ${engineer}: ${token}${jti}, valid for ${lengthOf(endOf(record) - consumedAt)}`
}

/** The application's answer to the end of its session. */
function logoutOf({ session, usedBy, revokedAt }: SubjectTokenRecord, now: Seconds): Happening {
  if (!session) return NOTHING
  const { logout, logoutAt, endsAt } = session
  const ended = Math.min(revokedAt ?? endsAt, endsAt)
  const application = html`<code>${usedBy}</code>`
  const longer = 'its own session may last longer'
  if (logout === 'unsupported')
    return [ended, 'alarm', html`${application} cannot be told that it ends: ${longer}`]
  if (ended > now) return NOTHING
  if (logout === 'confirmed')
    return [logoutAt, '', html`confirmed by ${application}: its own session has ended`]
  if (logout === 'gaveUp')
    return [logoutAt, 'alarm', html`not confirmed by ${application} within an hour: ${longer}`]
  return [ended, 'stopped', html`not confirmed by ${application} yet: it is told again`]
}

const WAYS: Readonly<Record<RevocationCause, string>> = {
  api: 'through the management API',
  self: 'for the engineer',
  continued: 'because another one goes on',
  host: 'by a call in the provider',
  signedOut: 'at the end of the session',
  unknown: 'in a way that cannot be read',
  console: 'in the console',
  replay: 'because the subject token was used again',
  command: 'by the command line',
}

function stopOf(record: SubjectTokenRecord, base: string, people: People): Value {
  const { cause = 'unknown', client, by, reason, continuedBy } = record.revocation ?? {}
  const way =
    continuedBy === undefined ? WAYS[cause] : html`<a href="${base}/${continuedBy}">${WAYS[cause]}</a>`
  return html`${isEnd({ cause }) && cause !== 'self' ? 'ended' : 'stopped'} ${by !== undefined && html`by ${people.whole(by)} `}${way}${client !== undefined && html` (<code>${client}</code>)`}${
    reason !== undefined && html`: “<bdi>${reason}</bdi>”`
  }`
}
