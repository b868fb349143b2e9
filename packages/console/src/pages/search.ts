/** One field for what people have in hand: a name, an account, a ticket, a `jti` from a log, a record. */
import type { RecordQuery, SubjectTokenRecord } from 'oidc-provider-impersonation'
import { html, isStorableName, single, type Value } from 'oidc-provider-impersonation/inside'
import { addressOf, type Typed } from '../form.ts'
import { idsFor, namedIn, shortOf } from '../people.ts'
import { linkIn, rowsOf } from '../table.ts'
import { type Page, peopleOf, type Visit } from '../visit.ts'
import { capital, countOf, LABELS } from '../words.ts'

/** Records that are read for each way to read the text. */
const READ = 26
const ROWS = 10
const MOST_CHOICES = 20
/** Longest address of a link to a choice, in characters. */
const LONGEST = 1_000

interface Hit {
  readonly name: 'userId' | 'actorId' | 'clientId' | 'createdBy' | 'ticketId'
  readonly value: string
  readonly items: readonly SubjectTokenRecord[]
}

/** Leads to the record where there is one, to the history where all of it has one name, and else shows the choice. */
export async function searchPage(visit: Visit): Promise<Page | string> {
  const { base, records } = visit
  const text = (single(visit.ctx.querystring, ['q']).q ?? '').trim()
  // Nothing else is stored.
  const isName = isStorableName(text)
  const [record] = isName ? (await records.list({ jti: text, limit: 1 })).items : []
  if (record) return `${base}/${record.id}`
  const hits = isName ? await hitsFor(visit, text) : []
  const items = newestOf(hits)
  if (items.length === 1) return `${base}/${items[0]?.id}`
  if (hits.length === 1) return addressOf(`${base}/history`, queryOf(hits[0]))
  const people = await peopleOf(visit, [...namedIn(items), ...hits.map(({ value }) => value)])
  const choice = ({ name, value, items }: Hit): Value => {
    const count = items.length < READ ? countOf(items.length, 'record') : `${READ - 1} records or more`
    const text = html`${capital(LABELS[name] ?? name)} ${shortOf(people, name, value)}`
    return html`<li>${linkIn(addressOf(`${base}/history`, queryOf({ name, value })), text, LONGEST)}: ${count}</li>`
  }
  const nothing = html`<p class="card empty">Nothing was found for <bdi>${text}</bdi>: no record or <code>jti</code> with this id, no ticket, account, application or backend of exactly this name${visit.options.find && ', and no one whose name contains it'}.</p>`
  return {
    title: 'Search',
    people,
    body: html`<h1>Search: <bdi>${text}</bdi></h1>
${hits.length > 0 ? html`<ul>${hits.slice(0, MOST_CHOICES).map(choice)}</ul>${hits.length > MOST_CHOICES && html`<p>There are more: type more of the name.</p>`}${rowsOf(visit, items, people, 'The newest of them')}` : nothing}`,
  }
}

const queryOf = (hit: Pick<Hit, 'name' | 'value'> | undefined): Typed =>
  hit ? { [hit.name]: hit.value } : {}

async function hitsFor({ records, options, report }: Visit, text: string): Promise<Hit[]> {
  const ids = [...new Set([text, ...(await idsFor(text, options, report))])].filter(isStorableName)
  const ways: Pick<Hit, 'name' | 'value'>[] = [
    ...(['ticketId', 'clientId', 'createdBy'] as const).map((name) => ({ name, value: text })),
    ...ids.flatMap((value) => (['userId', 'actorId'] as const).map((name) => ({ name, value }))),
  ]
  const hits = await Promise.all(
    ways.map(async ({ name, value }) => {
      const query: RecordQuery = { [name]: value, limit: READ }
      return { name, value, items: (await records.list(query)).items }
    }),
  )
  return hits.filter(({ items }) => items.length > 0)
}

/** The newest records, each once. Ids sort by creation. */
function newestOf(hits: readonly Hit[]): readonly SubjectTokenRecord[] {
  const found = new Map(hits.flatMap(({ items }) => items.map((item) => [item.id, item])))
  return [...found.values()].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, ROWS)
}
