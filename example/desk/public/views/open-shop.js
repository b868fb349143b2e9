/** Says that the shop is open as a customer, or how it ended, and lets the engineer end it from here. */
import { button, byId, element } from '../element.js'
import { becomeOf } from '../endings.js'
import { canBeStopped } from '../states.js'

let drawn

/** `end` ends it, and `close` puts the note away. */
export function showOpenShop(record, engineer, { end, close, isEnding = false }) {
  const texts = becomeOf(record, engineer)
  const canEnd = canBeStopped(record)
  // A button that is drawn anew while it is pressed loses the click.
  const now = `${record.id} ${texts} ${canEnd} ${isEnding}`
  if (now === drawn) return
  drawn = now
  const act = canEnd
    ? button('End it', { onclick: end })
    : button('Close', { className: 'quiet', onclick: close })
  if (isEnding) {
    act.ariaDisabled = 'true'
    act.textContent = 'Ending …'
  }
  byId('open-shop').replaceChildren(
    ...texts.map((text) => element('p', {}, text)),
    element('div', { className: 'buttons' }, act),
  )
  byId('open-shop').classList.toggle('over', !canEnd)
  byId('open-shop').hidden = false
}

export function hideOpenShop() {
  drawn = undefined
  byId('open-shop').hidden = true
  byId('open-shop').replaceChildren()
}
