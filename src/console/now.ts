import { listSubjectTokens } from '../management/inspect.ts'
import { type ListRequest, single } from '../management/list-request.ts'
import { cut, fitting } from './cut.ts'
import { type Html, html } from './html.ts'
import { numbersFor } from './numbers.ts'
import { overview } from './overview.ts'
import { may, pageOf } from './page.ts'
import { pager } from './pager.ts'
import { recordTable } from './records.ts'
import { marked } from './search.ts'
import { personForms } from './stop-all-form.ts'
import { namesIn, type Visit } from './visit.ts'
import { clockOf } from './words.ts'

/** Who is being viewed right now. */
export async function showNow(visit: Visit): Promise<void> {
  const { ctx, service, lookup, now } = visit
  const { cursor } = single(ctx.querystring, ['cursor'])
  const [{ items, nextCursor }, alarm, numbers] = await Promise.all([
    listSubjectTokens(service, lookup, marked('live', cursor)),
    listSubjectTokens(service, lookup, lastReplay(now)),
    numbersFor(visit),
  ])
  const [replayed] = alarm.items
  const names = await namesIn(visit, [...items, ...alarm.items])
  ctx.body = fitting((lengths) =>
    pageOf(visit, {
      title: 'Now',
      at: '',
      refresh: numbers ? 15 : 2,
      who: names.short(visit.administrator.id),
      body: html`<h1>Now</h1>
${
  replayed?.replay &&
  html`<p class="alarm"><strong>Used again.</strong> A spent subject token for ${names.short(replayed.userId, lengths.name)} was presented again by <code>${cut(lengths.name, replayed.replay.clientId)}</code> at ${clockOf(replayed.replay.at, now)}. <a href="${visit.base}/${replayed.id}">Look into it</a></p>`
}${overview(visit, numbers)}
<h2>Being viewed now</h2>
${recordTable(visit, items, names, 'No one is being viewed right now.', lengths)}
${pager(visit, '', {}, { cursor, nextCursor })}
${stopAllLink(visit)}`,
    }),
  )
}

/** The newest of the last day. */
const lastReplay = (now: number): ListRequest => ({
  filter: { replayed: true, createdAfter: now - 86_400 },
  limit: 1,
})

const stopAllLink = (visit: Visit): Html | false =>
  may(visit, 'stopAll') &&
  html`<details class="all" id="all"><summary id="all-of">Stop all of a person …</summary>${personForms(visit)}</details>`
