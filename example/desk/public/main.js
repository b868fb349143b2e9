/** Puts the parts together: who is signed in, what is being viewed, and which view is shown. */
import { readOpenView } from './backend.js'
import { byId } from './element.js'
import { attempt, isSignInOver, onSignInOver } from './failures.js'
import {
  askAndStart,
  endRefused,
  endStopped,
  endViewing,
  expire,
  isStarting,
  readInvoice,
  startViewing,
  viewOn,
} from './flow.js'
import { runningImpersonation } from './impersonation.js'
import { alertPerson, clearMessages } from './messages.js'
import { go, onVisit, show, viewAsked, visit } from './navigation.js'
import { askAndOpen, endShop, forgetShop, shopOpen, watchShop } from './open-shop.js'
import { closeViewing, endOpenView } from './record-stops.js'
import { engineer, finishSignIn, forgetSignIn, signIn, signOut } from './session.js'
import { forgetStops, isStopping, tryNow } from './stops.js'
import { onNews } from './tabs.js'
import { clearCustomers, showCustomers } from './views/customers.js'
import { hideOpenView, openViewShown, showOpenView } from './views/open-view.js'
import { closeReason, forgetReasons } from './views/reason-dialog.js'
import { clearRecord, showRecord } from './views/record.js'
import { closeDetails } from './views/record-details.js'
import { closeStopReason, forgetStopReasons } from './views/stop-dialog.js'
import { clearUnstopped } from './views/unstopped.js'
import { showViewing } from './views/viewing.js'
import { watchViews } from './watch.js'

const TITLE = 'See what a customer sees'
const SIGN_IN_OVER =
  'Your sign-in has ended, and so has your view. Sign in again: while the identity provider still knows you, this takes one click.'

/** Whether the backend has let the engineer in. */
let isIn = false
let isLeaving = false

onSignInOver(forgetEverything)
onVisit(open)
byId('sign-in').addEventListener('click', () => attempt(() => signIn(viewAsked() ?? 'customers')))
byId('sign-in').disabled = false
byId('sign-out').addEventListener('click', () => attempt(leave))
document.addEventListener('end', () => attempt(endViewing))
document.addEventListener('over', () => attempt(expire))
document.addEventListener('more', () => attempt(viewOn))
window.addEventListener('hashchange', () => {
  if (viewAsked() || location.hash === '') attempt(open)
})
// A page that the browser restores from its cache may show a view that has ended since.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload()
})
watchViews({
  async onStopped(record) {
    await endStopped(record)
    await findOpenView()
  },
  onRefused: endRefused,
})
// The tab that shows the view may have been closed, too.
onNews(() => attempt(findOpenView))

if (location.pathname === '/callback') await attempt(returnFromProvider)
else if (location.search === '?stayed') await attempt(() => signIn('customers', { prompt: 'none' }))
else await attempt(open)

async function returnFromProvider() {
  const callback = new URL(location.href)
  // The code must not stay in the address bar or the history.
  history.replaceState(null, '', '/')
  const view = await finishSignIn(callback, forgetEverything).catch((error) => {
    show('signed-out', TITLE)
    throw error
  })
  byId('engineer').textContent = engineer().name
  byId('account').hidden = false
  await visit(view)
}

async function open() {
  clearMessages()
  closeDialogs()
  if (!engineer()) return show('signed-out', TITLE)
  await showAsked().catch((error) => {
    // Someone whom the backend does not let in sees only the message that says so.
    if (!isIn) show('none', 'Support desk')
    throw error
  })
  // The sign-in may have ended meanwhile.
  if (!engineer()) return
  isIn = true
  byId('nav').hidden = false
  await findOpenView()
}

async function showAsked() {
  const view = viewAsked()
  const running = runningImpersonation()
  if (view === 'record') return showRecord()
  if (view === 'viewing' && running) return showViewing(running, readInvoice)
  if (view === 'viewing') go('customers', { instead: true })
  return showCustomers({
    onView: start,
    onShop: (person) => attempt(() => askAndOpen(person, whatIsOpen())),
  })
}

function start(person) {
  return attempt(async () => {
    // What could not start may still be open.
    if (await askAndStart(person, whatIsOpen())) await findOpenView()
  })
}

/** One at a time: what the next start ends. */
function whatIsOpen() {
  const view = runningImpersonation()
  if (view) return `your view of ${view.customer.name}`
  const record = openViewShown() ?? shopOpen()
  if (!record) return undefined
  const name = record.names[record.userId]
  return record.use ? `the shop as ${name}` : `your view of ${name}`
}

/** A view that this browser has started and this page does not show, whatever the reason. */
async function findOpenView() {
  if (!isIn || runningImpersonation() || isStarting()) return
  const read = await readOpenView().catch((error) => {
    if (isSignInOver(error)) throw error
  })
  // If it cannot be read, what is shown stays.
  if (!read) return
  const record = read.open
  if (isStarting() || isStopping(record?.id)) return
  if (!record || !isIn || runningImpersonation()) return hideOpenView()
  if (record.use) {
    hideOpenView()
    return watchShop(record)
  }
  const customer = { id: record.userId, name: record.names[record.userId] }
  showOpenView(record, {
    resume: ({ reason, ticketId }) => attempt(() => startViewing(customer, { reason, ticketId })),
    stop: () => attempt(() => endOpenView(record)),
  })
}

/** What was typed stays in them. */
function closeDialogs() {
  closeReason()
  closeStopReason()
  closeDetails()
}

/** The sign-in has ended, for whatever reason: nothing of it stays in the page. */
function forgetEverything() {
  forgetSignIn()
  forgetStops()
  clearUnstopped()
  closeViewing()
  closeDialogs()
  forgetReasons()
  forgetStopReasons()
  hideOpenView()
  forgetShop()
  clearCustomers()
  clearRecord()
  byId('engineer').replaceChildren()
  byId('account').hidden = true
  byId('nav').hidden = true
  isIn = false
  show('signed-out', TITLE)
  alertPerson(SIGN_IN_OVER)
}

/** Waits for a stop that is under way, and signs out even if it fails. */
async function leave() {
  if (isLeaving) return
  isLeaving = true
  const open = openViewShown()
  if (runningImpersonation()) attempt(endViewing)
  else if (open) attempt(() => endOpenView(open))
  else if (shopOpen()) attempt(endShop)
  await tryNow()
  await signOut().finally(() => {
    isLeaving = false
  })
}
