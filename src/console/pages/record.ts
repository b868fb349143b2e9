import type { Seconds } from '../../clock.ts'
import { type Html, html, type Value } from '../../http/html.ts'
import { assertNoQuery, single } from '../../management/query.ts'
import { parseText, required } from '../../records/fields.ts'
import { recordNotFound, type SubjectTokenRecord } from '../../records/record.ts'
import type { ActClaim, RevocationCause } from '../../subject-tokens/subject-token.ts'
import { addressOf, field, readForm, type Typed, tried, typedIn } from '../form.ts'
import { namedIn, type People } from '../people.ts'
import { canStop, endOf, isAlarming, isEnded, isLive, keptUntil, stateCell } from '../state.ts'
import { engineerOf, ticketOf, titleOf, whyIn } from '../table.ts'
import { may, type Page, peopleOf, stopAllLinks, type Visit } from '../visit.ts'
import { lengthOf, shorten, timeOf, ZONE } from '../words.ts'
import { alarmOf } from './alarms.ts'

export async function recordPage(visit: Visit): Promise<Page> {
  const record = await found(visit, visit.path.slice(1))
  assertNoQuery(visit.ctx.querystring)
  return pageOf(visit, record)
}

async function found({ records }: Visit, id: string): Promise<SubjectTokenRecord> {
  const record = await records.get(id)
  if (!record) throw recordNotFound()
  return record
}

/** Stops one, for a reason, and leads to its record. */
export async function stopOne(visit: Visit): Promise<Page | string> {
  const { records, base, administrator } = visit
  const form = await readForm(visit.ctx)
  const { id, reason } = typedIn(form, ['id', 'reason'])
  if (id === undefined) throw required('id')
  const record = await found(visit, id)
  const { error } = await tried(async () => {
    const { reason } = single(form, ['id', 'reason'])
    await records.stop({ id, reason: parseText('reason', reason ?? ''), by: administrator.id })
  })
  if (!error) return `${base}/${id}`
  // The page is the record.
  if (!may(visit, 'see')) throw error
  return pageOf(visit, record, { reason, error })
}

type Mistake = Typed<'reason'> & Pick<Page, 'error'>

async function pageOf(
  visit: Visit,
  record: SubjectTokenRecord,
  { reason, error }: Mistake = {},
): Promise<Page> {
  const { base, now, options } = visit
  const { id, userId, createdBy, context } = record
  const [people, before, alarm] = await Promise.all([
    peopleOf(visit, namedIn([record])),
    recordBefore(visit, record),
    isAlarming(record) && alarmOf(visit, record),
  ])
  const goesOn = canStop(record, now)
  const wrong = error && html` aria-invalid="true" aria-describedby="error"`
  const stop = html`<section class="card"><h2>Stop this impersonation</h2><form class="line" method="post" action="${base}/stop" autocomplete="off"><input type="hidden" name="id" value="${id}">
${field('Reason', 'reason', reason, html` id="stop" required maxlength="1000"${wrong}`)}<button class="danger">Stop now</button></form></section>`
  const ticket = ticketOf(context, options.ticketUrl, { longestText: 1_000, longestUrl: 1_000 })
  const engineer = engineerOf(record)
  return {
    title: 'Record',
    people,
    error,
    isRecord: true,
    // Of an input that was wrong there is no address to look at again.
    refresh: (goesOn || isLive(record, now)) && !error ? 15 : undefined,
    body: html`<h1>${titleOf(record, people)}</h1>
<p>${stateCell(record, now, people)}</p>
<p class="why"><bdi>${ticket}</bdi> <bdi>${shorten(whyIn(context), 10_000)}</bdi></p>
${goesOn && may(visit, 'stop') && stop}
${alarm}
<div class="two"><section class="card"><h2>What happened <small>${ZONE}</small></h2>
${timelineOf(visit, record, people, before)}</section>
<section class="card"><h2>Details</h2>
${detailsOf(record, people)}</section></div>
<p class="line">${everythingOf(visit, record, people)}</p>
<p class="line">${stopAllLinks(visit, { userId, actorId: engineer, createdBy })}</p>`,
  }
}

/** Each person's and each client's history. */
function everythingOf({ base }: Visit, record: SubjectTokenRecord, people: People): readonly Html[] {
  const { userId, createdBy, usedBy, clientId } = record
  const whose = { userId, actorId: engineerOf(record), clientId: usedBy ?? clientId, createdBy }
  return Object.entries(whose)
    .filter(([, id]) => id !== undefined)
    .map(([name, id = '']) => {
      const who =
        name === 'userId' || name === 'actorId' ? people.short(id) : html`<bdi>${shorten(id, 32)}</bdi>`
      return html`<a class="button" href="${addressOf(`${base}/history`, { [name]: id })}">Everything of ${who}</a>`
    })
}

