/** OAuth 2.0 Token Exchange (RFC 8693), as a public client: the page has no secret and needs none. */
import { client, ordersApi } from './configuration.js'
import { provider, transport } from './provider.js'
import * as oauth from './vendor/oauth4webapi.js'

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token'

/** The provider refused. */
export class ExchangeRefused extends Error {
  constructor({ error, error_description }) {
    super(error_description)
    this.code = error
  }
}

/** The subject token names the customer, the actor token the engineer. */
export async function exchange({ subjectToken, actorToken }, send) {
  const as = await provider()
  const request = {
    subject_token: subjectToken,
    subject_token_type: ACCESS_TOKEN_TYPE,
    actor_token: actorToken,
    actor_token_type: ACCESS_TOKEN_TYPE,
    resource: ordersApi,
    scope: 'orders:read payments:read',
  }
  const options = { ...transport, [oauth.customFetch]: send }
  const response = await oauth.genericTokenEndpointRequest(
    as,
    client,
    oauth.None(),
    TOKEN_EXCHANGE,
    request,
    options,
  )
  return oauth.processGenericTokenEndpointResponse(as, client, response).catch((error) => {
    throw error instanceof oauth.ResponseBodyError ? new ExchangeRefused(error) : error
  })
}
