/** The life of a view: it starts, it ends, it expires, or someone stops it. */
import { stopImpersonation } from './backend.js'
import { explain, isSignInOver } from './failures.js'
import { dropImpersonation, runningImpersonation, startImpersonation } from './impersonation.js'
import { alertPerson, tellPerson } from './messages.js'
import { viewAsked } from './navigation.js'
import { clock } from './times.js'
import { hideBanner, showBanner } from './views/banner.js'
import { clearRefusedRequests, showRefusedRequests } from './views/customers.js'
import { askReason, forgetReason } from './views/reason-dialog.js'
import { askStopReason } from './views/stop-dialog.js'
import { clearViewing } from './views/viewing.js'
import { openWire } from './wire.js'

let starting = false

/** Asks for the reason, sends the three requests, and shows the result. */
export async function startViewing(customer, visit) {
  const given = await askReason(customer)
  // One at a time: the backend ends the previous view when the next one starts.
  if (!given || starting) return
  starting = true
  const wire = openWire()
  clearRefusedRequests()
  tellPerson('Asking the backend …')
  try {
    await startImpersonation(customer, given, wire)
    forgetReason()
    showBanner(runningImpersonation(), () => expire(visit))
    await visit('viewing')
  } catch (error) {
    if (!runningImpersonation()) closeViewing()
    if (isSignInOver(error)) throw error
    alertPerson(explain(error))
    showRefusedRequests(wire)
  } finally {
    starting = false
  }
}

/** Discards it here first, so nothing is viewed any more even if the network fails afterwards. */
export async function endViewing(visit) {
  const { recordId, customer, claims } = closeViewing()
  await visit('customers')
  try {
    await stopImpersonation(recordId, 'The engineer has ended the view')
  } catch (error) {
    if (isSignInOver(error)) throw error
    return alertPerson(
      `The view of ${customer.name} is closed here, but not in the record. ${explain(error)}`,
    )
  }
  tellPerson(`The view of ${customer.name} has ended. ${discarded(claims.exp)}`)
}

/** The orders API refuses it as soon as it has the next status list. This page does not wait for that. */
const discarded = (expiresAt) =>
  `This page has discarded its access token (it would have expired at ${clock(expiresAt)}).`

async function expire(visit) {
  const { customer } = closeViewing()
  if (viewAsked() !== 'record') await visit('customers')
  tellPerson(
    `The view of ${customer.name} has ended because its access token has expired. Start again to continue.`,
  )
}

/**
 * Stops any recorded impersonation, no matter who started it, and returns its record as it is afterwards, or
 * `undefined` if the engineer gives no reason.
 */
export async function stopRecorded({ id }, what) {
  const reason = await askStopReason(id, what)
  if (!reason) return undefined
  const stopped = await stopImpersonation(id, reason)
  const { accessToken } = stopped
  if (runningImpersonation()?.recordId === id) {
    closeViewing()
    tellPerson(`Stopped. ${discarded(accessToken.expiresAt)}`)
  } else if (accessToken) tellPerson('Stopped. The orders API refuses its access token within seconds.')
  else tellPerson('Stopped. Its subject token can no longer be exchanged.')
  return stopped
}

/** Removes the view from the page, and returns what was viewed. */
export function closeViewing() {
  hideBanner()
  clearViewing()
  return dropImpersonation()
}
