import type { Seconds } from '../clock.ts'
import { assertNoQuery, single } from '../management/query.ts'
import { required } from '../records/fields.ts'
import { type SubjectTokenRecord, showSubjectToken } from '../records/record.ts'
import { revokeSubjectToken } from '../records/stop.ts'
import { parseStopRequest } from '../records/stop-request.ts'
import type { ActClaim, RevocationCause } from '../subject-tokens/subject-token.ts'
import { field, readForm, type Typed, tried, typedIn } from './form.ts'
import { type Html, html, type Value } from './html.ts'
import { short, whole } from './people.ts'
import { engineerOf, titleOf, whyOf } from './records.ts'
import { canStop, endOf, isEnded, isLive, keptUntil, stateCell } from './state.ts'
import { stopAllLinks } from './stop-all.ts'
import { may, type Page, type Visit } from './visit.ts'
import { clockOf, lengthOf } from './words.ts'

export async function recordPage(visit: Visit): Promise<Page> {
  const record = await showSubjectToken(visit.service, visit.path.slice(1))
  assertNoQuery(visit.ctx.querystring)
  return pageOf(visit, record)
}

/** Stops one, for a reason, and leads to its record. */
export async function stopOne(visit: Visit): Promise<Page | string> {
  const { service, base, administrator, lookup } = visit
  const form = await readForm(visit.ctx)
  const { id, reason } = typedIn(form, ['id', 'reason'])
  if (id === undefined) throw required('id')
  const record = await showSubjectToken(service, id)
  const { error } = await tried(() => {
    const { says } = parseStopRequest({ reason: '', ...single(form, ['id', 'reason']) })
    return revokeSubjectToken(service, id, { ...says, cause: 'console', by: administrator.id }, lookup)
  })
  if (!error) return `${base}/${id}`
  // The page is the record.
  if (!may(visit, 'see')) throw error
  return pageOf(visit, record, { reason, error })
}

type Mistake = Typed<'reason'> & Pick<Page, 'error'>

function pageOf(visit: Visit, record: SubjectTokenRecord, { reason, error }: Mistake = {}): Page {
  const { base, now, options } = visit
  const { id, userId, context } = record
  const goesOn = canStop(record, now)
  const wrong = error && html` aria-invalid="true" aria-describedby="error"`
  const stop = html`<section class="card"><h2>Stop this impersonation</h2><form class="line" method="post" action="${base}/stop" autocomplete="off"><input type="hidden" name="id" value="${id}">
${field('Reason', 'reason', reason, html` id="stop" required maxlength="1000"${wrong}`)}<button class="danger">Stop now</button></form></section>`
  return {
    title: 'Record',
    error,
    isWhole: true,
    // Of an input that was wrong there is no address to look at again.
    refresh: (goesOn || isLive(record, now)) && !error ? 15 : undefined,
    body: html`<h1>${titleOf(record)}</h1>
<p>${stateCell(record, now)}</p>
<p class="why">${whyOf(context, options.ticketUrl, 1_000)}</p>
${goesOn && may(visit, 'stop') && stop}
<div class="two"><section class="card"><h2>What happened</h2>
${timelineOf(visit, record)}</section>
<section class="card"><h2>Details</h2>
${detailsOf(record)}<p class="line">${stopAllLinks(visit, { userId, actorId: engineerOf(record) })}</p></section></div>`,
  }
}

type Happening = readonly [at: Seconds | undefined, kind: '' | 'bad' | 'warn' | 'future', text: Value]

