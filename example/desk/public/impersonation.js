/** The impersonation that runs in this page. Its access token lives in this module and nowhere else. */
import { endImpersonation, requestImpersonation } from './backend.js'
import { decode } from './claims.js'
import { exchange } from './exchange.js'
import { readOrders } from './orders.js'
import { engineer, SignInOver } from './session.js'

let running

/** What is being viewed, without the token: `{ recordId, customer, actor, claims, orders, wire, endsAt }`, or nothing. */
export const runningImpersonation = () => running

/** The three requests of the flow. What was running ends with the first, because the backend ends it too. */
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
    // Meanwhile the sign-in may have ended, and everything that hung on it.
    if (engineer() !== actor) throw new SignInOver()
    running = { recordId, customer, actor, claims: decode(access_token), orders, wire, endsAt }
  } catch (error) {
    // What was begun is not left lying around. If that fails too, the first reason is the one to tell.
    await endImpersonation(recordId).catch(() => {})
    throw error
  }
}

/** Forgets it here first: whatever the network does, nothing is viewed any more. */
export function dropImpersonation() {
  const dropped = running
  running = undefined
  return dropped
}
