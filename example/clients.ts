/** The applications of the support desk. */
import type { ClientMetadata } from 'oidc-provider'
import { TOKEN_EXCHANGE } from '../src/index.ts' // yours: 'oidc-provider-impersonation'

/** A single-page application: no secret, so PKCE. */
export const supportDesk = {
  client_id: 'support-desk',
  client_name: 'Support desk',
  token_endpoint_auth_method: 'none',
  response_types: ['code'],
  grant_types: ['authorization_code', TOKEN_EXCHANGE],
} satisfies ClientMetadata

/** The console only asks the provider who has signed in: it gets no code and no token. */
export const consoleClient = {
  client_id: 'console',
  client_name: 'Console',
  token_endpoint_auth_method: 'none',
  response_types: ['none'],
  grant_types: [],
} satisfies ClientMetadata

/** Where the provider sends the browser back to after signing in at the console, and after signing out. */
export const consoleCallback = (baseUrl: string): string => `${baseUrl}/console/back`

/** The same for the desk. */
export const deskCallback = (baseUrl: string): string => `${baseUrl}/callback`

// The secrets are in the source so that the printed requests work. Yours are long, random and in a secret store.

/** A traditional web application: it has a secret, and sends it by HTTP Basic. */
const supportPortal = {
  client_id: 'support-portal',
  client_name: 'Support portal',
  client_secret: 'portal-secret-of-the-example',
  redirect_uris: ['http://127.0.0.1:8080/callback'],
  response_types: ['code'],
  grant_types: ['authorization_code', TOKEN_EXCHANGE],
} satisfies ClientMetadata

/** The application that customers use. Support opens it as one of them. */
export const shop = {
  client_id: 'corner-shop',
  client_name: 'The Corner Shop',
  client_secret: 'shop-secret-of-the-example',
  response_types: ['code'],
  grant_types: ['authorization_code'],
  // Its logout tokens name one session, so that the customer's own sessions stay open.
  backchannel_logout_session_required: true,
  // It refuses in a read-only session what changes anything (`readOnly()` of the resource-server package).
  impersonation_read_only: true,
} satisfies ClientMetadata

/** The backend that decides who may impersonate whom. Its `scope` lets it call the management API. */
export const supportBackend = {
  client_id: 'support-backend',
  client_secret: 'backend-secret-of-the-example',
  redirect_uris: [],
  response_types: [],
  grant_types: ['client_credentials'],
  scope: 'subject-tokens:create subject-tokens:read subject-tokens:revoke',
} satisfies ClientMetadata

/** The orders API, which exchanges the tokens it receives to call the billing API. */
export const ordersApiClient = {
  client_id: 'orders-api',
  client_secret: 'orders-secret-of-the-example',
  redirect_uris: [],
  response_types: [],
  grant_types: [TOKEN_EXCHANGE],
} satisfies ClientMetadata

export interface Addresses {
  /** Where the page of the support desk is served. */
  readonly baseUrl: string
  /** Where the shop is served. */
  readonly shop: string
  /** The only resource that support needs, and that an application may exchange for. */
  readonly ordersApi: string
  /** The only resource that the orders API may exchange for. */
  readonly billingApi: string
}

export const clientsFor = (addresses: Addresses): ClientMetadata[] => {
  const { baseUrl, ordersApi, billingApi } = addresses
  return [
    {
      ...supportDesk,
      redirect_uris: [deskCallback(baseUrl)],
      post_logout_redirect_uris: [`${baseUrl}/`],
      token_exchange_resources: [ordersApi],
    },
    {
      ...consoleClient,
      redirect_uris: [consoleCallback(baseUrl)],
      post_logout_redirect_uris: [consoleCallback(baseUrl)],
    },
    {
      ...shop,
      redirect_uris: [`${addresses.shop}/callback`],
      post_logout_redirect_uris: [`${addresses.shop}/`],
      // Support may open it, from this address on. One with https is better registered as `initiate_login_uri`, and this is `true`.
      impersonation_sessions: `${addresses.shop}/login`,
      backchannel_logout_uri: `${addresses.shop}/backchannel-logout`,
    },
    { ...supportPortal, token_exchange_resources: [ordersApi] },
    supportBackend,
    {
      ...ordersApiClient,
      token_exchange_audiences: [ordersApi],
      token_exchange_resources: [billingApi],
    },
  ]
}
