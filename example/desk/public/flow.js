/** The life of a view: it starts, it ends, it expires, or someone stops it. */
import { DISCARDED, expired, whyStopped } from './endings.js'
import { explain, isSignInOver } from './failures.js'
import { readCustomersInvoice, runningImpersonation, startImpersonation } from './impersonation.js'
import { alertPerson, tellPerson, tellProgress } from './messages.js'
import { viewAsked, visit } from './navigation.js'
import { closeViewing, discardView, inRecord, recordOf, stopOnRecord } from './record-stops.js'
import { tryNow } from './stops.js'
import { tellOtherTabs } from './tabs.js'
import { keepBanner, showBanner } from './views/banner.js'
import { clearRefusedRequests, markStarting, showRefusedRequests } from './views/customers.js'
import { hideOpenView } from './views/open-view.js'
import { askReason, forgetReason, VIEW } from './views/reason-dialog.js'
import { refreshRecord } from './views/record.js'
import { lookAtRecord } from './watch.js'
import { openWire } from './wire.js'

let starting
/** Whether a view is about to start. */
export const isStarting = () => starting !== undefined

/** The view that goes on for more minutes was ended meanwhile. */
let isUnwanted = false

/**
 * Asks for the reason, sends the requests, and shows the result. Resolves to whether requests were sent. `ends` is what is
 * open: the backend ends it when the next view starts.
 */
export async function askAndStart(customer, ends) {
  if (starting) {
    tellProgress(`One moment: the view of ${starting.name} is starting.`)
    return false
  }
  const given = await askReason(customer, VIEW, ends)
  if (given) await startViewing(customer, given)
  return given !== undefined
}

export async function startViewing(customer, given) {
  if (starting) return
  starting = customer
  isUnwanted = false
  let unwanted
  const wire = openWire()
  clearRefusedRequests()
  markStarting(customer)
  tellProgress('Asking the backend …')
  try {
    await startImpersonation(customer, given, wire, closeViewing)
    forgetReason(customer)
    hideOpenView()
    if (isUnwanted) unwanted = closeViewing()
    else showBanner(runningImpersonation())
    if (!isUnwanted) await visit('viewing')
  } catch (error) {
    const isOver = !runningImpersonation()
    if (isOver) closeViewing()
    if (isSignInOver(error)) throw error
    // More minutes are asked for on any page, also on that of the view that has ended.
    if (isOver) await leaveView()
    alertPerson(explain(error))
    showRefusedRequests(wire)
  } finally {
    starting = undefined
    markStarting()
    tellOtherTabs()
  }
  if (unwanted) await stopOnRecord(recordOf(unwanted))
}

/** The same customer once more, for the same reason: a view of its own, which the backend decides on and records. */
export async function viewOn() {
  const { customer, reason, ticketId } = runningImpersonation()
  await startViewing(customer, { reason, ticketId })
}

/** Discards it here first, so nothing is viewed any more even if the network fails afterwards. */
export async function endViewing() {
  // The view is closed, and its stop has failed so far.
  if (!runningImpersonation()) return tryNow()
  const tell = keepBanner()
  const view = discardView()
  const { customer } = view
  isUnwanted = starting?.id === customer.id
  const [record] = await Promise.all([stopOnRecord(recordOf(view), tell), visitCustomers()])
  tellPerson(
    record ? `The view of ${customer.name} has ended. ${DISCARDED}` : expired(customer, false),
    inRecord(),
  )
}

/** The page has to leave the view, also when the backend does not list the customers. */
const visitCustomers = () =>
  visit('customers').catch((error) => {
    if (isSignInOver(error)) throw error
    alertPerson(explain(error))
  })

/** The access token of a view that ends with the sign-in would live on, so the record is stopped. */
export async function expire() {
  const view = runningImpersonation()
  // The time of a view whose stop has failed so far.
  if (!view) return tryNow()
  const { customer, endsWithSignIn } = view
  const tell = endsWithSignIn ? keepBanner() : undefined
  if (tell) discardView()
  else closeViewing()
  await Promise.all([tell && stopOnRecord(recordOf(view), tell), leaveView()])
  tellPerson(expired(customer, endsWithSignIn))
}

/** Someone else has stopped it, or this engineer in another tab. */
export async function endStopped(record) {
  // Or the backend has, for the view that starts. If that one does not, the next look at the record tells.
  if (starting) return
  const { customer, actor } = closeViewing()
  await leaveView()
  alertPerson(whyStopped(record, customer, actor))
  await refreshRecord()
}

const leaveView = async () => {
  if (viewAsked() === 'viewing') await visit('customers')
}

/** The backend does not show the record to this engineer any more, or has none. */
export async function endRefused(error) {
  closeViewing()
  await leaveView()
  alertPerson(explain(error))
}

/** An API that refuses the token knows something that this page does not know yet. */
export async function readInvoice(orderId) {
  const view = runningImpersonation()
  try {
    return await readCustomersInvoice(orderId)
  } catch (error) {
    if (error.service !== 'API' || error.status !== 401) throw error
    await lookAtRecord({ onStopped: endStopped, onRefused: endRefused })
    if (starting || runningImpersonation() !== view) return undefined
    closeViewing()
    await leaveView()
    throw error
  }
}
