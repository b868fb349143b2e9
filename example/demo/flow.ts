/** The flow, with `openid-client`: first the shop, then an access token, from the engineer's sign-in to the refused second use. */
import * as client from 'openid-client'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/index.ts' // yours: 'oidc-provider-impersonation'
import { deskCallback, ordersApiClient, shop, supportBackend, supportDesk } from '../clients.ts'
import { STATUS_LIST_TTL } from '../impersonation.ts'
import { Browser } from './browser.ts'
import { differences } from './differences.ts'
import * as promises from './promises.ts'
import * as screen from './screen.ts'
import { openAndStop } from './session.ts'
import { connect, expecting, issue, lookInto, showRecord, stop, until, type Walk, type Way } from './walk.ts'
import { openWire } from './wire.ts'

export interface Outcome {
  readonly checks: number
  readonly passed: number
  /** Everything that was not as promised. */
  readonly found: readonly string[]
}

/** Runs the flow. Each step takes the walk, and what the steps before it have brought. */
export async function runFlow(
  { baseUrl, shop }: Pick<Way, 'baseUrl' | 'shop'>,
  send = fetch,
): Promise<Outcome> {
  const found: string[] = []
  let checks = 0
  let passed = 0
  const check = (what: string, actual: unknown, expected: unknown) => {
    const differing = differences(what, actual, expected)
    checks += 1
    if (differing.length === 0) passed += 1
    found.push(...differing)
    screen.verdict(what, differing)
  }
  try {
    await walk({ baseUrl, shop, send, wire: openWire(send), check })
  } catch (error) {
    checks += 1
    found.push(`the flow stopped: ${error instanceof Error ? error.message : String(error)}`)
  }
  return { checks, passed, found }
}

async function walk(way: Way): Promise<void> {
  const { baseUrl } = way
  const desk = await connect(way, supportDesk.client_id, client.None())
  const { client_id, client_secret } = supportBackend
  const backend = await connect(way, client_id, client.ClientSecretBasic(client_secret))
  const who: promises.Impersonated = {
    baseUrl,
    userId: 'alice',
    actorId: 'sam',
    clientId: supportDesk.client_id,
    reason: 'A teapot is missing',
    ticketId: 'T-1',
  }

  screen.step('The backend gets a management token', 'Client credentials, for the management API only.')
  const managementToken = await getManagementToken(way, backend)
  const given: Walk = { ...way, desk, backend, managementToken, who }

  await openAndStop({ ...given, who: { ...who, clientId: shop.client_id } })

  screen.step(
    'Without an application: Sam signs in at the support desk',
    'Authorization code with PKCE. The desk will exchange a subject token for an access token.',
  )
  const actorToken = await signIn(given)

  screen.step(
    'The backend gets a subject token for Alice',
    'It has decided that Sam, and no one else, may become Alice.',
  )
  const promise = promises.subjectTokenResponse(baseUrl)
  const { subjectToken, id } = await issue(given, 'subject token response', promise)

  screen.step('The support desk exchanges it', 'RFC 8693. The actor token says who is acting.')
  const request = {
    subject_token: subjectToken,
    subject_token_type: ACCESS_TOKEN_TYPE,
    actor_token: actorToken,
    actor_token_type: ACCESS_TOKEN_TYPE,
    resource: `${baseUrl}/orders-api`,
    scope: 'orders:read payments:read',
  }
  const accessToken = await exchange(given, desk, 'exchange response', promises.exchangeResponse, request)
  lookInto(given, 'access token', accessToken, promises.accessToken(who), {
    sub: 'it is for Alice',
    act: 'and says that Sam acts',
  })

  screen.step(
    'The support desk calls the orders API',
    'The API shows her orders, and knows that Sam is acting. What she has paid, it asks the billing API.',
  )
  const orders = { url: `${baseUrl}/orders-api/orders`, token: accessToken }
  await call(given, desk, 'orders response', promises.ordersResponse(who), orders)

  const payments = { url: `${baseUrl}/billing-api/payments`, token: await passOn(given, accessToken) }

  screen.step('A colleague stops it', 'The record keeps who did so, and why.')
  await stop(given, id)

  screen.step(
    'Both APIs have the next status list',
    `The provider publishes what was stopped. The APIs read the list again after ${STATUS_LIST_TTL} seconds.`,
  )
  await expectStopped(given, 'stopped token', orders)
  await expectStopped(given, 'stopped billing token', payments)

  screen.step('Someone uses the subject token again', 'It works only once, and tells no one why it does not.')
  screen.markResponse('the second use is refused')
  // The client library throws on a refusal. Only the response matters here.
  await expecting(given, 'second use', promises.refusedResponse, () =>
    client.genericGrantRequest(desk, TOKEN_EXCHANGE, request).catch(() => {}),
  )

  screen.step(
    'The record has all of it',
    'Who became whom, why, where and for how long, who stopped it, and that someone tried again.',
  )
  await showRecord(given, id, 'record', promises.recordResponse(who))
}

