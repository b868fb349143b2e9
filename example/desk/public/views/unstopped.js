/** Says which views are still open because their stop has failed so far, and lets it be tried at once. */
import { button, byId, element } from '../element.js'
import { clock } from '../times.js'

/** By the id of the record. */
const notes = new Map()

/** `what` is a view, `endsAt` the end of its token in milliseconds, and `stopNow` makes the next attempt at once. */
export function showUnstopped({ id, what, endsAt, attempts, error, stopNow }) {
  hideUnstopped(id)
  const why = error.service === 'backend' ? error.message : 'no response'
  // Not said again by screen readers each time.
  const count = element('span', { ariaLive: 'off' }, ` (${attempts})`)
  const note = element(
    'div',
    {},
    element(
      'p',
      {},
      `${what} is still open on the record, until ${clock(endsAt / 1000)}. It is not stopped yet: ${why}. It is tried again by itself`,
      count,
      '.',
    ),
    button('Try now', { onclick: stopNow }),
  )
  notes.set(id, note)
  byId('unstopped').append(note)
  byId('unstopped').hidden = false
}

export function hideUnstopped(id) {
  notes.get(id)?.remove()
  notes.delete(id)
  byId('unstopped').hidden = notes.size === 0
}

export function clearUnstopped() {
  for (const id of notes.keys()) hideUnstopped(id)
}
