import { invalidRequest } from '../management/errors.ts'
import { listSubjectTokens } from '../management/inspect.ts'
import { single } from '../management/list-request.ts'
import { fitting } from './cut.ts'
import { html } from './html.ts'
import { pageOf } from './page.ts'
import { addressOf, pager } from './pager.ts'
import { recordTable } from './records.ts'
import { marked } from './search.ts'
import { namesIn, type Visit } from './visit.ts'

const KINDS = {
  replayed: {
    label: 'Used again',
    text: 'A subject token was sent a second time. A copy may be in the wrong hands, or a request was sent twice.',
    empty: 'No subject token has been used again.',
  },
  withoutActor: {
    label: 'Without engineer',
    text: 'A subject token was exchanged without proof of who acts. The access token does not name an engineer.',
    empty: 'Every exchange named an engineer.',
  },
} as const

type Kind = keyof typeof KINDS

/** What deserves a look, whether it was stopped since or not. */
export async function showAlarms(visit: Visit): Promise<void> {
  const { ctx, service, lookup, base } = visit
  const { show = 'replayed', cursor } = single(ctx.querystring, ['show', 'cursor'])
  if (!isKind(show)) throw invalidRequest({ public: 'show must be replayed or withoutActor' })
  const { items, nextCursor } = await listSubjectTokens(service, lookup, marked(show, cursor))
  const names = await namesIn(visit, items)
  const tab = (kind: Kind) =>
    html`<a href="${addressOf(`${base}/alarms`, { show: kind })}"${kind === show && html` aria-current="true"`}>${KINDS[kind].label}</a>`
  ctx.body = fitting((lengths) =>
    pageOf(visit, {
      title: 'Alarms',
      at: '/alarms',
      who: names.short(visit.administrator.id),
      body: html`<h1>Alarms</h1>
<nav class="tabs" aria-label="Kinds of alarms">${tab('replayed')}${tab('withoutActor')}</nav>
<p>${KINDS[show].text}</p>
${recordTable(visit, items, names, KINDS[show].empty, lengths)}
${pager(visit, '/alarms', { show }, { cursor, nextCursor })}`,
    }),
  )
}

const isKind = (show: string): show is Kind => Object.hasOwn(KINDS, show)
