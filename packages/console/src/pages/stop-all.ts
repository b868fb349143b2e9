/** The kill switch of a user, of an engineer or of a backend: before it is pulled, and afterwards. */
import type { RecordQuery, Seconds } from 'oidc-provider-impersonation'
import {
  epochTime,
  type Html,
  html,
  invalidRequest,
  KILLED_BY,
  LONGEST_LIFE,
  onlyOne,
  parseName,
  parseText,
  readForm,
  single,
  type Value,
} from 'oidc-provider-impersonation/inside'
import { addressOf, field, secondsIn, type Typed, textField, tried, typedIn } from '../form.ts'
import { namedIn, type People } from '../people.ts'
import { stopAllForms } from '../shell.ts'
import { rowsOf } from '../table.ts'
import { may, type Page, peopleOf, refusal, type Visit } from '../visit.ts'
import { countOf, LABELS, timeOf, ZONE } from '../words.ts'

const FIELDS = [...KILLED_BY, 'reason', 'confirm'] as const

type Whose = (typeof KILLED_BY)[number]
type Field = (typeof FIELDS)[number]

/** The person or backend whose impersonations are stopped: exactly one of the names. */
function whoseIn(given: Typed<Whose>): { readonly name: Whose; readonly id: string } {
  if (KILLED_BY.every((name) => given[name] === undefined))
    throw invalidRequest({ public: 'a user, an engineer or a backend is required' })
  const name = onlyOne(given, KILLED_BY)
  return { name, id: parseName(name, given[name]) }
}

export async function stopAllPage(visit: Visit): Promise<Page> {
  const { querystring } = visit.ctx
  // Someone who has not said whose they are is asked, and not told what is wrong. It is a request without its input all the same.
  if (querystring === '') {
    visit.ctx.status = 400
    return confirmPage(visit, {})
  }
  const { result, error } = await tried(() => {
    const { stopped, ...given } = single(querystring, [...KILLED_BY, 'stopped'])
    return { ...whoseIn(given), since: stopped === undefined ? undefined : secondsIn('stopped', stopped) }
  })
  if (result?.since !== undefined && may(visit, 'see')) return stoppedPage(visit, result, result.since)
  return confirmPage(visit, typedIn(querystring, KILLED_BY), error)
}

/** Leads to what was stopped, or for those who may not see it to how many are left. */
export async function stopAll(visit: Visit): Promise<Page | string> {
  const form = await readForm(visit.ctx)
  const { result, error } = await tried(() => pull(visit, form))
  if (!result) return confirmPage(visit, typedIn(form, FIELDS), error)
  const stopped = may(visit, 'see') ? String(result.at) : undefined
  return addressOf(`${visit.base}/stop-all`, { [result.name]: result.id, stopped })
}

/** Pulls the kill switch, if there is a reason, and the id was typed again. */
async function pull({ records, administrator }: Visit, form: string) {
  const { reason = '', confirm, ...given } = single(form, FIELDS)
  const { name, id } = whoseIn(given)
  parseText('reason', reason)
  if (confirm !== id)
    throw invalidRequest({ field: 'confirm', public: 'the id must be typed exactly as shown' })
  const at = epochTime()
  await records.stopAll({ [name]: id, reason, by: administrator.id })
  return { name, id, at }
}

