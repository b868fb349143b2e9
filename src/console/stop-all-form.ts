import type { KillFilter } from '../subject-tokens/store.ts'
import { type Html, html } from './html.ts'
import { may } from './page.ts'
import { addressOf } from './pager.ts'
import type { Visit } from './visit.ts'

/** Whose impersonations end: a user's, or an engineer's. */
export interface Person {
  readonly field: 'userId' | 'actorId'
  readonly id: string
  readonly filter: KillFilter
}

export interface TypedStop {
  readonly reason?: string
  readonly confirm?: string
  readonly error?: string
}

/** Asks for the reason, and for the id once more: the last thing before a stop that cannot be taken back. */
export function stopAllForm(
  { base }: Visit,
  { field, id }: Person,
  { reason = '', confirm = '' }: TypedStop,
): Html {
  return html`<form class="all" method="post" action="${base}/stop-all"><input type="hidden" name="${field}" value="${id}">
<label>Reason<input name="reason" value="${reason}" required maxlength="1000" autocomplete="off"></label>
<label>Type <code>${id}</code> to confirm<input name="confirm" value="${confirm}" required autocomplete="off" spellcheck="false"></label>
<p><button class="danger">Stop all</button><a href="${base || '/'}">Cancel</a></p></form>`
}

/** Lead to the kill switch of a user and of an engineer, for those who may use it. */
export function stopAllLinks(
  visit: Visit,
  people: { readonly userId?: string; readonly actorId?: string },
): Html | false {
  if (!may(visit, 'stopAll')) return false
  const { userId, actorId } = people
  const link = (person: Readonly<Record<string, string>>, whose: string) =>
    html`<a class="danger" href="${addressOf(`${visit.base}/stop-all`, person)}">Stop all of this ${whose} …</a> `
  return html`${userId !== undefined && link({ userId }, 'user')}${actorId !== undefined && link({ actorId }, 'engineer')}`
}

/** Ask whose. */
export const personForms = ({ base }: Visit): Html =>
  html`<div class="two">${[
    ['userId', 'User id'],
    ['actorId', 'Engineer id'],
  ].map(
    ([name, label]) =>
      html`<form class="all" method="get" action="${base}/stop-all"><label>${label}<input name="${name}" required autocomplete="off"></label><button>Continue</button></form>`,
  )}</div>`
