/** One row of the record: who, whom, why, when, and whether it is still live. */
import { ticketUrl } from '../configuration.js'
import { element } from '../element.js'
import { countdown, moment, until } from '../times.js'

/** Rows that are still live get a button that calls `onStop` with its label. */
export function recordRow(item, { onStop, onDetails }) {
  const { id, context, createdAt } = item
  const { who, whom } = peopleOf(item)
  return element(
    'tr',
    { id: `record-${id}`, 'data-state': stateOf(item) },
    cell('When', moment(createdAt)),
    cell('Engineer', who),
    cell('Customer', whom),
    cell('Reason', clamped(context.reason ?? '–')),
    cell('Ticket', clamped(context.ticketId ?? '–', ticketUrl(context.ticketId ?? ''))),
    element('td', { className: 'state', tabIndex: -1, 'data-label': 'State' }, ...stateShown(item)),
    element(
      'td',
      { className: 'actions' },
      quietButton('Details', `Details of ${who} viewing ${whom}`, onDetails),
      ...(canBeStopped(item) ? [quietButton('Stop', `Stop ${who} viewing ${whom}`, onStop)] : []),
    ),
  )
}

const cell = (label, content) => element('td', { 'data-label': label }, content)

/** Three lines at most, the whole in its title, in the details and in print. */
const clamped = (text, href) =>
  element(
    'span',
    { className: 'clamped', title: text },
    href ? element('a', { href, target: '_blank', rel: 'noreferrer' }, text) : text,
  )

function quietButton(text, label, onPress) {
  const properties = { type: 'button', className: 'quiet', 'aria-label': label }
  return element('button', { ...properties, onclick: () => onPress(label) }, text)
}

/** The names of who viewed whom. */
export function peopleOf(item) {
  const { userId, actorId, actor } = item
  return { who: nameOf(item, actor?.sub ?? actorId), whom: nameOf(item, userId) }
}

const nameOf = ({ names }, id) => (id ? (names[id] ?? id) : 'not named')

const LABELS = {
  active: 'Not used yet',
  live: 'Live',
  ended: 'Ended',
  expired: 'Expired unused',
  revoked: 'Stopped',
}

/** One of the names of `LABELS`, at this moment. */
export function stateOf({ state, expiresAt, accessToken }) {
  if (state === 'consumed') return isOver(accessToken?.expiresAt) ? 'ended' : 'live'
  return state === 'active' && isOver(expiresAt) ? 'expired' : state
}

const isOver = (seconds) => seconds === undefined || until(seconds) <= 0

const canBeStopped = (item) => ['active', 'live'].includes(stateOf(item))

function stateShown(item) {
  const state = stateOf(item)
  const pill = element('span', { className: `pill ${state}` }, LABELS[state])
  if (state === 'live') return [pill, ' ', element('span', { className: 'left' }, left(item))]
  if (state === 'revoked') return [pill, ' ', element('span', { className: 'clamped' }, stopped(item))]
  return [pill]
}

const left = ({ accessToken }) => `${countdown(until(accessToken.expiresAt))} left`

/** Counts down. Returns whether the row still shows what its record is. */
export function isCurrent(row, item) {
  const time = row.querySelector('.left')
  if (time) time.textContent = left(item)
  return row.dataset.state === stateOf(item)
}

/** By whom and why. */
export function stopped(item) {
  const { cause, by, reason } = item.revocation ?? {}
  if (cause === 'replay') return 'its subject token was used twice'
  return `by ${by ? nameOf(item, by) : 'the operator'}${reason ? `: ${reason}` : ''}`
}
