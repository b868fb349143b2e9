/** The provider, with the plugin attached. Its configuration has only options of oidc-provider; `configure` extends it. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import {
  type Client,
  type Configuration,
  errors,
  type JWK,
  Provider,
  type ResourceServer,
} from 'oidc-provider'
import type { Sequelize } from 'sequelize'
// Yours: 'oidc-provider-impersonation' and 'oidc-provider-impersonation/sequelize'.
import { TOKEN_EXCHANGE } from '../src/index.ts'
import { createAdapter } from '../src/sequelize/index.ts'
import { findAccount } from './accounts.ts'
import { PAYMENTS_SCOPE } from './billing-api.ts'
import { type Addresses, clientsFor, ordersApiClient, supportBackend } from './clients.ts'
import { impersonationOf } from './impersonation.ts'
import { errorPage, loggedOutPage, logoutPage } from './login/pages.ts'
import { loginUrl } from './login/router.ts'
import { ORDERS_SCOPES, WRITE_SCOPES } from './orders-api.ts'

export function provide(sequelize: Sequelize, addresses: Addresses) {
  const impersonation = impersonationOf(sequelize, addresses.baseUrl)
  const configuration = configurationOf(sequelize, addresses)
  const provider = new Provider(`${addresses.baseUrl}/oidc`, impersonation.configure(configuration))
  impersonation.attach(provider)
  return { provider, impersonation, managementApi: impersonation.router() }
}

function configurationOf(sequelize: Sequelize, addresses: Addresses): Configuration {
  return {
    // Stores the provider's codes, sessions, grants and opaque tokens.
    adapter: createAdapter(sequelize),
    clients: clientsFor(addresses),
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    // New at every start, so JWTs and sessions end with the process. Yours come from a secret store.
    jwks: { keys: [signingKey()] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    findAccount,
    scopes: ['openid'],
    claims: { openid: ['sub', 'name'] },
    interactions: { url: (_ctx, { uid }) => loginUrl(uid) },
    // CORS of the provider's endpoints: a page may call them from the origin of its registered redirect URI.
    clientBasedCORS: (_ctx, origin, client) =>
      // A native application's address has no origin, and `null` is also what sandboxed pages send.
      origin !== 'null' && (client.redirectUris?.some((uri) => new URL(uri).origin === origin) ?? false),
    renderError: errorPage,
    // oidc-provider does not call addresses of this machine, where the shop of the example is. Yours is elsewhere: leave this out.
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }),
    ttl: {
      AccessToken: (_ctx, { resourceServer }) => resourceServer?.accessTokenTTL ?? 600,
      ClientCredentials: 600,
      Grant: 3600,
      IdToken: 600,
      Interaction: 600,
      Session: 3600,
    },
    features: {
      devInteractions: { enabled: false },
      // Only the backend needs to check an engineer's token.
      introspection: {
        enabled: true,
        allowedPolicy: (_ctx, client) => client.clientId === supportBackend.client_id,
      },
      // Tells the shop when a session has ended.
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { logoutSource: logoutPage, postLogoutSuccessSource: loggedOutPage },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: resourcesAt(addresses),
      },
    },
  }
}

function resourcesAt({ ordersApi, billingApi }: Addresses) {
  return (_ctx: unknown, resource: string, client: Client): ResourceServer => {
    const scopes = new Map([
      // The backend gets no token for the orders: it grants access, and does not use it.
      [ordersApi, client.grantTypeAllowed(TOKEN_EXCHANGE) ? ORDERS_SCOPES.join(' ') : undefined],
      // Applications reach the payments through the orders API only.
      [billingApi, client.clientId === ordersApiClient.client_id ? PAYMENTS_SCOPE : undefined],
    ])
    const scope = scopes.get(resource)
    if (scope === undefined) throw new errors.InvalidTarget()
    return {
      audience: resource,
      scope,
      // Both APIs refuse a read-only token where a request would change something (`createVerifier`).
      readOnly: true,
      ...(resource === ordersApi && { writeScopes: WRITE_SCOPES }),
      accessTokenFormat: 'jwt',
      // A view ends after five minutes, even if no one stops it.
      accessTokenTTL: 300,
      jwt: { sign: { alg: 'ES256' } },
    }
  }
}

function signingKey(): JWK {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...(privateKey.export({ format: 'jwk' }) as JWK), alg: 'ES256', use: 'sig' }
}
