/** Where the other services are. Here they all share the page's origin; yours have their own. */

export const issuer = new URL('/oidc', location.origin)
export const backendUrl = new URL('/backend/api', location.origin).href
export const ordersApi = new URL('/orders-api', location.origin).href

export const client = { client_id: 'support-desk' }
export const redirectUri = new URL('/callback', location.origin).href
export const afterSignOut = new URL('/', location.origin).href
