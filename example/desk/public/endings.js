/** Says why a view is over, and what has become of the shop. */
import { stateOf } from './states.js'
import { clock } from './times.js'

/** Why someone has stopped it: `record` is the view's own, `engineer` the one who viewed. */
export function whyStopped({ revocation = {}, revokedAt, names }, customer, engineer) {
  const { cause, by, reason } = revocation
  const at = `at ${clock(revokedAt)}`
  if (cause === 'replay')
    return `Your view of ${customer.name} was stopped ${at}, because its subject token was used twice: someone else may have a copy. Report this to your security team.`
  const isOwn = by === engineer.id
  const who = isOwn ? 'You' : by ? names[by] : 'The operator'
  const said = `${who} stopped your view of ${customer.name} ${at}${isOwn ? ', in another tab' : ''}.`
  return reason ? `${said} The reason: ${reason}` : said
}

/** The orders API refuses it as soon as it has the next status list. This page does not wait for that. */
export const DISCARDED = 'This page has discarded its access token.'

export const expired = (customer, endsWithSignIn) =>
  endsWithSignIn
    ? `The view of ${customer.name} has ended because your sign-in ends now. Sign in again to continue.`
    : `The view of ${customer.name} has ended because its access token has expired. Start again to continue.`

/** What has become of the shop that was opened as a customer: one text for each paragraph. */
export function becomeOf(record, engineer) {
  const { userId, names, session, revocation, readOnly } = record
  const name = names[userId]
  const state = stateOf(record)
  const may = readOnly === true ? 'Read only.' : 'You can change things there.'
  if (state === 'active')
    return [`The shop waits for you in another tab: confirm there that you open it as ${name}.`, may]
  if (state === 'live')
    return [`The shop is open as ${name} in another tab, until ${clock(session.endsAt)}.`, may]
  if (!session && !revocation) return [`The shop was not opened as ${name} in time.`]
  const ended = endOfShop(record, { name, state, engineer })
  return session ? [ended, heardOf(session)] : [ended]
}

function endOfShop(record, { name, state, engineer }) {
  const { revokedAt, session } = record
  if (state === 'self') return `You stopped the shop as ${name} at ${clock(revokedAt)}.`
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
