/** What the plugin promises about each response of the flow. A response must contain nothing else. */
import { ACCESS_TOKEN_TYPE } from '../../src/index.ts' // yours: 'oidc-provider-impersonation'
import { ordersApiClient, supportBackend } from '../clients.ts'
import { matching, Rule } from './differences.ts'

const aJwt = matching('a JWT', /^[\w-]+\.[\w-]+\.[\w-]+$/)
const opaque = matching('an opaque token', /^[\w-]{43,}$/)
const anId = matching('an id', /^[\w-]{8,}$/)
const theRecord = matching('the id of its record', /^[0-9a-f]{32}$/)
const belowTheRecord = matching('the id of its record, and chance', /^[0-9a-f]{32}\.[\w-]{22}$/)
const aPlace = new Rule('a place in a list', (value) => Number.isInteger(value) && Number(value) >= 0)
const aTime = new Rule('a time close to now, in epoch seconds', (value) => {
  return Number.isInteger(value) && Math.abs(Number(value) - Date.now() / 1000) < 3600
})
const header = { typ: 'at+jwt', alg: 'ES256', kid: anId }

/** No response of the flow may be kept. */
const sent = (body: object, status = 200) => ({ status, cacheControl: 'no-store', body })

/** What the support desk asks for. The second one is for the API behind the orders API. */
const SCOPE = 'orders:read payments:read'

/** All that the backend of the demo does. */
export const MANAGEMENT_SCOPE = 'subject-tokens:create subject-tokens:read subject-tokens:revoke'

export const actorResponse = sent({
  access_token: opaque,
  id_token: aJwt,
  token_type: 'Bearer',
  expires_in: 600,
  scope: 'openid',
})

export const managementResponse = sent({
  access_token: aJwt,
  token_type: 'Bearer',
  expires_in: 600,
  scope: MANAGEMENT_SCOPE,
})

export const managementToken = (baseUrl: string, clientId: string) => ({
  header,
  claims: {
    iss: `${baseUrl}/oidc`,
    aud: `${baseUrl}/api`,
    sub: clientId,
    client_id: clientId,
    scope: MANAGEMENT_SCOPE,
    jti: anId,
    iat: aTime,
    exp: aTime,
  },
  life: 600,
})

const issued = (baseUrl: string, subjectToken: Rule) => ({
  ...sent({ subjectToken, expiresIn: 600 }, 201),
  location: new Rule(`${baseUrl}/api/subject-tokens/{id}`, (value) => {
    const [start, id = ''] = String(value).split('/subject-tokens/')
    return start === `${baseUrl}/api` && /^[\w-]+$/.test(id)
  }),
})

export const subjectTokenResponse = (baseUrl: string) =>
  issued(baseUrl, matching('sub_, an id and 256 bits', /^sub_[\w-]{65}$/))

export const sessionTokenResponse = (baseUrl: string) =>
  issued(baseUrl, matching('ses_, an id and 256 bits', /^ses_[\w-]{65}$/))

/** What the shop knows: whose account it shows, and who looks at it. `sid` is in its log, and leads to the record. */
export const shopResponse = ({ userId, actorId }: Pick<Impersonated, 'userId' | 'actorId'>) =>
  sent({
    state: 'open',
    customer: userId,
    actor: actorId,
    sid: matching('imp_ and the id of the record', /^imp_[0-9a-f]{32}$/),
  })

export const shopEnded = sent({ state: 'ended' })

export interface Impersonated {
  readonly baseUrl: string
  readonly userId: string
  readonly actorId: string
  readonly clientId: string
  readonly reason: string
  readonly ticketId: string
}

/** Who became whom, why and until when, and who stopped it. Never a token. */
const recordOf = ({ userId, actorId, clientId, reason, ticketId }: Impersonated) => ({
  id: anId,
  userId,
  actorId,
  context: { reason, ticketId },
  createdBy: supportBackend.client_id,
  readOnly: true,
  clientId,
  usedBy: clientId,
  createdAt: aTime,
  expiresAt: aTime,
  consumedAt: aTime,
  revokedAt: aTime,
  revocation: { cause: 'api', client: supportBackend.client_id, ...STOP },
  state: 'revoked',
})

