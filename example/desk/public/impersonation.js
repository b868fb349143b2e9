/** The impersonation that runs in this page. Its access token is kept in this module and nowhere else. */
import { requestImpersonation, stopImpersonation } from './backend.js'
import { decode } from './claims.js'
import { exchange } from './exchange.js'
import { readOrders } from './orders.js'
import { engineer, SignInOver } from './session.js'

let running

/** What is being viewed, without the token: `{ recordId, customer, actor, ticketId, claims, orders, wire, endsAt }`, if anything. */
export const runningImpersonation = () => running

/** Sends the three requests of the flow. The first one ends the previous view, because the backend ends it too. */
export async function startImpersonation(customer, { reason, ticketId }, wire) {
  const actor = engineer()
  const request = { userId: customer.id, reason, ticketId }
  const { subjectToken, recordId } = await requestImpersonation(request, wire.fetch)
  running = undefined
  try {
    const tokens = { subjectToken, actorToken: actor.accessToken }
    const { access_token, expires_in } = await exchange(tokens, wire.fetch)
    const endsAt = Date.now() + expires_in * 1000
    const orders = await readOrders(access_token, wire.fetch)
    // The sign-in may have ended in the meantime, and everything that depends on it.
    if (engineer() !== actor) throw new SignInOver()
    running = { recordId, customer, actor, ticketId, claims: decode(access_token), orders, wire, endsAt }
  } catch (error) {
    // Do not leave a started impersonation behind. If stopping it fails too, report the first error.
    await stopImpersonation(recordId, 'The view could not start').catch(() => {})
    throw error
  }
}

/** Discards the impersonation, so nothing is viewed any more even if the network fails. */
export function dropImpersonation() {
  const dropped = running
  running = undefined
  return dropped
}
