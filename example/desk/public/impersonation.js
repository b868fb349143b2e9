/** The impersonation that runs in this page. Its access token is kept in this module and nowhere else. */
import { requestImpersonation, stopImpersonation } from './backend.js'
import { decode } from './claims.js'
import { ordersApi } from './configuration.js'
import { exchange } from './exchange.js'
import { bodyOf } from './send.js'
import { engineer, SignInOver } from './session.js'

/** Milliseconds between the end of the view and that of the sign-in, in which the view is stopped on the record. */
const FOR_THE_RECORD = 5000

let running
let token

/**
 * What is being viewed, without the token: `{ recordId, customer, actor, reason, ticketId, claims, orders, profile,
 * wire, lasts, endsAt, tokenEndsAt, endsWithSignIn }`, if anything. `lasts` are the milliseconds that its token was given.
 */
export const runningImpersonation = () => running

/** Sends the requests of the flow. The first one ends the previous view, which `closeFormer` removes from the page. */
export async function startImpersonation(customer, given, wire, closeFormer) {
  const actor = engineer()
  const request = { userId: customer.id, ...given }
  const { subjectToken, recordId } = await requestImpersonation(request, wire.fetch)
  closeFormer()
  try {
    const tokens = { subjectToken, actorToken: actor.accessToken }
    const { access_token, expires_in } = await exchange(tokens, wire.fetch)
    const lasts = expires_in * 1000
    const ends = endOf(Date.now() + lasts, actor.endsAt - FOR_THE_RECORD)
    const orders = await read('/orders', access_token, wire)
    const profile = await read('/profile', access_token, wire)
    // The sign-in may have ended in the meantime, and everything that depends on it.
    if (engineer() !== actor) throw new SignInOver()
    token = access_token
    const claims = decode(access_token)
    running = { recordId, customer, actor, ...given, claims, orders, profile, wire, lasts, ...ends }
  } catch (error) {
    // Do not leave a started impersonation behind. If stopping it fails too, report the first error.
    await stopImpersonation(recordId).catch(() => {})
    throw error
  }
}

/** A view does not outlive the sign-in of its engineer. */
const endOf = (tokenEnds, signInEnds) => ({
  tokenEndsAt: tokenEnds,
  endsAt: Math.min(tokenEnds, signInEnds),
  endsWithSignIn: signInEnds < tokenEnds,
})

/** How long a view of the same customer would last that starts now, in milliseconds. */
export const nextLasts = ({ lasts, actor }) => Math.min(lasts, actor.endsAt - FOR_THE_RECORD - Date.now())

/** Reads one more thing that the customer sees. */
export const readCustomersInvoice = (orderId) =>
  read(`/orders/${encodeURIComponent(orderId)}/invoice`, token, running.wire)

/** The API whose data is shown knows nothing about this page, only the token. */
async function read(path, accessToken, wire) {
  const headers = { Authorization: `Bearer ${accessToken}` }
  return bodyOf('API', await wire.fetch(`${ordersApi}${path}`, { method: 'GET', headers }))
}

/** Discards the impersonation, so nothing is viewed any more even if the network fails. */
export function dropImpersonation() {
  const dropped = running
  running = undefined
  token = undefined
  return dropped
}