/** The application, and what it has said to the end. */
export const sessionRecord = (who: Impersonated) =>
  sent({
    ...recordOf(who),
    use: 'session',
    actor: { sub: who.actorId },
    scope: 'openid',
    session: { endsAt: aTime, logout: 'confirmed', logoutAt: aTime },
  })

/** No refresh token and no ID token, ever. */
const exchanged = (scope: string, life: number | Rule) =>
  sent({
    access_token: aJwt,
    issued_token_type: ACCESS_TOKEN_TYPE,
    token_type: 'Bearer',
    expires_in: life,
    scope,
  })

export const exchangeResponse = exchanged(SCOPE, 300)

export const accessToken = ({ baseUrl, userId, actorId, clientId, reason, ticketId }: Impersonated) => ({
  header,
  claims: {
    iss: `${baseUrl}/oidc`,
    aud: `${baseUrl}/orders-api`,
    sub: userId,
    act: { sub: actorId },
    read_only: true,
    client_id: clientId,
    scope: SCOPE,
    impersonation: { id: anId, reason, ticket_id: ticketId },
    status: { status_list: { idx: aPlace, uri: `${baseUrl}/api/status-lists/0` } },
    jti: theRecord,
    iat: aTime,
    exp: aTime,
  },
  life: 300,
})

export const ordersResponse = ({ userId, actorId, reason, ticketId }: Impersonated) =>
  sent({
    customer: userId,
    actor: { sub: actorId },
    scope: SCOPE,
    impersonation: { id: anId, reason, ticket_id: ticketId },
    orders: new Rule('her two orders', (value) => Array.isArray(value) && value.length === 2),
    billing: paymentsOf({ userId, actorId }),
  })

/** The orders API has passed it on. */
const paymentsOf = ({ userId, actorId }: Pick<Impersonated, 'userId' | 'actorId'>) => ({
  customer: userId,
  actor: { sub: actorId },
  through: [ordersApiClient.client_id],
  payments: new Rule('her two payments', (value) => Array.isArray(value) && value.length === 2),
})

/** What is left of the received token's five minutes. */
const whatIsLeft = new Rule('at most what the received token has left', (value) => {
  return Number.isInteger(value) && Number(value) > 240 && Number(value) <= 300
})

export const downstreamResponse = exchanged('payments:read', whatIsLeft)

/** The same user, the same engineer, the same place in the same status list; and the API that exchanged. */
export const billingToken = (who: Impersonated) => {
  const { claims } = accessToken(who)
  const { client_id: api } = ordersApiClient
  return {
    header,
    claims: {
      ...claims,
      aud: `${who.baseUrl}/billing-api`,
      act: { sub: api, client_id: api, act: { sub: who.actorId } },
      client_id: api,
      scope: 'payments:read',
      jti: belowTheRecord,
    },
    life: whatIsLeft,
  }
}

export const paymentsResponse = (who: Impersonated) => sent(paymentsOf(who))

/** Who stops it, and why. */
export const STOP = { by: 'robin', reason: 'The ticket is closed' }

export const revocationResponse = sent({ revoked: 1 })

/** The API, and that someone used the subject token again. */
export const recordResponse = (who: Impersonated) =>
  sent({
    ...recordOf(who),
    actor: { sub: who.actorId, clientId: who.clientId },
    resource: `${who.baseUrl}/orders-api`,
    scope: SCOPE,
    replay: { at: aTime, clientId: who.clientId },
    accessToken: { format: 'jwt', jti: theRecord, expiresAt: aTime },
  })

/** The same text for every bad access token. */
export const stoppedResponse = sent(
  { error: 'invalid_token', error_description: 'the access token is invalid' },
  401,
)

/** The same text for every bad subject token. */
export const refusedResponse = sent(
  { error: 'invalid_request', error_description: 'subject_token is invalid' },
  400,
)