/** What happened to a subject token, oldest first, and when what is under way will end. */
function timelineOf({ base, now }: Visit, record: SubjectTokenRecord): Html {
  const { createdAt, createdBy, expiresAt, consumedAt, replay, revokedAt, revocation } = record
  const { acknowledged = [] } = record
  const life = lengthOf(expiresAt - createdAt)
  // Unless it was stopped before.
  const kept = keptUntil(record, now)
  const end = revokedAt === undefined || kept ? endOf(record) : undefined
  const isAhead = end !== undefined && end > now
  const unused = isAhead ? 'expires if it is not used' : 'expired without being used'
  const used = `${isAhead ? 'will end' : 'ended'}: the access token expires`
  const happenings: readonly Happening[] = [
    [createdAt, '', html`issued by <code>${createdBy}</code>, to be used within ${life}`],
    [consumedAt, '', html`exchanged ${exchangeOf(record)}`],
    [replay?.at, 'bad', html`used again by <code>${replay?.clientId ?? replay?.by}</code>, and refused`],
    [
      revokedAt,
      revocation?.cause === 'replay' ? 'bad' : 'warn',
      html`${stopOf(record, base)}${kept && html`. <b class="bad">It ${kept}</b>`}`,
    ],
    ...acknowledged.map(
      ({ at, by, note }): Happening => [at, '', html`looked into by ${whole(by)}: “<bdi>${note}</bdi>”`],
    ),
    [end, isAhead ? 'future' : '', consumedAt === undefined ? unused : used],
  ]
  const dated = happenings.filter(([at]) => at !== undefined).sort(([one = 0], [other = 0]) => one - other)
  const line = ([at = 0, kind, text]: Happening) =>
    html`<li class="${kind}"><time>${clockOf(at, now)}</time> <span>${text}</span></li>`
  return html`<ol class="timeline">${dated.map(line)}</ol>`
}

function exchangeOf(record: SubjectTokenRecord): Html {
  const { consumedAt = 0, usedBy, actor, accessToken } = record
  const token = accessToken?.format === 'jwt' ? 'a JWT' : 'an opaque access token'
  const jti = accessToken?.jti !== undefined && html` <code>${accessToken.jti}</code>`
  const engineer = actor ? html`for ${short(actor.sub)}` : 'without an engineer'
  return html`by <code>${usedBy}</code> ${engineer}: ${token}${jti}, valid for ${lengthOf(endOf(record) - consumedAt)}`
}

const WAYS: Readonly<Record<RevocationCause, string>> = {
  api: 'through the management API',
  self: 'at the wish of the engineer',
  continued: 'because another one goes on',
  host: 'by a call in the provider',
  signedOut: 'at the end of the session',
  unknown: 'in a way that cannot be read',
  console: 'in the console',
  replay: 'because the subject token was used again',
  command: 'by the command line',
}

function stopOf(record: SubjectTokenRecord, base: string): Value {
  const { cause = 'unknown', client, by, reason, continuedBy } = record.revocation ?? {}
  const way =
    continuedBy === undefined ? WAYS[cause] : html`<a href="${base}/${continuedBy}">${WAYS[cause]}</a>`
  return html`${isEnded(record) ? 'ended' : 'stopped'} ${by !== undefined && html`by ${whole(by)} `}${way}${client !== undefined && html` (<code>${client}</code>)`}${
    reason !== undefined && html`: “<bdi>${reason}</bdi>”`
  }`
}

function detailsOf(record: SubjectTokenRecord): Html {
  const { userId, actor, actorId, createdBy, usedBy, clientId, resource, scope, ceiling, accessToken } =
    record
  const from =
    actor?.clientId !== undefined && html`<small>signed in at <code>${actor.clientId}</code></small>`
  const rows = Object.entries<Value>({
    User: whole(userId),
    Engineer: actor && html`${chainOf(actor)}${from}`,
    'Bound to engineer': actorId !== undefined && whole(actorId),
    Backend: code(createdBy),
    Application: code(usedBy),
    'Bound to application': code(clientId),
    Resource: code(resource && listOf(resource)),
    'Allowed resources': code(ceiling?.resource && listOf(ceiling.resource)),
    Scopes: code(scope),
    'Allowed scopes': code(ceiling?.scope),
    'Token id (jti)': code(accessToken?.jti),
    'Access token': accessToken && (accessToken.format === 'jwt' ? 'JWT' : 'opaque'),
    Context: contextOf(record),
    Record: code(record.id),
  })
  return html`<dl>${rows.map(([name, value]) => value && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

const listOf = (resource: string | readonly string[]): string => [resource].flat().join(', ')

/** The newest first, each acting for the one before (RFC 8693 §4.1). */
const chainOf = ({ sub, act }: ActClaim): Html =>
  html`${whole(sub)}${act && html`, who was authorized by ${chainOf(act)}`}`

/** Indented, unless it is so deep that indentation makes most of it. */
function contextOf({ context }: SubjectTokenRecord): Value {
  const indented = JSON.stringify(context, null, 2)
  const text = indented.length <= 10_000 ? indented : JSON.stringify(context)
  return text !== '{}' && html`<pre>${text}</pre>`
}

const code = (text: string | undefined): Value => text !== undefined && html`<code>${text}</code>`
