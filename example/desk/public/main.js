/** Puts the parts together: who is signed in, what is being viewed, and which view is shown. */
import { listPeople } from './backend.js'
import { byId } from './element.js'
import { explain, isSignInOver } from './failures.js'
import { closeViewing, endViewing, startViewing, stopRecorded } from './flow.js'
import { runningImpersonation } from './impersonation.js'
import { alertPerson, clearMessages } from './messages.js'
import { go, show, viewAsked } from './navigation.js'
import { engineer, finishSignIn, forgetSignIn, signIn, signOut } from './session.js'
import { showCustomers } from './views/customers.js'
import { closeReason } from './views/reason-dialog.js'
import { showRecord } from './views/record.js'
import { closeStopReason } from './views/stop-dialog.js'
import { showViewing } from './views/viewing.js'

const TITLE = 'See what a customer sees'
const SIGN_IN_OVER =
  'Your sign-in has ended, and so has your view. Sign in again: while the identity provider still knows you, this takes one click.'

let people = []

byId('sign-in').addEventListener('click', () => attempt(() => signIn(viewAsked() ?? 'customers')))
byId('sign-out').addEventListener('click', () => attempt(leave))
document.addEventListener('end', () => attempt(() => endViewing(visit)))
window.addEventListener('hashchange', () => {
  if (viewAsked() || location.hash === '') attempt(open)
})
// A page that the browser restores from its cache may show a view that has ended since.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload()
})

if (location.pathname === '/callback') await attempt(returnFromProvider)
else await attempt(open)

/** Runs an action that may fail, and tells the person if it does. */
async function attempt(action) {
  try {
    await action()
  } catch (error) {
    if (isSignInOver(error)) forgetEverything()
    else alertPerson(explain(error))
  }
}

async function returnFromProvider() {
  const callback = new URL(location.href)
  // The code must not stay in the address bar or the history.
  history.replaceState(null, '', '/')
  show('none', 'Signing in …')
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
  if (!engineer()) return show('signed-out', TITLE)
  if (people.length === 0) await enter()
  const view = viewAsked()
  const running = runningImpersonation()
  if (view === 'record') await showRecord(people, { stop: stopRecorded, attempt })
  else if (view === 'viewing' && running) showViewing(running)
  else showCustomers(people, (person) => attempt(() => startViewing(person, visit)))
}

/** Someone whom the backend does not let in sees only the message that says so. */
async function enter() {
  show('none', 'Support desk')
  people = await listPeople()
  byId('nav').hidden = false
}

async function visit(view) {
  go(view)
  await open()
}

/** The sign-in has ended, for whatever reason: nothing of it stays in the page. */
function forgetEverything() {
  forgetSignIn()
  closeViewing()
  closeReason()
  closeStopReason()
  people = []
  for (const id of ['people', 'record-rows', 'engineer']) byId(id).replaceChildren()
  byId('account').hidden = true
  byId('nav').hidden = true
  show('signed-out', TITLE)
  alertPerson(SIGN_IN_OVER)
}

async function leave() {
  // Sign out even if the backend fails.
  if (runningImpersonation()) await endViewing(visit).catch(() => {})
  await signOut()
}
