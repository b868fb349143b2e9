import { invalidRequest } from '../http/errors.ts'
import { single } from '../management/query.ts'
import { html } from './html.ts'
import { recordList } from './records.ts'
import type { Page, Visit } from './visit.ts'

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
}

/** What deserves a look, whether it was stopped since or not. */
export async function alarmsPage(visit: Visit): Promise<Page> {
  const { show = 'replayed', cursor } = single(visit.ctx.querystring, ['show', 'cursor'])
  const kinds = Object.entries(KINDS)
  const shown = kinds.find(([kind]) => kind === show)?.[1]
  if (!shown) throw invalidRequest({ public: 'show must be replayed or withoutActor' })
  const list = await recordList(visit, { [show]: true, cursor }, shown.empty)
  const tabs = kinds.map(([kind, { label }]) => {
    const current = kind === show && html` aria-current="true"`
    return html`<a href="${visit.base}/alarms?show=${kind}"${current}>${label}</a>`
  })
  return {
    title: 'Alarms',
    body: html`<h1>Alarms</h1>
<nav class="line tabs" aria-label="Kinds of alarms">${tabs}</nav>
<p>${shown.text}</p>
${list}`,
  }
}
