import type { SubjectTokenRecord } from '../management/inspect.ts'
import { showSubjectToken } from '../management/inspect.ts'
import { assertNoQuery } from '../management/list-request.ts'
import type { JsonObject } from '../plain-json.ts'
import { USUAL } from './cut.ts'
import { type Html, html } from './html.ts'
import { may, pageOf } from './page.ts'
import type { Names } from './people.ts'
import { whyOf } from './records.ts'
import { canStop, stateCell } from './state.ts'
import { stopAllLinks } from './stop-all-form.ts'
import { errorLine, stopForm, type Typed } from './stop-form.ts'
import { timelineOf } from './timeline.ts'
import { namesIn, type Visit } from './visit.ts'

export async function showRecord(visit: Visit, id: string): Promise<void> {
  const record = await showSubjectToken(visit.service, id)
  assertNoQuery(visit.ctx.querystring)
  await writeRecord(visit, record)
}

/** After a refusal with what was typed. */
export async function writeRecord(visit: Visit, record: SubjectTokenRecord, typed?: Typed): Promise<void> {
  const { ctx, now } = visit
  const names = await namesIn(visit, [record])
  const { userId, context } = record
  const engineer = record.actor?.sub ?? record.actorId
  ctx.body = pageOf(visit, {
    title: 'Record',
    at: '/history',
    // Only what is under way changes.
    ...(canStop(record, now) && { refresh: 15 }),
    who: names.short(visit.administrator.id),
    body: html`<h1>${engineer === undefined ? html`No engineer named` : names.short(engineer)} → ${names.short(userId)}</h1>
<p class="state">${stateCell(record, names, now)}</p>
<p class="why">${whyOf(context, visit.options.ticketUrl, { ...USUAL, text: 1_000 })}</p>
${canStop(record, now) && may(visit, 'stop') && html`<section class="act"><h2>Stop this impersonation</h2>${errorLine(typed?.error)}${stopForm(visit, record.id, typed)}</section>`}
<div class="two"><section><h2>What happened</h2>
${timelineOf(record, names, now)}</section>
<section><h2>Details</h2>
${details(record, names)}<p class="links">${stopAllLinks(visit, { userId, actorId: engineer })}</p></section></div>`,
  })
}

function details(record: SubjectTokenRecord, names: Names): Html {
  const { accessToken, context } = record
  const rows: readonly (readonly [string, Html | undefined])[] = [
    ['User', names.whole(record.userId)],
    ['Engineer', engineers(record, names)],
    ['Bound to engineer', record.actorId === undefined ? undefined : names.whole(record.actorId)],
    ['Backend', code(record.createdBy)],
    ['Application', code(record.usedBy)],
    ['Bound to application', code(record.clientId)],
    ['Resource', code(record.resource)],
    ['Scopes', code(record.scope)],
    ['Token id (jti)', code(accessToken?.jti)],
    ['Access token', accessToken && html`${accessToken.format === 'jwt' ? 'JWT' : 'opaque'}`],
    ['Context', Object.keys(context).length > 0 ? html`<pre>${jsonOf(context)}</pre>` : undefined],
    ['Record', code(record.id)],
  ]
  return html`<dl>${rows.map(([name, value]) => value && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

/** Indented, unless it is so deep that indentation makes most of it. */
function jsonOf(context: JsonObject): string {
  const indented = JSON.stringify(context, null, 2)
  return indented.length <= 10_000 ? indented : JSON.stringify(context)
}

/** The newest first, each acting for the one before (RFC 8693 §4.1). */
function engineers({ actor }: SubjectTokenRecord, names: Names): Html | undefined {
  const people: Html[] = []
  for (let link: SubjectTokenRecord['actor'] = actor; link; link = link.act)
    people.push(names.whole(link.sub))
  if (people.length === 0) return undefined
  const from =
    actor?.clientId === undefined
      ? undefined
      : html`<small>signed in at <code>${actor.clientId}</code></small>`
  return html`${people.map((person, place) => html`${place > 0 && ', who was authorized by '}${person}`)}${from}`
}

const code = (text: string | undefined): Html | undefined =>
  text === undefined ? undefined : html`<code>${text}</code>`
