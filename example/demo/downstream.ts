/** The API behind the API: what the orders API does when it needs the payments of the customer it serves. */
import * as client from 'openid-client'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/index.ts' // yours: 'oidc-provider-impersonation'
import { ordersApiClient } from '../clients.ts'
import * as promises from './promises.ts'
import * as screen from './screen.ts'
import { connect, expecting, lookInto, type Walk } from './walk.ts'

const { client_id: clientId, client_secret: clientSecret } = ordersApiClient

/** Resolves to the token for the billing API. */
export async function downstream(
  given: Walk,
  accessToken: string,
  who: promises.Impersonated,
): Promise<string> {
  screen.step(
    'How the orders API did that: it exchanged the token it received',
    'For one of the billing API. Alice stays the user, Sam stays the actor, and the API is added.',
  )
  const orders = await connect(given, clientId, client.ClientSecretBasic(clientSecret))
  const billing = `${given.baseUrl}/billing-api`
  const request = {
    subject_token: accessToken,
    subject_token_type: ACCESS_TOKEN_TYPE,
    resource: billing,
    scope: 'payments:read',
  }
  const issued = await expecting(given, 'downstream response', promises.downstreamResponse, () =>
    client.genericGrantRequest(orders, TOKEN_EXCHANGE, request),
  )
  lookInto(given, 'billing token', issued.access_token, promises.billingToken(who))

  screen.step(
    'And called the billing API',
    `Which sees the whole chain: ${who.userId} ← ${who.actorId} ← ${clientId}.`,
  )
  const payments = new URL(`${billing}/payments`)
  await expecting(given, 'payments response', promises.paymentsResponse(who), () =>
    client.fetchProtectedResource(orders, issued.access_token, payments, 'GET'),
  )
  return issued.access_token
}
