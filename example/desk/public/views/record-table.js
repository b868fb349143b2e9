/** One row of the record: who, whom, why, when, for what, and whether it is still live. */
import { element } from '../element.js'
import { moment } from '../times.js'

/** `names` maps ids to names. Rows that are still live get a button that calls `onStop` with its label. */
export function recordRow(item, names, onStop) {
  const { id, userId, actorId, actor, context, resource, createdAt, accessToken } = item
  const who = nameOf(names, actor?.sub ?? actorId)
  const whom = nameOf(names, userId)
  return element(
    'tr',
    { id: `record-${id}` },
    element('td', {}, moment(createdAt)),
    element('td', {}, who),
    element('td', {}, whom),
    element('td', { className: 'why' }, context.reason ?? '–'),
    element('td', {}, context.ticketId ?? '–'),
    element('td', {}, element('code', {}, resource ?? 'any')),
    element('td', { className: 'state', tabIndex: -1 }, state(item, names)),
    element('td', {}, accessToken ? moment(accessToken.expiresAt) : '–'),
    element('td', {}, ...(canBeStopped(item) ? [stopButton(who, whom, onStop)] : [])),
  )
}

const nameOf = (names, id) => (id ? (names.get(id) ?? id) : 'not named')

function stopButton(who, whom, onStop) {
  const label = `Stop ${who} viewing ${whom}`
  return element(
    'button',
    { type: 'button', className: 'quiet', 'aria-label': label, onclick: () => onStop(label) },
    'Stop',
  )
}

const isTokenValid = ({ accessToken }) =>
  accessToken !== undefined && accessToken.expiresAt * 1000 > Date.now()

const canBeStopped = (item) => item.state === 'active' || (item.state === 'consumed' && isTokenValid(item))

const STATES = { active: 'Not used yet', consumed: 'Ended', expired: 'Expired unused' }

function state(item, names) {
  if (item.state === 'revoked') return `Stopped · ${stopped(item.revocation ?? {}, names)}`
  if (item.state === 'consumed' && isTokenValid(item)) return 'Live'
  return STATES[item.state]
}

/** By whom and why. */
function stopped({ cause, by, reason }, names) {
  if (cause === 'replay') return 'its subject token was used twice'
  return `by ${by ? nameOf(names, by) : 'the operator'}${reason ? `: ${reason}` : ''}`
}
