/** The identity provider's metadata, and how to connect to it. */
import { issuer } from './configuration.js'
import * as oauth from './vendor/oauth4webapi.js'

/** Plain HTTP is for loopback only. */
export const transport = { [oauth.allowInsecureRequests]: location.origin.startsWith('http://127.0.0.1:') }

let found

/** Read once. A failure is not cached. */
export async function provider() {
  found ??= await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, transport))
  return found
}
