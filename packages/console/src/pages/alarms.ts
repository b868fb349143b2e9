/** The alarms: those that no one has reviewed yet, by application, and all of either kind. */
import type { Seconds, SubjectTokenRecord } from 'oidc-provider-impersonation'
import { type Html, html, invalidRequest, single, type Value } from 'oidc-provider-impersonation/inside'
import { addressOf, type Typed, textField } from '../form.ts'
import { MOST_ALARMS } from '../newest-alarms.ts'
import { namedIn, type People } from '../people.ts'
import { endOf, isLiveRecord } from '../state.ts'
import { linkIn, listed, PLACE, rowsOf, tableOf } from '../table.ts'
import { may, type Page, peopleOf, refusal, type Visit } from '../visit.ts'
import { countOf, shorten, timeOf, ZONE } from '../words.ts'

const KINDS = {
  replayed: {
    label: 'Reused token',
    text: 'A subject token was sent a second time. A copy may be in the wrong hands, or a request was sent twice.',
    empty: 'No subject token has been used again.',
  },
  withoutActor: {
    label: 'No engineer named',
    text: 'A subject token was exchanged without proof of who acts. The access token does not name an engineer.',
    empty: 'Every exchange named an engineer.',
  },
} as const

export async function alarmsPage(visit: Visit): Promise<Page> {
  const typed = single(visit.ctx.querystring, ['show', ...PLACE])
  const { show, cursor } = typed
  if (show === undefined) return inbox(visit, { cursor })
  const kind = Object.keys(KINDS).find((kind) => kind === show) as keyof typeof KINDS | undefined
  if (!kind) throw invalidRequest({ field: 'show', public: 'show must be replayed or withoutActor' })
  const { label, text, empty } = KINDS[kind]
  const list = await listed(visit, { [kind]: true }, typed)
  const people = await peopleOf(visit, namedIn(list.items))
  return {
    title: 'Alarms',
    people,
    body: html`<h1>Alarms</h1>
${tabsOf(visit, kind)}
<p>${text}</p>
${tableOf(visit, list, people, { caption: label, empty })}`,
  }
}

function tabsOf({ base }: Visit, shown: string | undefined): Html {
  const tabs = [['Open', undefined], ...Object.entries(KINDS).map(([kind, { label }]) => [label, kind])]
  const links = tabs.map(([label, kind]) => {
    const current = kind === shown && html` aria-current="true"`
    return html`<a href="${addressOf(`${base}/alarms`, { show: kind })}"${current}>${label}</a>`
  })
  return html`<nav class="line tabs" aria-label="Kinds of alarms">${links}</nav>`
}

/** The open alarms; with the note that was typed, where it was wrong. */
export async function inbox(
  visit: Visit,
  { cursor, note, error }: Typed<'cursor' | 'note'> & Pick<Page, 'error'>,
): Promise<Page> {
  const read = await visit.records.list({ unacknowledged: true, cursor, limit: MOST_ALARMS })
  const items = firstGroups(read.items)
  const nextCursor = items.length < read.items.length ? items.at(-1)?.id : read.nextCursor
  const people = await peopleOf(visit, namedIn(items))
  const groups = [...Map.groupBy(items, groupOf)]
  const older = addressOf(`${visit.base}/alarms`, { cursor: nextCursor })
  const none = html`<p class="card empty">${nextCursor === undefined ? 'No alarms to review.' : 'None on this page. There may be older ones.'}</p>`
  return {
    title: 'Alarms',
    people,
    error,
    body: html`<h1>Alarms</h1>
${tabsOf(visit, undefined)}
${groups.length > 0 ? groups.map(([, alarms], place) => groupShown(visit, alarms, people, place === 0 ? note : undefined)) : none}
${nextCursor !== undefined && html`<nav class="line" aria-label="Pages"><a class="button" href="${older}" rel="next">Older</a></nav>`}`,
  }
}

/** Who has caused it: the application that used it again, or the one that has exchanged it. */
const causeOf = ({ replay, usedBy = '' }: SubjectTokenRecord): string =>
  replay ? (replay.clientId ?? replay.by ?? '') : usedBy

const groupOf = (record: SubjectTokenRecord): string =>
  `${record.replay ? 'replayed' : 'withoutActor'} ${causeOf(record)}`

/** Applications on one page. The others are on the next one. */
const MOST_GROUPS = 6

function firstGroups(items: readonly SubjectTokenRecord[]): readonly SubjectTokenRecord[] {
  const groups = new Set<string>()
  const end = items.findIndex((record) => groups.add(groupOf(record)).size > MOST_GROUPS)
  return end === -1 ? items : items.slice(0, end)
}

const atOf = ({ replay, consumedAt = 0 }: SubjectTokenRecord): number => replay?.at ?? consumedAt

/** Rows of a group: enough to know what it is about. */
const SHOWN = 3