/** So many records of the same user may lie between two of which one continues the other. */
const BETWEEN = 25

/** The record that went on in this one. */
async function recordBefore(
  { records }: Visit,
  { id, userId }: SubjectTokenRecord,
): Promise<SubjectTokenRecord | undefined> {
  const { items } = await records.list({ userId, cursor: id, limit: BETWEEN })
  return items.find(({ revocation }) => revocation?.continuedBy === id)
}

/** A colour of a state, or what is still ahead. */
type Kind = '' | 'alarm' | 'stopped' | 'future'
type Happening = readonly [at: Seconds | undefined, kind: Kind, text: Value]

/** What happened to a subject token, oldest first, and when what is under way will end. */
function timelineOf(
  { base, now }: Visit,
  record: SubjectTokenRecord,
  people: People,
  before: SubjectTokenRecord | undefined,
): Html {
  const { createdAt, createdBy, expiresAt, consumedAt, replay, revokedAt, revocation } = record
  const { acknowledged = [] } = record
  const life = lengthOf(expiresAt - createdAt)
  const continues = before && html`. It continues <a href="${base}/${before.id}">the one before</a>`
  const kept = keptUntil(record, now)
  // Unless it was stopped before.
  const end = revokedAt === undefined || kept ? endOf(record) : undefined
  const isAhead = end !== undefined && end > now
  const unused = isAhead ? 'expires if it is not used' : 'expired without being used'
  const used = `${isAhead ? 'will end' : 'ended'}: the access token expires`
  const stopKind = revocation?.cause === 'replay' ? 'alarm' : 'stopped'
  const happenings: readonly Happening[] = [
    [createdAt, '', html`issued by <code>${createdBy}</code>, to be used within ${life}${continues}`],
    [consumedAt, '', html`exchanged ${exchangeOf(record, people)}`],
    [replay?.at, 'alarm', html`used again by <code>${replay?.clientId ?? replay?.by}</code>, and refused`],
    [
      revokedAt,
      isEnded(record) ? '' : stopKind,
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
  ]
  const dated = happenings.filter(([at]) => at !== undefined).sort(([one = 0], [other = 0]) => one - other)
  const line = ([at = 0, kind, text]: Happening) =>
    html`<li class="${kind}">${timeOf(at, now)} <span>${text}</span></li>`
  return html`<ol class="timeline">${dated.map(line)}</ol>`
}

function exchangeOf(record: SubjectTokenRecord, people: People): Html {
  const { consumedAt = 0, usedBy, actor, accessToken } = record
  const token = accessToken?.format === 'jwt' ? 'a JWT' : 'an opaque access token'
  const jti = accessToken?.jti !== undefined && html` <code>${accessToken.jti}</code>`
  const engineer = actor ? html`for ${people.short(actor.sub)}` : 'without an engineer'
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

function stopOf(record: SubjectTokenRecord, base: string, people: People): Value {
  const { cause = 'unknown', client, by, reason, continuedBy } = record.revocation ?? {}
  const way =
    continuedBy === undefined ? WAYS[cause] : html`<a href="${base}/${continuedBy}">${WAYS[cause]}</a>`
  return html`${isEnded(record) ? 'ended' : 'stopped'} ${by !== undefined && html`by ${people.whole(by)} `}${way}${client !== undefined && html` (<code>${client}</code>)`}${
    reason !== undefined && html`: “<bdi>${reason}</bdi>”`
  }`
}

function detailsOf(record: SubjectTokenRecord, people: People): Html {
  const { userId, actor, actorId, createdBy, usedBy, clientId, resource, scope, ceiling, accessToken } =
    record
  const from =
    actor?.clientId !== undefined && html` <small>signed in at <code>${actor.clientId}</code></small>`
  const rows = Object.entries<Value>({
    User: people.whole(userId),
    Engineer: actor && html`${chainOf(actor, people)}${from}`,
    'Bound to engineer': actorId !== undefined && people.whole(actorId),
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
const chainOf = ({ sub, act }: ActClaim, people: People): Html =>
  html`${people.whole(sub)}${act && html`, who was authorized by ${chainOf(act, people)}`}`

/** Indented, unless it is so deep that indentation makes most of it. */
function contextOf({ context }: SubjectTokenRecord): Value {
  const indented = JSON.stringify(context, null, 2)
  const text = indented.length <= 10_000 ? indented : JSON.stringify(context)
  return text !== '{}' && html`<pre>${text}</pre>`
}

const code = (text: string | undefined): Value => text !== undefined && html`<code>${text}</code>`
