/** One row of the record: who, whom, why, when, for what, and whether it still lives. */
import { element } from '../element.js'
import { clock, moment } from '../times.js'

/** `names` turns ids into names; `onStop` is asked for rows that still live. */
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
    element('td', { className: 'state', tabIndex: -1 }, state(item)),
    element('td', {}, accessToken ? moment(accessToken.expiresAt) : '–'),
    element('td', {}, ...(lives(item) ? [stopButton(who, whom, onStop)] : [])),
  )
}

const nameOf = (names, id) => (id ? (names.get(id) ?? id) : 'not named')

function stopButton(who, whom, onStop) {
  const label = `Stop ${who} viewing ${whom}`
  return element(
    'button',
    { type: 'button', className: 'quiet', 'aria-label': label, onclick: onStop },
    'Stop',
  )
}

const isAlive = ({ accessToken }) => accessToken !== undefined && accessToken.expiresAt * 1000 > Date.now()

const lives = (item) => item.state === 'active' || (item.state === 'consumed' && isAlive(item))

function state(item) {
  if (item.state === 'revoked' && isAlive(item))
    return `revoked; its JWT lives until ${clock(item.accessToken.expiresAt)}`
  if (item.state === 'consumed' && isAlive(item)) return 'consumed; in use'
  return item.state
}
