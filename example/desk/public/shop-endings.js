/** Says what has become of the shop that was opened as a customer, and what the shop has said itself. */
import { whyStopped } from './endings.js'
import { stateOf } from './states.js'
import { clock } from './times.js'

/** One text for each paragraph. */
export function becomeOf(record, engineer) {
  const { userId, names, session, revocation } = record
  const name = names[userId] ?? userId
  const state = stateOf(record)
  if (state === 'active')
    return [`The shop waits for you in another tab: confirm there that you open it as ${name}.`]
  if (state === 'live') return [`The shop is open as ${name} in another tab, until ${clock(session.endsAt)}.`]
  if (!session && !revocation) return [`The shop was not opened as ${name} in time.`]
  const ended = endOf(record, { name, state, engineer })
  return session ? [ended, heardOf(session)] : [ended]
}

function endOf(record, { name, state, engineer }) {
  const { revokedAt, session } = record
  if (state === 'self') return `You ended the shop as ${name} at ${clock(revokedAt)}.`
  if (state === 'signedOut') return `You left the shop as ${name} at ${clock(revokedAt)}.`
  if (revokedAt) return whyStopped(record, { name }, engineer)
  return `The time of the shop as ${name} was over at ${clock(session.endsAt)}.`
}

/** What the application has said to its end (`session.logout` of the record). */
export function heardOf({ logout, logoutAt }) {
  if (logout === 'confirmed') return `The shop confirmed at ${clock(logoutAt)} that its own session is over.`
  if (logout === 'pending') return 'The shop has not confirmed an end of its own session yet.'
  if (logout === 'gaveUp') return 'The shop never confirmed: its own session may still be open.'
  return 'The shop cannot be told: its own session may still be open.'
}
