/** Looks at the record of the running view: anyone may stop it, from anywhere. */
import { readImpersonation } from './backend.js'
import { isSignInOver } from './failures.js'
import { runningImpersonation } from './impersonation.js'
import { alertPerson, clearMessages, messageShown } from './messages.js'
import { onNews } from './tabs.js'

/** Milliseconds. */
const EVERY = 5000

const UNSEEN =
  'The backend cannot be reached. This page cannot see at the moment whether someone stops the view; its time still ends it.'

/** `onStopped` is called with the record, once, when it is revoked; `attempt` runs actions that may fail. */
export function watchViews({ onStopped, attempt }) {
  const look = () => attempt(() => lookAtRecord(onStopped))
  setInterval(look, EVERY)
  // Browsers slow the timers of hidden pages down.
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) look()
  })
  onNews(look)
}

export async function lookAtRecord(onStopped) {
  const view = runningImpersonation()
  if (!view) return
  const record = await readImpersonation(view.recordId).catch((error) => {
    if (isSignInOver(error)) throw error
    if (runningImpersonation() === view) alertPerson(UNSEEN)
  })
  // It may have ended meanwhile, or be another one.
  if (!record || runningImpersonation() !== view) return
  if (messageShown() === UNSEEN) clearMessages()
  if (record.state === 'revoked') await onStopped(record)
}
