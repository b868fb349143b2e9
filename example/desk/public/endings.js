/** Says why a view is over. */
import { clock } from './times.js'

/** Why someone has stopped it: `record` is the view's own, `engineer` the one who viewed. */
export function whyStopped({ revocation = {}, revokedAt, names }, customer, engineer) {
  const { cause, by, reason } = revocation
  const at = `at ${clock(revokedAt)}`
  if (cause === 'replay')
    return `Your view of ${customer.name} was stopped ${at}, because its subject token was used twice: someone else may have a copy. Report this to your security team.`
  const isOwn = by === engineer.id
  const who = isOwn ? 'You' : by ? (names[by] ?? by) : 'The operator'
  const said = `${who} stopped your view of ${customer.name} ${at}${isOwn ? ', in another tab' : ''}.`
  return reason ? `${said} The reason: ${reason}` : said
}

/** The orders API refuses it as soon as it has the next status list. This page does not wait for that. */
export const DISCARDED = 'This page has discarded its access token.'

export const expired = (customer, endsWithSignIn) =>
  endsWithSignIn
    ? `The view of ${customer.name} has ended because your sign-in ends now. Sign in again to continue.`
    : `The view of ${customer.name} has ended because its access token has expired. Start again to continue.`