async function getManagementToken(way: Way, backend: client.Configuration): Promise<string> {
  const request = { resource: `${way.baseUrl}/api`, scope: promises.MANAGEMENT_SCOPE }
  const tokens = await expecting(way, 'management token response', promises.managementResponse, () =>
    client.clientCredentialsGrant(backend, request),
  )
  const expected = promises.managementToken(way.baseUrl, supportBackend.client_id)
  lookInto(way, 'management token', tokens.access_token, expected)
  return tokens.access_token
}

async function signIn(given: Walk): Promise<string> {
  const { desk, who } = given
  const redirectUri = deskCallback(given.baseUrl)
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const authorizationUrl = client.buildAuthorizationUrl(desk, {
    redirect_uri: redirectUri,
    // No resource: the access token is opaque, and only says who Sam is.
    scope: 'openid',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state,
  })
  const browser = new Browser(given.send, redirectUri)
  const loginPage = await browser.visit(authorizationUrl)
  const consentPage = await browser.visit(loginPage, { account: who.actorId })
  const callback = await browser.visit(consentPage, { decision: 'allow' })
  screen.hops(browser.requests)
  const tokens = await expecting(given, 'sign-in response', promises.actorResponse, () =>
    client.authorizationCodeGrant(desk, callback, { pkceCodeVerifier, expectedState: state }),
  )
  return tokens.access_token
}

/** By the desk, or by the orders API for the API behind it. */
async function exchange(
  given: Walk,
  by: client.Configuration,
  what: string,
  promise: object,
  request: Record<string, string>,
): Promise<string> {
  const issued = await expecting(given, what, promise, () =>
    client.genericGrantRequest(by, TOKEN_EXCHANGE, request),
  )
  return issued.access_token
}

interface Called {
  readonly url: string
  readonly token: string
}

const call = (given: Walk, by: client.Configuration, what: string, promise: object, { url, token }: Called) =>
  expecting(given, what, promise, () => client.fetchProtectedResource(by, token, new URL(url), 'GET'))

/** The API behind the API: what the orders API does when it needs the payments of the customer it serves. */
async function passOn(given: Walk, accessToken: string): Promise<string> {
  const { baseUrl, who } = given
  const { client_id: clientId, client_secret: clientSecret } = ordersApiClient
  screen.step(
    'How the orders API did that: it exchanged the token it received',
    'For one of the billing API. Alice stays the user, Sam stays the actor, and the API is added.',
  )
  const orders = await connect(given, clientId, client.ClientSecretBasic(clientSecret))
  const token = await exchange(given, orders, 'downstream response', promises.downstreamResponse, {
    subject_token: accessToken,
    subject_token_type: ACCESS_TOKEN_TYPE,
    resource: `${baseUrl}/billing-api`,
    scope: 'payments:read',
  })
  lookInto(given, 'billing token', token, promises.billingToken(who))

  screen.step(
    'And called the billing API',
    `Which sees the whole chain: ${who.userId} ← ${who.actorId} ← ${clientId}.`,
  )
  const url = `${baseUrl}/billing-api/payments`
  await call(given, orders, 'payments response', promises.paymentsResponse(who), { url, token })
  return token
}

/** Within the longest time that a JWT works after it was stopped: the list's own, and two seconds to build and to fetch it. */
async function expectStopped(given: Walk, what: string, called: Called): Promise<void> {
  const headers = { authorization: `Bearer ${called.token}` }
  await until(async () => {
    const response = await given.send(called.url, { headers })
    await response.body?.cancel()
    return !response.ok
  }, STATUS_LIST_TTL + 2)
  await call(given, given.desk, what, promises.stoppedResponse, called).catch(() => {})
}
