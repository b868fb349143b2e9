/** What happens around a view of a customer: it starts, it ends, it runs out, somebody stops it. */
import { endImpersonation } from './backend.js'
import { explain, isSignInOver } from './failures.js'
import { dropImpersonation, runningImpersonation, startImpersonation } from './impersonation.js'
import { alertPerson, tellPerson } from './messages.js'
import { viewAsked } from './navigation.js'
import { clock } from './times.js'
import { hideBanner, showBanner } from './views/banner.js'
import { clearRefusedRequests, showRefusedRequests } from './views/customers.js'
import { askReason, forgetReason } from './views/reason-dialog.js'
import { clearViewing } from './views/viewing.js'
import { openWire } from './wire.js'

let starting = false

/** Asks why, goes through the three requests, and shows what came of it. */
export async function startViewing(customer, visit) {
  const answers = await askReason(customer)
  // One at a time: the backend ends the last one when the next begins.
  if (!answers || starting) return
  starting = true
  const wire = openWire()
  clearRefusedRequests()
  tellPerson('Asking the backend …')
  try {
    await startImpersonation(customer, answers, wire)
    forgetReason()
    showBanner(runningImpersonation(), () => runOut(visit))
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

/** Forgets it here first: whatever the network does then, nothing is viewed any more. */
export async function endViewing(visit) {
  const { recordId, customer, claims } = closeViewing()
  await visit('customers')
  try {
    await endImpersonation(recordId)
  } catch (error) {
    if (isSignInOver(error)) throw error
    return alertPerson(
      `The view of ${customer.name} is closed here, but not in the record. ${explain(error)}`,
    )
  }
  tellPerson(
    `The view of ${customer.name} has ended. The JWT itself lives until ${clock(claims.exp)}, but nobody holds it any more.`,
  )
}

async function runOut(visit) {
  const { customer } = closeViewing()
  if (viewAsked() !== 'record') await visit('customers')
  tellPerson(`The view of ${customer.name} has ended, because its access token has. To go on, start again.`)
}

/** Stops any recorded one, by whomever it was started, and answers its item as it is then. */
export async function stopRecorded(item) {
  await endImpersonation(item.id)
  const own = runningImpersonation()?.recordId === item.id
  if (own) closeViewing()
  const { accessToken } = item
  tellPerson(
    accessToken
      ? `Stopped. Its JWT lives until ${clock(accessToken.expiresAt)}: a JWT cannot be taken back${own ? ', but this page has dropped it' : ''}.`
      : 'Stopped. Its subject token can no longer be exchanged.',
  )
  return { ...item, state: 'revoked' }
}

/** Takes what is viewed off the page, and answers what it was. */
export function closeViewing() {
  hideBanner()
  clearViewing()
  return dropImpersonation()
}
