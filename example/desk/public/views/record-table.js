/** One row of the record: who, whom, why, when, and what has become of it. */
import { ticketUrl } from '../configuration.js'
import { button, element } from '../element.js'
import { canBeStopped, lastedOf, leftOf, stateOf, toneOf, wordOf } from '../states.js'
import { moment } from '../times.js'

/** Rows that are still open get a button that calls `onStop` with its label. */
export function recordRow(item, { onStop, onDetails }) {
  const { id, context, createdAt } = item
  const viewing = viewingOf(item)
  return element(
    'tr',
    { id: `record-${id}`, 'data-state': stateOf(item) },
    cell('When', moment(createdAt)),
    cell('Engineer', nameOfEngineer(item)),
    cell('Customer', nameOf(item, item.userId)),
    cell('Reason', clamped(context.reason ?? '–')),
    cell('Ticket', clamped(context.ticketId ?? '–', ticketUrl(context.ticketId ?? ''))),
    element('td', { className: 'state', tabIndex: -1, 'data-label': 'State' }, ...stateShown(item)),
    element(
      'td',
      { className: 'actions' },
      quietButton('Details', `Details of ${viewing}`, onDetails),
      ...(canBeStopped(item) ? [quietButton('Stop', `Stop ${viewing}`, onStop)] : []),
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

const quietButton = (text, ariaLabel, onPress) =>
  button(text, { className: 'quiet', ariaLabel, onclick: () => onPress(ariaLabel) })

/** "Sam Sawyer viewing Alice Archer" */
export const viewingOf = (item) => `${nameOfEngineer(item)} viewing ${nameOf(item, item.userId)}`

const nameOfEngineer = (item) => nameOf(item, item.actor?.sub ?? item.actorId)

const nameOf = ({ names }, id) => (id ? names[id] : 'not named')

/** The state as a pill, and beside it for how much longer, or how long it lasted and why it was stopped. */
function stateShown(item) {
  const pill = element('span', { className: `pill ${toneOf(item)}` }, wordAndWho(item))
  const may = element('span', { className: item.readOnly ? 'reads' : 'changes' }, mayOf(item))
  if (stateOf(item) === 'live')
    return [pill, ' ', element('span', { className: 'left' }, leftOf(item)), ' ', may]
  const lasted = lastedOf(item)
  const why = reasonOf(item)
  return [
    pill,
    ...(lasted ? [' ', element('span', { className: 'lasted' }, lasted)] : []),
    ' ',
    may,
    ...(why ? [' ', clamped(why)] : []),
  ]
}

export const mayOf = ({ readOnly }) => (readOnly === true ? 'Read only' : 'Can change things')

/** "Stopped by Dana Dorn" */
function wordAndWho(item) {
  if (stateOf(item) !== 'stopped') return wordOf(item)
  const { by } = item.revocation
  return `${wordOf(item)} by ${by ? nameOf(item, by) : 'the operator'}`
}

/** "Stopped by Dana Dorn · 0:32 · “The ticket is closed”" */
export const stateSaid = (item) =>
  [wordAndWho(item), lastedOf(item), reasonOf(item)].filter(Boolean).join(' · ')

const reasonOf = ({ revocation }) => revocation?.reason && `“${revocation.reason}”`

/** Counts down. Returns whether the row still shows what its record is. */
export function isCurrent(row, item) {
  const time = row.querySelector('.left')
  if (time) time.textContent = leftOf(item)
  return row.dataset.state === stateOf(item)
}
