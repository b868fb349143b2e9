/** The flow, with `openid-client`: first the shop, then an access token, from the engineer's sign-in to the refused second use. */
import * as client from 'openid-client'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/index.ts' // yours: 'oidc-provider-impersonation'
import { deskCallback, shop, supportBackend, supportDesk } from '../clients.ts'
import { Browser } from './browser.ts'
import { differences } from './differences.ts'
import { downstream } from './downstream.ts'
import * as promises from './promises.ts'
import { showRecord } from './record.ts'
import * as screen from './screen.ts'
import { openAndStop } from './session.ts'
import { stop } from './stop.ts'
import { connect, expecting, lookInto, type Walk } from './walk.ts'
import { openWire } from './wire.ts'

export interface Outcome {
  readonly checks: number
  readonly passed: number
  /** Everything that was not as promised. */
  readonly found: readonly string[]
}

interface Addresses {
  readonly baseUrl: string
  readonly shop: string
}

/** Runs the flow. Each chapter takes the walk, and what the chapters before it have brought. */
export async function runFlow({ baseUrl, shop }: Addresses, send: typeof fetch = fetch): Promise<Outcome> {
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

async function walk(given: Walk): Promise<void> {
  const { baseUrl } = given
  const { client_id, client_secret } = supportBackend
  const desk = await connect(given, supportDesk.client_id, client.None())
  const backend = await connect(given, client_id, client.ClientSecretBasic(client_secret))
  const who: promises.Impersonated = {
    baseUrl,
    userId: 'alice',
    actorId: 'sam',
    clientId: supportDesk.client_id,
    reason: 'A teapot is missing',
    ticketId: 'T-1',
  }

  screen.step('The backend gets a management token', 'Client credentials, for the management API only.')
  const managementToken = await getManagementToken(given, backend)

  await openAndStop(given, { backend, managementToken }, { ...who, clientId: shop.client_id })

  screen.step(
    'Without an application: Sam signs in at the support desk',
    'Authorization code with PKCE. The desk will exchange a subject token for an access token.',
  )
  const actorToken = await signIn(given, desk, who.actorId)

  screen.step(
    'The backend gets a subject token for Alice',
    'It has decided that Sam, and no one else, may become Alice.',
  )
  const { subjectToken, id } = await getSubjectToken(given, backend, managementToken, who)

  screen.step('The support desk exchanges it', 'RFC 8693. The actor token says who is acting.')
  const accessToken = await exchange(given, desk, { subjectToken, actorToken }, who)

  screen.step(
    'The support desk calls the orders API',
    'The API shows her orders, and knows that Sam is acting. What she has paid, it asks the billing API.',
  )
  await callApi(given, desk, accessToken, who)

  const billingToken = await downstream(given, accessToken, who)

  await stop(given, { backend, desk, managementToken, accessToken, billingToken, id })

  screen.step('Someone uses the subject token again', 'It works only once, and tells no one why it does not.')
  await expectRefusal(given, desk, { subjectToken, actorToken })

  await showRecord(given, { backend, managementToken, id }, who)
}

async function signIn(given: Walk, desk: client.Configuration, account: string): Promise<string> {
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
  let requests = 0
  const countRequest = () => {
    requests += 1
  }
  const browser = new Browser(given.send, countRequest, redirectUri)
  const loginPage = await browser.visit(authorizationUrl)
  const consentPage = await browser.visit(loginPage, { account })
  const callback = await browser.visit(consentPage, { decision: 'allow' })
  screen.hops(requests)
  const tokens = await expecting(given, 'sign-in response', promises.actorResponse, () =>
    client.authorizationCodeGrant(desk, callback, { pkceCodeVerifier, expectedState: state }),
  )
  return tokens.access_token
}

async function getManagementToken(given: Walk, backend: client.Configuration): Promise<string> {
  const { baseUrl } = given
  const request = { resource: `${baseUrl}/api`, scope: promises.MANAGEMENT_SCOPE }
  const tokens = await expecting(given, 'management token response', promises.managementResponse, () =>
    client.clientCredentialsGrant(backend, request),
  )
  const expected = promises.managementToken(baseUrl, supportBackend.client_id)
  lookInto(given, 'management token', tokens.access_token, expected)
  return tokens.access_token
}

async function getSubjectToken(
  given: Walk,
  backend: client.Configuration,
  managementToken: string,
  { userId, actorId, clientId, reason, ticketId }: promises.Impersonated,
): Promise<{ subjectToken: string; id: string }> {
  const url = new URL(`${given.baseUrl}/api/subject-tokens`)
  const body = JSON.stringify({ userId, actorId, clientId, context: { reason, ticketId } })
  const headers = new Headers({ 'content-type': 'application/json' })
  const promise = promises.subjectTokenResponse(given.baseUrl)
  const response = await expecting(given, 'subject token response', promise, () =>
    client.fetchProtectedResource(backend, managementToken, url, 'POST', body, headers),
  )
  const { subjectToken } = (await response.json()) as { subjectToken: string }
  return { subjectToken, id: response.headers.get('location')?.split('/').at(-1) ?? '' }
}

interface ExchangeTokens {
  readonly subjectToken: string
  readonly actorToken: string
}

async function exchange(
  given: Walk,
  desk: client.Configuration,
  tokens: ExchangeTokens,
  who: promises.Impersonated,
): Promise<string> {
  const request = exchangeRequest(given.baseUrl, tokens)
  const issued = await expecting(given, 'exchange response', promises.exchangeResponse, () =>
    client.genericGrantRequest(desk, TOKEN_EXCHANGE, request),
  )
  lookInto(given, 'access token', issued.access_token, promises.accessToken(who), {
    sub: 'it is for Alice',
    act: 'and says that Sam acts',
  })
  return issued.access_token
}

const exchangeRequest = (baseUrl: string, { subjectToken, actorToken }: ExchangeTokens) => ({
  subject_token: subjectToken,
  subject_token_type: ACCESS_TOKEN_TYPE,
  actor_token: actorToken,
  actor_token_type: ACCESS_TOKEN_TYPE,
  resource: `${baseUrl}/orders-api`,
  scope: 'orders:read payments:read',
})

async function callApi(
  given: Walk,
  desk: client.Configuration,
  accessToken: string,
  who: promises.Impersonated,
): Promise<void> {
  const orders = new URL(`${given.baseUrl}/orders-api/orders`)
  await expecting(given, 'orders response', promises.ordersResponse(who), () =>
    client.fetchProtectedResource(desk, accessToken, orders, 'GET'),
  )
}

async function expectRefusal(given: Walk, desk: client.Configuration, tokens: ExchangeTokens): Promise<void> {
  const request = exchangeRequest(given.baseUrl, tokens)
  screen.markResponse('the second use is refused')
  await expecting(given, 'second use', promises.refusedResponse, () =>
    // The client library throws on a refusal. Only the response matters here.
    client.genericGrantRequest(desk, TOKEN_EXCHANGE, request).catch(() => {}),
  )
}
