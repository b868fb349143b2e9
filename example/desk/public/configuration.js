/** Where the other services are. Here they all share the page's origin; yours have their own. */

export const issuer = new URL('/oidc', location.origin)
export const backendUrl = new URL('/backend/api', location.origin).href
export const ordersApi = new URL('/orders-api', location.origin).href

/** Where the provider takes subject tokens that open an application. */
export const door = new URL('/impersonate', location.origin).href

export const client = { client_id: 'support-desk' }
export const redirectUri = new URL('/callback', location.origin).href
export const afterSignOut = new URL('/', location.origin).href

/** Seconds, also of the shop. The provider decides; this is only what the dialog says beforehand. */
export const VIEW_LASTS = 300

/** Where a ticket is, if it looks like one. */
export const ticketUrl = (ticketId) =>
  /^[A-Z]+-\d+$/.test(ticketId) ? `https://tickets.example.com/${ticketId}` : undefined
