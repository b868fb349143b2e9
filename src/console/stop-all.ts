/** The kill switch of a user or of an engineer. */
import { invalidRequest } from '../http/errors.ts'
import { single } from '../management/query.ts'
import { onlyOne } from '../records/fields.ts'
import { revokeSubjectTokens } from '../records/stop.ts'
import { killFilterOf, parseStopRequest } from '../records/stop-request.ts'
import { LONGEST_LIFE } from '../subject-tokens/subject-token.ts'
import { addressOf, field, readForm, type Typed, tried, typedIn } from './form.ts'
import { type Html, html, type Value } from './html.ts'
import { short, whole } from './people.ts'
import { pagesOf, requestOf } from './records.ts'
import { may, type Page, type Visit } from './visit.ts'

const PERSON = ['userId', 'actorId'] as const
const WHOSE = { userId: 'user', actorId: 'engineer' } as const
const FIELDS = [...PERSON, 'reason', 'confirm'] as const

type Field = (typeof FIELDS)[number]
type People = Typed<(typeof PERSON)[number]>

function personIn(given: People) {
  const name = onlyOne(given, PERSON)
  return { name, id: given[name] ?? '', filter: killFilterOf(name, given) }
}

export async function confirmStopAll(visit: Visit): Promise<Page> {
  const { querystring } = visit.ctx
  const { error } = await tried(() => personIn(single(querystring, PERSON)))
  return pageOf(visit, typedIn(querystring, PERSON), error)
}

/** Leads to what was stopped, or to how many are left. */
export async function stopAll(visit: Visit): Promise<Page | string> {
  const form = await readForm(visit.ctx)
  const { result: whose, error } = await tried(() => pull(visit, form))
  if (!whose) return pageOf(visit, typedIn(form, FIELDS), error)
  const { base } = visit
  return may(visit, 'see')
    ? addressOf(`${base}/history`, { ...whose, state: 'revoked' })
    : addressOf(`${base}/stop-all`, whose)
}

/** The kill switch: for a reason, and once the id was typed again. */
async function pull({ service, lookup, administrator }: Visit, form: string): Promise<People> {
  const { reason = '', confirm, ...whose } = single(form, FIELDS)
  const { id, filter } = personIn(whose)
  const { says } = parseStopRequest({ ...whose, reason })
  if (confirm !== id) throw invalidRequest({ public: 'the id must be typed exactly as shown' })
  await revokeSubjectTokens(service, lookup, filter, { ...says, cause: 'console', by: administrator.id })
  return whose
}

async function pageOf(visit: Visit, typed: Typed<Field>, error: Page['error']): Promise<Page> {
  const { result: person } = await tried(() => personIn(typed))
  const title = 'Stop all'
  if (!person) return { title, error, body: html`<h1>Stop all of a person</h1>${personForms(visit, typed)}` }
  const { name, id } = person
  const count = await countOf(visit, { [name]: id })
  return {
    title,
    error,
    body: html`<h1>Stop all of ${short(id)}</h1>
<p>This will stop <strong>${count}</strong> of the ${WHOSE[name]} ${whole(id)}: every subject token that was not used yet, and every access token that is still valid.</p>
<form class="card" method="post" action="${visit.base}/stop-all" autocomplete="off"><input type="hidden" name="${name}" value="${id}">
${field('Reason', 'reason', typed.reason, html` required maxlength="1000"`)}
${field(html`Type <code>${id}</code> to confirm`, 'confirm', typed.confirm, html` required spellcheck="false"`)}
<p class="line"><button class="danger">Stop all</button><a class="button" href="${visit.base || '/'}">Cancel</a></p></form>`,
  }
}

const MOST = 100
/** Requests for a count. Each reads a bounded number of rows. */
const PATIENCE = 2

async function countOf(visit: Visit, person: People): Promise<string> {
  // What is older has ended: a subject token lives for a day at most, and its access token for another.
  const recent = { ...person, createdAfter: visit.now - 2 * LONGEST_LIFE - 60 }
  let found = 0
  let unread = 0
  for (const kind of [{ state: 'active' }, { live: true }]) {
    unread += 1
    for await (const page of pagesOf(visit, requestOf({ ...recent, ...kind }, MOST), PATIENCE)) {
      found += page.items.length
      if (page.nextCursor === undefined) unread -= 1
    }
  }
  if (found >= MOST) return `${MOST} or more impersonations`
  return `${unread > 0 ? 'at least ' : ''}${found} impersonation${found === 1 ? '' : 's'}`
}

export const personForms = ({ base }: Visit, typed: People = {}): Html => {
  const form = (name: keyof People, label: string) =>
    html`<form class="card" action="${base}/stop-all" autocomplete="off">${field(label, name, typed[name], html` required`)}<button>Continue</button></form>`
  return html`<div class="two">${form('userId', 'User id')}${form('actorId', 'Engineer id')}</div>`
}

/** Lead to the kill switch of these people, for those who may use it. */
export const stopAllLinks = (visit: Visit, people: People): Value =>
  may(visit, 'stopAll') &&
  PERSON.filter((name) => people[name] !== undefined).map((name) => {
    const address = addressOf(`${visit.base}/stop-all`, { [name]: people[name] })
    return html`<a class="danger" href="${address}">Stop all of this ${WHOSE[name]} …</a> `
  })