async function confirmPage(visit: Visit, typed: Typed<Field>, error?: Page['error']): Promise<Page> {
  const { result: whose } = await tried(() => whoseIn(typed))
  const title = 'Stop all'
  if (!whose) {
    const body = html`<h1>Stop everything for a person or a backend</h1><section class="card">${stopAllForms(visit, typed)}</section>`
    return { title, error, people: await peopleOf(visit, []), body }
  }
  const { name, id } = whose
  const people = await peopleOf(visit, [id])
  const counts = await countsOf(visit, { [name]: id })
  const wrong = (field: string) => (error?.field === field ? error : undefined)
  const owner = name === 'createdBy' ? shownAs(name, id, people) : people.whole(id)
  const confirm = html`Type <code>${id}</code> to confirm`
  return {
    title,
    people,
    error,
    body: html`<h1>Stop everything for ${shownAs(name, id, people)}</h1>
<p>This will stop <strong>${counts.sum}</strong> of the ${LABELS[name]} ${owner}: ${counts.unspent} that can still be used, and ${counts.live} in which someone acts right now.</p>
<form class="card" method="post" action="${visit.base}/stop-all" autocomplete="off"><input type="hidden" name="${name}" value="${id}">
${textField('Reason', 'reason', typed.reason, wrong('reason'))}
${field(confirm, 'confirm', typed.confirm, html` required spellcheck="false"${wrong('confirm') && html` aria-invalid="true" aria-describedby="error"`}`)}
<p class="line"><button class="danger">Stop everything for ${shownAs(name, id, people)}</button><a class="button" href="${visit.base || '/'}">Cancel</a></p></form>`,
  }
}

/** A backend is a client, and has no name. */
const shownAs = (name: Whose, id: string, people: People): Html =>
  name === 'createdBy' ? html`<code>${id}</code>` : people.short(id)

const MOST = 100
/** Requests for a count. Each reads a bounded number of rows. */
const PATIENCE = 2

/** Older records have ended: a subject token lives for a day at most, and its access token for another. */
const recent = ({ now }: Visit) => ({ createdAfter: now - 2 * LONGEST_LIFE - 60 })

async function countsOf(visit: Visit, whose: RecordQuery) {
  const unspent = await counted(visit, { ...whose, state: 'active' })
  const live = await counted(visit, { ...whose, live: true })
  const found = unspent.found + live.found
  const least = unspent.isLeast || live.isLeast ? 'at least ' : ''
  const sum = found >= MOST ? `${MOST} or more impersonations` : least + countOf(found, 'impersonation')
  const shown = ({ found, isLeast }: Awaited<ReturnType<typeof counted>>) =>
    `${isLeast ? 'at least ' : ''}${found}`
  return { sum, unspent: shown(unspent), live: shown(live) }
}

async function counted(visit: Visit, query: RecordQuery) {
  let found = 0
  let cursor: string | undefined
  for (let read = 0; read < PATIENCE; read += 1) {
    const page = await visit.records.list({ ...query, ...recent(visit), limit: MOST, cursor })
    found += page.items.length
    cursor = page.nextCursor
    if (cursor === undefined) return { found, isLeast: false }
  }
  return { found, isLeast: true }
}

const ROWS = 25

/** The records that the kill switch has stopped since, and when every API will refuse their tokens. */
async function stoppedPage(
  visit: Visit,
  { name, id }: { readonly name: Whose; readonly id: string },
  since: Seconds,
): Promise<Page> {
  const query = { [name]: id, state: 'revoked', ...recent(visit), limit: MOST } as const
  const { items, nextCursor } = await visit.records.list(query)
  const stopped = items.filter(
    ({ revocation, revokedAt = 0 }) => revocation?.cause === 'console' && revokedAt >= since,
  )
  const people = await peopleOf(visit, [id, ...namedIn(stopped)])
  const last = Math.max(since, ...stopped.map(({ revokedAt = 0 }) => revokedAt))
  const count = countOf(stopped.length, 'impersonation')
  const history = addressOf(`${visit.base}/history`, { [name]: id })
  const rows = stopped.slice(0, ROWS)
  const caption = stopped.length > ROWS ? `The newest ${ROWS} of them` : 'What was stopped'
  const table: Value = rows.length > 0 && rowsOf(visit, rows, people, caption)
  return {
    title: 'Stopped',
    people,
    body: html`<h1>Stopped all of ${shownAs(name, id, people)}</h1>
<p class="done"><strong>${nextCursor === undefined ? count : `At least ${count}`}</strong> stopped at ${timeOf(last, visit.now)} ${ZONE}. ${refusal(visit, last)}</p>
${table}
<p class="line"><a class="button" href="${history}">All records for this ${LABELS[name]}</a></p>`,
  }
}
