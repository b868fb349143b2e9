/** The shop, opened as a customer in another tab: this page brings the token to the door, and looks at the record. */
import { readImpersonation, requestSession } from './backend.js'
import { door } from './configuration.js'
import { button, byId, element } from './element.js'
import { becomeOf } from './endings.js'
import { attempt, isSignInOver } from './failures.js'
import { isStarting } from './flow.js'
import { clearMessages, tellProgress } from './messages.js'
import { closeViewing, stopOnRecord, stopsBefore } from './record-stops.js'
import { engineer } from './session.js'
import { canBeStopped } from './states.js'
import { isStopping } from './stops.js'
import { tellOtherTabs } from './tabs.js'
import { clearRefusedRequests } from './views/customers.js'
import { hideOpenView } from './views/open-view.js'
import { askReason, forgetReason, SHOP } from './views/reason-dialog.js'

/** Milliseconds. */
const EVERY = 2000

let isOpening = false
/** The record, as it was read last. */
let shown
let timer
let isLooking = false
/** What the note says. */
let drawn

/** The record of the shop that is open, or may be opened still. */
export const shopOpen = () => (shown && canBeStopped(shown) ? shown : undefined)

/** Asks for the reason, and opens the shop in a tab of its own, which ends what is open. */
export async function askAndOpen(customer, ends) {
  if (isOpening || isStarting()) return tellProgress('One moment: something else is starting.')
  const given = await askReason(customer, SHOP, ends)
  if (!given || isOpening) return
  isOpening = true
  try {
    const { subjectToken, recordId } = await requestSession({ userId: customer.id, ...given })
    bring(subjectToken)
    // The backend has ended what was open before.
    closeViewing()
    hideOpenView()
    clearMessages()
    clearRefusedRequests()
    forgetReason(customer)
    watchShop(await readImpersonation(recordId))
  } finally {
    isOpening = false
    tellOtherTabs()
  }
}

/** By a form, so that the token is in no address, and in this page for no longer than this. */
function bring(subjectToken) {
  const field = element('input', { type: 'hidden', name: 'subject_token', value: subjectToken })
  const form = element('form', { method: 'post', action: door, target: '_blank', hidden: true }, field)
  document.body.append(form)
  form.submit()
  form.remove()
}

/** Shows what becomes of it, until the shop has said that it is over. */
export function watchShop(record) {
  clearInterval(timer)
  timer = setInterval(() => attempt(look), EVERY)
  show(record)
}

async function look() {
  const { id } = shown
  if (isLooking || isStopping(id)) return
  isLooking = true
  const record = await readImpersonation(id)
    .catch((error) => {
      // What is shown stays.
      if (isSignInOver(error)) throw error
    })
    .finally(() => {
      isLooking = false
    })
  if (record && shown?.id === id) show(record)
}

function show(record) {
  shown = record
  if (!canBeStopped(record) && record.session?.logout !== 'pending') clearInterval(timer)
  draw()
}

/** That the shop is open as a customer, or how it ended. */
function draw({ isEnding = false } = {}) {
  const texts = becomeOf(shown, engineer())
  const canEnd = canBeStopped(shown)
  // A button that is drawn anew while it is pressed loses the click.
  const now = `${shown.id} ${texts} ${canEnd} ${isEnding}`
  if (now === drawn) return
  drawn = now
  const act = canEnd
    ? button('Stop it', { onclick: endShop })
    : button('Close', { className: 'quiet', onclick: forgetShop })
  if (isEnding) {
    act.ariaDisabled = 'true'
    act.textContent = 'Stopping …'
  }
  byId('open-shop').replaceChildren(
    ...texts.map((text) => element('p', {}, text)),
    element('div', { className: 'buttons' }, act),
  )
  byId('open-shop').classList.toggle('over', !canEnd)
  byId('open-shop').hidden = false
}

/** No one has to sign out of the shop for that. */
export async function endShop() {
  const { id, names, userId } = shown
  draw({ isEnding: true })
  const what = `The shop as ${names[userId]}`
  const record = await stopOnRecord({ id, endsAt: stopsBefore(shown), what })
  if (record && shown?.id === id) show(record)
}

export function forgetShop() {
  clearInterval(timer)
  shown = undefined
  drawn = undefined
  byId('open-shop').hidden = true
  byId('open-shop').replaceChildren()
}