function groupShown(
  visit: Visit,
  alarms: readonly SubjectTokenRecord[],
  people: People,
  note: string | undefined,
): Html {
  const { base, now } = visit
  const [newest] = alarms
  if (!newest) return html``
  const cause = html`<bdi>${shorten(causeOf(newest), 32)}</bdi>`
  const { label } = KINDS[newest.replay ? 'replayed' : 'withoutActor']
  const times = alarms.map(atOf)
  const [first, last] = [Math.min(...times), Math.max(...times)]
  const when = first === last ? timeOf(last, now) : html`${timeOf(first, now)} – ${timeOf(last, now)}`
  const open = alarms.filter((record) => isLiveRecord(record, now)).length
  const isOpen = open > 0 ? html`<b class="pill alarm">${open} still live</b>` : 'nothing of it is live'
  const others = alarms.length - SHOWN
  const all = addressOf(`${base}/history`, { clientId: causeOf(newest) })
  return html`<section class="card group"><h2>${label}: ${cause}, ${countOf(alarms.length, 'time')}</h2>
<p>${when} ${ZONE}, ${isOpen}. ${linkIn(all, html`All records for ${cause}`)}</p>
${rowsOf(visit, alarms.slice(0, SHOWN), people, html`${label} by ${cause}`)}
${others > 0 && html`<p><small>and ${others} more</small></p>`}
${may(visit, 'stop') && seenForm(visit, alarms, note)}</section>`
}

/** Says of each record which replay the reader has seen. */
function seenForm({ base }: Visit, alarms: readonly SubjectTokenRecord[], note?: string): Html {
  const label = alarms.length === 1 ? 'Mark as seen' : `Mark all ${alarms.length} as seen`
  const fields = alarms.map(
    ({ id, replay }) =>
      html`<input type="hidden" name="id" value="${id}"><input type="hidden" name="replayedAt" value="${replay?.at}">`,
  )
  return html`<form class="line" method="post" action="${base}/acknowledge" autocomplete="off">${fields}${textField('What you found', 'note', note)}<button>${label}</button></form>`
}

/** Two uses within so many seconds are rather one request that was sent twice than a thief. */
const SOON: Seconds = 60

/** Who has sent it again, and how much later: what tells a bug from a theft. */
function againOf({ replay, usedBy, actor, consumedAt = 0 }: SubjectTokenRecord, people: People): Value {
  if (!replay) return false
  const { at, clientId, by } = replay
  const after = Math.max(0, at - consumedAt)
  const isSame = clientId === undefined ? by === actor?.sub : clientId === usedBy
  const kind = clientId === undefined ? 'engineer' : 'application'
  const who = isSame
    ? `the same ${kind}`
    : html`another ${kind}, ${clientId === undefined ? people.whole(by ?? '') : html`<code>${clientId}</code>`},`
  const likely = isSame && after <= SOON
  return html`Sent again by ${who} ${laterOf(after)}: ${likely ? 'most likely a repeated request' : 'someone may have a copy'}.`
}

function laterOf(after: Seconds): string {
  if (after === 0) return 'within a second'
  if (after === 1) return 'one second later'
  const [count, unit] =
    after < 60 ? [after, 'second'] : after < 3600 ? [after / 60, 'minute'] : [after / 3600, 'hour']
  return `${countOf(Math.floor(count), unit)} later`
}

/** The steps when it happens, in the order of docs/alerts.md. */
const TO_DO = {
  replayed: [
    'The same application within seconds is usually a double click, or a retry after a lost response. Its developers must request a new subject token instead of sending one again.',
    'Another application, or minutes later: someone has a copy. Find out where subject tokens leak: logs, addresses, a shared screen.',
    'The first use of a token that is sent again is ended with it. Check above that nothing is open.',
    'Stop the rest: all of the engineer, who may hold others, and all of the user.',
    'Look for the token id (jti) in the logs of your APIs: it shows what was read.',
    'Say below what you have found.',
  ],
  withoutActor: [
    'Ask the owners of the application and of the backend whether they know of it: the access token names no one who acts.',
    'If they do not, someone else may have the secret of the backend. Take its scope away, so that it cannot issue more, and stop all of this backend.',
    'Look for the token id (jti) in the logs of your APIs: it shows what was read.',
    'If no exchange may be without an engineer, have requireActor set at the provider.',
    'Say below what you have found.',
  ],
} as const

/** On the record: who and how, is anything still open, what else happened, what to do now, and that it was looked into. */
export async function alarmOf(visit: Visit, record: SubjectTokenRecord, people: People): Promise<Html> {
  const kind = record.replay ? 'replayed' : 'withoutActor'
  const { records, base } = visit
  const { id, createdBy } = record
  const { items } = await records.list({ jti: id, unacknowledged: true })
  const cause = causeOf(record)
  const others = addressOf(`${base}/history`, { clientId: cause })
  const backend = addressOf(`${base}/history`, { createdBy })
  const isOpen = items.length > 0
  const toDo = html`<h3>What to do now</h3><ol>${TO_DO[kind].map((step) => html`<li>${step}`)}</ol>`
  return html`<section class="card"><h2>${isOpen ? 'Alarm' : 'Alarm, looked into'}</h2>
<p>${againOf(record, people) || KINDS[kind].text}</p>
<p><strong>${openness(visit, record)}</strong></p>
<p class="line"><a class="button" href="${others}">What else did <bdi>${cause}</bdi> do?</a><a class="button" href="${backend}">What else did <bdi>${createdBy}</bdi> issue?</a></p>
${isOpen && toDo}
${isOpen && may(visit, 'stop') && seenForm(visit, [record])}</section>`
}

/** Whether anything can still be used, and until when. */
function openness(visit: Visit, record: SubjectTokenRecord): Value {
  const { now } = visit
  const end = endOf(record)
  if (isLiveRecord(record, now))
    return html`Still open: the access token can be used until ${timeOf(end, now)} ${ZONE}, unless it is stopped.`
  if (record.revokedAt === undefined)
    return html`Nothing is open: the access token expired at ${timeOf(end, now)} ${ZONE}.`
  return html`Nothing is open: it was stopped at ${timeOf(record.revokedAt, now)} ${ZONE}. ${refusal(visit, record.revokedAt)}`
}
