/** What an exchange returned: the response, the access token and its event (docs/protocol.md §3.5, §4). */
import { expect } from 'chai'
import { importJWK, type JWTPayload, jwtVerify } from 'jose'
import type { ClientMetadata } from 'oidc-provider'
import { introspectingClient } from '../../../fixtures/clients.ts'
import { now } from '../../../fixtures/clock.ts'
import { API } from '../../../fixtures/deployment.ts'
import type { HttpResponse } from '../../../fixtures/http.ts'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { ACCESS_TOKEN_TYPE } from '../../../src/base/constants.ts'
import type { ActClaim } from '../../../src/tokens/subject-token.ts'
import { expectNoSecret } from '../oracles.ts'
import type { Secrets } from '../secrets.ts'
import { ALL_RESOURCES, pairwise } from '../setting.ts'
import type { Sent } from './exchanging.ts'
import { type AccessToken, defined, identitiesOf, type Lane, type Token } from './model.ts'
import { keepProof } from './proving.ts'
import type { Walk } from './walk.ts'

interface Granted {
  readonly sent: Sent
  readonly token: Token
  readonly scope: string | undefined
  readonly response: HttpResponse
  /** Something else was sent at the same moment, which may have ended the access token already. */
  readonly disturbed: boolean
}

const { kty, crv, x, y } = SIGNING_KEY
const publicKey = importJWK({ kty, crv, x, y }, 'ES256')

export async function grant(
  walk: Walk,
  lane: Lane,
  { sent, token, scope, response, disturbed }: Granted,
): Promise<void> {
  const { world } = walk
  const life = lifeOf(sent)
  const value = expectAccessToken(world.secrets, response, { jkt: sent.jkt, life, scope })
  const format = sent.resource === API ? 'jwt' : 'opaque'
  const shown =
    format === 'jwt'
      ? await verified(value)
      : disturbed
        ? undefined
        : await introspected(walk, sent.issuer, value)
  const jti = format === 'jwt' ? token.id : undefined
  const accessToken = defined({ format, jti, expiresAt: now() + life } as const)
  const actor = actingParty(sent.actor)
  const { resource } = sent
  const kept = format === 'jwt' && !sent.rules.statusList ? true : undefined
  Object.assign(token, {
    use: defined({ at: now(), clientId: sent.client.client_id, actor, resource, scope, accessToken, kept }),
    accessToken: value,
    status: Reflect.get(Object(shown?.status), 'status_list'),
  })
  if (shown)
    expect(shown, 'the access token').to.deep.equal(claimsOf(walk, { sent, token, scope, life }, shown))
  keepProof(walk, sent)
  const { issuer, client, jkt } = sent
  lane.held.push({
    issuer,
    value,
    format,
    sub: token.userId,
    client,
    audience: resource,
    scope,
    expiresAt: accessToken.expiresAt,
    jti: accessToken.jti,
    jkt,
    token,
    through: [],
    told: { told: token.context },
  })
  const { id, userId, createdBy } = token
  const payload = {
    id,
    userId,
    createdBy,
    clientId: sent.client.client_id,
    actor,
    resource,
    scope,
    accessToken,
  }
  walk.expectEvent({ issuer: sent.issuer, name: 'subject_token.exchanged', payload })
}

/** Life of an access token in the hands of no one who acts for another. */
export const lifeOf = ({ resource, rules }: Pick<Sent, 'resource' | 'rules'>): number =>
  Math.min(Number(ALL_RESOURCES[resource]?.accessTokenTTL), rules.maxAccessTokenTTL)

interface Expected {
  readonly jkt: string | undefined
  readonly life: number
  readonly scope: string | undefined
}

/** The access token of a response that is as it must be. */
export function expectAccessToken(
  secrets: Secrets,
  response: HttpResponse,
  { jkt, life, scope }: Expected,
): string {
  expectNoSecret(secrets, response)
  expect(response.headers.get('cache-control')).to.equal('no-store')
  const value: string = response.body.access_token
  expect(response.body).to.deep.equal(
    defined({
      access_token: value,
      issued_token_type: ACCESS_TOKEN_TYPE,
      token_type: jkt === undefined ? 'Bearer' : 'DPoP',
      expires_in: life,
      scope,
    }),
  )
  secrets.keep(value)
  return value
}

export async function verified(jwt: string): Promise<JWTPayload> {
  return (await jwtVerify(jwt, await publicKey, { typ: 'at+jwt' })).payload
}

/** What RFC 7662 adds to the claims is compared here, so that the rest is the same for both formats. */
async function introspected(walk: Walk, issuer: 0 | 1, token: string): Promise<JWTPayload> {
  const response = await walk.postIntrospection(issuer, introspectingClient(), token)
  const { active, token_type: _, ...claims } = response.body
  return claims
}

interface Issued {
  readonly sent: Sent
  readonly token: Token
  readonly scope: string | undefined
  readonly life: number
}

/** The claims that a token must have. What the service chooses is taken from `shown`, and looked at elsewhere. */
function claimsOf(walk: Walk, { sent, token, scope, life }: Issued, shown: JWTPayload): object {
  const { client, actor, rules, resource } = sent
  const { deployment } = walk.issuer(sent.issuer)
  expect(shown.status === undefined, 'status').to.equal(!rules.statusList)
  return defined({
    iss: deployment.issuer,
    aud: resource,
    sub: nameOf(client, token.userId),
    client_id: client.client_id,
    iat: now(),
    exp: now() + life,
    jti: resource === API ? token.id : shown.jti,
    scope,
    act: linkOf(client, actingParty(actor)),
    cnf: sent.jkt && { jkt: sent.jkt },
    status: shown.status,
    told: token.context,
  })
}

/** By which a client knows an account. */
export const nameOf = ({ client_id: id, subject_type: type }: ClientMetadata, account: string): string =>
  type === 'pairwise' ? pairwise(id, account) : account

/** The people who act, as the access token of a client names them. */
export function linkOf(client: ClientMetadata, actor: ActClaim | undefined): ActClaim | undefined {
  if (!actor) return undefined
  return defined({ sub: nameOf(client, actor.sub), act: linkOf(client, actor.act) })
}

const actingParty = (actor: AccessToken | null | undefined) =>
  actor
    ? defined({
        sub: actor.sub,
        act: actor.token?.use?.actor && identitiesOf(actor.token.use.actor),
        clientId: actor.client.client_id,
      })
    : undefined
