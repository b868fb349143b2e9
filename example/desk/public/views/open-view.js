/** Says that the record still has a view of this engineer that this page does not show. */
import { button, byId, element } from '../element.js'
import { clock, GLANCE, until } from '../times.js'

let shown
let timer
let stopButton

/** The record of the view that is said to be open, if one is. */
export const openViewShown = () => shown

export function showOpenView(record, { resume, stop }) {
  hideOpenView()
  shown = record
  const { userId, names, context, expiresAt, accessToken } = record
  const name = names[userId]
  const ends = accessToken?.expiresAt ?? expiresAt
  timer = setInterval(() => {
    if (until(ends) <= 0) hideOpenView()
  }, GLANCE)
  stopButton = button('Stop it', { className: 'quiet', onclick: stop })
  byId('open-view').append(
    element(
      'p',
      {},
      'Your view of ',
      element('strong', {}, name),
      ` is still open on the record, until ${clock(ends)}: in another tab, or from before this page was loaded.`,
    ),
    element(
      'div',
      { className: 'buttons' },
      button('Continue here', { onclick: () => resume(context) }),
      stopButton,
    ),
  )
  byId('open-view').hidden = false
}

/** Its stop is under way. */
export function markStopping() {
  if (!shown) return
  stopButton.ariaDisabled = 'true'
  stopButton.textContent = 'Stopping …'
}

export function hideOpenView() {
  clearInterval(timer)
  shown = undefined
  byId('open-view').hidden = true
  byId('open-view').replaceChildren()
}
