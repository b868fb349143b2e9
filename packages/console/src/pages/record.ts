import type { ActClaim, SubjectTokenRecord } from 'oidc-provider-impersonation'
import {
  assertNoQuery,
  type Html,
  html,
  parseText,
  readForm,
  recordNotFound,
  required,
  single,
  type Value,
} from 'oidc-provider-impersonation/inside'
import { addressOf, field, type Typed, tried, typedIn } from '../form.ts'
import { namedIn, type People, shortOf } from '../people.ts'
import { isLiveRecord, isStoppableRecord, stateCell } from '../state.ts'
import { engineerOf, reasonIn, ticketIn, ticketOf, titleOf, whyIn } from '../table.ts'
import { may, type Page, peopleOf, stopAllLinks, type Visit } from '../visit.ts'
import { shorten, ZONE } from '../words.ts'
import { alarmOf } from './alarms.ts'
import { timelineOf } from './timeline.ts'

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

/** Whether something happened that deserves a look (docs/protocol.md §2.2). */
const isAlarming = ({ replay, consumedAt, actor }: SubjectTokenRecord): boolean =>
  replay !== undefined || (consumedAt !== undefined && actor === undefined)

type Mistake = Typed<'reason'> & Pick<Page, 'error'>

async function pageOf(
  visit: Visit,
  record: SubjectTokenRecord,
  { reason, error }: Mistake = {},
): Promise<Page> {
  const { base, now, options } = visit
  const { id, userId, createdBy, context } = record
  const people = await peopleOf(visit, namedIn([record]))
  const [before, alarm] = await Promise.all([
    recordBefore(visit, record),
    isAlarming(record) && alarmOf(visit, record, people),
  ])
  const goesOn = isStoppableRecord(record, now)
  const wrong = error && html` aria-invalid="true" aria-describedby="error"`
  const stop = html`<section class="card"><h2>Stop this impersonation</h2><form class="line" method="post" action="${base}/stop" autocomplete="off"><input type="hidden" name="id" value="${id}">
${field('Reason', 'reason', reason, html` id="stop" required maxlength="1000"${wrong}`)}<button class="danger">Stop now</button></form></section>`
  const ticket = ticketOf(context, options.ticketUrl, { longestText: 1_000, longestUrl: 1_000 })
  const engineer = engineerOf(record)
  return {
    title: 'Record',
    people,
    error,
    // A wrong input leaves no address to look at again.
    refresh: (goesOn || isLiveRecord(record, now)) && !error ? 15 : undefined,
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
    .map(
      ([name, id = '']) =>
        html`<a class="button" href="${addressOf(`${base}/history`, { [name]: id })}">All records for ${shortOf(people, name, id)}</a>`,
    )
}

/** Records of the same user that may lie between two of which one continues the other. */
const BETWEEN = 25

/** The record that went on in this one. */
async function recordBefore(
  { records }: Visit,
  { id, userId }: SubjectTokenRecord,
): Promise<SubjectTokenRecord | undefined> {
  const { items } = await records.list({ userId, cursor: id, limit: BETWEEN })
  return items.find(({ revocation }) => revocation?.continuedBy === id)
}

function detailsOf(record: SubjectTokenRecord, people: People): Html {
  const { userId, actor, actorId, createdBy, usedBy, clientId, resource, scope, ceiling, accessToken } =
    record
  const from =
    actor?.clientId !== undefined && html` <small>signed in at <code>${actor.clientId}</code></small>`
  const used = resource && listOf(resource)
  const allowed = ceiling?.resource && listOf(ceiling.resource)
  // A binding is shown where it differs from the use.
  const rows = Object.entries<Value>({
    User: people.whole(userId),
    Engineer: actor && html`${chainOf(actor, people)}${from}`,
    'Bound to engineer': actorId !== undefined && actorId !== actor?.sub && people.whole(actorId),
    Backend: code(createdBy),
    Application: code(usedBy),
    'Bound to application': clientId !== usedBy && code(clientId),
    Resource: code(used),
    'Allowed resources': allowed !== used && code(allowed),
    Scopes: code(scope),
    'Allowed scopes': ceiling?.scope !== scope && code(ceiling?.scope),
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

/** Where the line below the title does not say all of it. Indented, unless it is so deep that indentation makes most of it. */
function contextOf({ context }: SubjectTokenRecord): Value {
  const said = [ticketIn(context), reasonIn(context)].filter((text) => text !== undefined)
  if (Object.values(context).every((value) => said.includes(String(value)))) return false
  const indented = JSON.stringify(context, null, 2)
  const text = indented.length <= 10_000 ? indented : JSON.stringify(context)
  return html`<pre>${text}</pre>`
}

const code = (text: string | undefined): Value => text !== undefined && html`<code>${text}</code>`
