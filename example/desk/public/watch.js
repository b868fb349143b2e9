/** Looks at the record of the running view: anyone may stop it, from anywhere. */
import { readImpersonation } from './backend.js'
import { attempt, isSignInOver } from './failures.js'
import { runningImpersonation } from './impersonation.js'
import { alertPerson, clearMessages, messageShown } from './messages.js'
import { onNews } from './tabs.js'

/** Milliseconds. */
const EVERY = 2000

const UNSEEN =
  'The backend cannot be reached. This page cannot see at the moment whether someone stops the view; its time still ends it.'

let underWay = 0

/**
 * `onStopped` is called with the record, once, when it is revoked, and `onRefused` with the error when the backend does not
 * show it any more.
 */
export function watchViews(listeners) {
  async function look() {
    underWay++
    await attempt(() => lookAtRecord(listeners))
    underWay--
  }
  setInterval(() => {
    // A backend that hangs gets no second question: the browser has few connections, and stopping needs one.
    if (underWay === 0) look()
  }, EVERY)
  onNews(look)
}

export async function lookAtRecord({ onStopped, onRefused }) {
  const view = runningImpersonation()
  if (!view) return
  const record = await readImpersonation(view.recordId).catch((error) => {
    if (isSignInOver(error)) throw error
    if (runningImpersonation() !== view) return
    if (isRefusal(error)) return onRefused(error)
    if (messageShown() !== UNSEEN) alertPerson(UNSEEN)
  })
  // It may have ended meanwhile, or be another one.
  if (!record || runningImpersonation() !== view) return
  if (messageShown() === UNSEEN) clearMessages()
  if (record.state === 'revoked') await onStopped(record)
}

/** A decision of the backend, unlike a failure. */
const isRefusal = ({ service, status }) => service === 'backend' && [403, 404].includes(status)
