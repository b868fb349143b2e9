/** The life of a view: it starts, it ends, it expires, or someone stops it. */
import { stopImpersonation } from './backend.js'
import { DISCARDED, expired, whyStopped } from './endings.js'
import { explain, isSignInOver } from './failures.js'
import {
  dropImpersonation,
  readCustomersInvoice,
  runningImpersonation,
  startImpersonation,
} from './impersonation.js'
import { alertPerson, tellPerson, tellProgress } from './messages.js'
import { viewAsked } from './navigation.js'
import { ApiError } from './orders.js'
import { tellOtherTabs } from './tabs.js'
import { hideBanner, showBanner } from './views/banner.js'
import { clearRefusedRequests, markStarting, showRefusedRequests } from './views/customers.js'
import { hideOpenView } from './views/open-view.js'
import { askReason, forgetReason } from './views/reason-dialog.js'
import { refreshRecord } from './views/record.js'
import { askStopReason } from './views/stop-dialog.js'
import { clearViewing } from './views/viewing.js'
import { lookAtRecord } from './watch.js'
import { openWire } from './wire.js'

const inRecord = () =>
  viewAsked() === 'record' ? undefined : { href: '#record', text: 'See it in the record' }

let starting
/** The view that goes on for more minutes was ended meanwhile. */
let isUnwanted = false

/** Asks for the reason, sends the requests, and shows the result. */
export async function askAndStart(customer, visit) {
  // One at a time: the backend ends the previous view when the next one starts.
  if (starting) return tellProgress(`One moment: the view of ${starting.name} is starting.`)
  const given = await askReason(customer)
  if (given) await startViewing(customer, given, visit)
}

export async function startViewing(customer, given, visit) {
  if (starting) return
  starting = customer
  isUnwanted = false
  const wire = openWire()
  clearRefusedRequests()
  markStarting(customer)
  tellProgress('Asking the backend …')
  try {
    await startImpersonation(customer, given, wire, closeViewing)
    forgetReason(customer)
    hideOpenView()
    if (isUnwanted) {
      await stopOnRecord(closeViewing().recordId, customer)
      return
    }
    showBanner(runningImpersonation())
    await visit('viewing')
  } catch (error) {
    const isOver = !runningImpersonation()
    if (isOver) closeViewing()
    if (isSignInOver(error)) throw error
    // More minutes are asked for on any page, also on that of the view that has ended.
    if (isOver) await leaveView(visit)
    alertPerson(explain(error))
    showRefusedRequests(wire)
  } finally {
    starting = undefined
    markStarting()
    tellOtherTabs()
  }
}

/** The same customer once more, for the same reason: a view of its own, which the backend decides on and records. */
export async function viewOn(visit) {
  const { customer, reason, ticketId } = runningImpersonation()
  await startViewing(customer, { reason, ticketId }, visit)
}

/** Discards it here first, so nothing is viewed any more even if the network fails afterwards. */
export async function endViewing(visit) {
  const { recordId, customer } = closeViewing()
  isUnwanted = starting?.id === customer.id
  const [, isStopped] = await Promise.all([visit('customers'), stopOnRecord(recordId, customer)])
  if (isStopped) tellPerson(`The view of ${customer.name} has ended. ${DISCARDED}`, inRecord())
}

/** Ends what this browser has started and this page does not show. */
export async function endOpenView({ id, userId, names }) {
  hideOpenView()
  const customer = { name: names[userId] ?? userId }
  if (await stopOnRecord(id, customer)) tellPerson(`The view of ${customer.name} has ended.`, inRecord())
}

/** Tells the person if it does not work. */
async function stopOnRecord(id, customer) {
  try {
    await stopImpersonation(id)
    tellOtherTabs()
    await refreshRecord()
    return true
  } catch (error) {
    if (isSignInOver(error)) throw error
    alertPerson(`The view of ${customer.name} is closed here, but not in the record. ${explain(error)}`)
    return false
  }
}

/** The access token of a view that ends with the sign-in would live on, so the record is stopped. */
export async function expire(visit) {
  const { recordId, customer, endsWithSignIn } = closeViewing()
  const stopping = endsWithSignIn ? stopOnRecord(recordId, customer) : true
  const [, isStopped] = await Promise.all([leaveView(visit), stopping])
  if (isStopped) tellPerson(expired(customer, endsWithSignIn))
}

/** Someone else has stopped it, or this engineer in another tab. */
export async function endStopped(record, visit) {
  // Or the backend has, for the view that starts. If that one does not, the next look at the record tells.
  if (starting) return
  const { customer, actor } = closeViewing()
  await leaveView(visit)
  alertPerson(whyStopped(record, customer, actor))
  await refreshRecord()
}

const leaveView = async (visit) => {
  if (viewAsked() === 'viewing') await visit('customers')
}

/** The backend does not show the record to this engineer any more, or has none. */
export async function endRefused(error, visit) {
  closeViewing()
  await leaveView(visit)
  alertPerson(explain(error))
}

/** An API that refuses the token knows something that this page does not know yet. */
export async function readInvoice(orderId, visit) {
  const view = runningImpersonation()
  try {
    return await readCustomersInvoice(orderId)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    await lookAtRecord({
      onStopped: (record) => endStopped(record, visit),
      onRefused: (refusal) => endRefused(refusal, visit),
    })
    if (starting || runningImpersonation() !== view) return undefined
    closeViewing()
    await leaveView(visit)
    throw error
  }
}

/**
 * Stops any recorded impersonation, no matter who started it, and returns its record as it is afterwards, or
 * `undefined` if the engineer gives no reason.
 */
export async function stopRecorded({ id }, what) {
  const reason = await askStopReason(id, what)
  if (!reason) return undefined
  const stopped = await stopImpersonation(id, reason)
  tellOtherTabs()
  const { accessToken } = stopped
  if (runningImpersonation()?.recordId === id) {
    closeViewing()
    tellPerson(`Stopped. ${DISCARDED}`)
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
