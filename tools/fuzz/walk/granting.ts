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
import { ALL_RESOURCES, pairwise } from '../setting.ts'
import { type AccessToken, defined, identitiesOf, type Lane, type Token } from './model.ts'
import { keepProof, type Requested } from './proving.ts'
import type { Attempt } from './verdict.ts'
import type { Walk } from './walk.ts'

interface Granted {
  readonly sent: Attempt
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
  const { issuer, client, resource, jkt, rules } = sent
  const { id, userId, createdBy, context } = token
  const life = lifeOf(sent)
  const value = expectAccessToken(walk, sent, response, { life, scope })
  const format = resource === API ? 'jwt' : 'opaque'
  const shown =
    format === 'jwt' ? await verified(value) : disturbed ? undefined : await introspected(walk, issuer, value)
  const jti = format === 'jwt' ? id : undefined
  const expiresAt = now() + life
  const actor = actingParty(sent.actor)
  const use = defined({
    clientId: client.client_id,
    actor,
    resource,
    scope,
    accessToken: defined({ format, jti, expiresAt } as const),
  })
  const kept = format === 'jwt' && !rules.statusList ? true : undefined
  const status = shown?.status
  Object.assign(token, {
    use: defined({ at: now(), ...use, kept }),
    status: Reflect.get(Object(status), 'status_list'),
  })
  if (shown) {
    expect(status === undefined, 'status').to.equal(!rules.statusList)
    const claims = { jti: jti ?? shown.jti, act: linkOf(client, actor), status, told: context }
    expect(shown, 'the access token').to.deep.equal(
      claimsOf(walk, sent, { sub: userId, exp: expiresAt, scope, ...claims }),
    )
  }
  keepProof(walk, sent)
  const held = { issuer, value, format, sub: userId, client, audience: resource, scope } as const
  lane.held.push({ ...held, expiresAt, jti, jkt, token, through: [], told: { told: context } })
  walk.expectEvent({ issuer, name: 'subject_token.exchanged', payload: { id, userId, createdBy, ...use } })
}

/** Life of an access token in the hands of no one who acts for another. */
export const lifeOf = ({ resource, rules }: Requested): number =>
  Math.min(Number(ALL_RESOURCES[resource]?.accessTokenTTL), rules.maxAccessTokenTTL)

/** The access token of a response that is as it must be. */
export function expectAccessToken(
  { world: { secrets } }: Walk,
  { jkt }: Requested,
  response: HttpResponse,
  { life, scope }: { readonly life: number; readonly scope: string | undefined },
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
  const response = await walk.postIntrospection(issuer, introspectingClient(), { token })
  const { active, token_type: _, ...claims } = response.body
  return claims
}

interface Told extends Readonly<Record<string, unknown>> {
  /** The account. */
  readonly sub: string
}

/** The claims of every token, and those that this one has beside them. */
export const claimsOf = (
  walk: Walk,
  { issuer, client, resource, jkt }: Requested,
  { sub, ...more }: Told,
): object =>
  defined({
    iss: walk.issuer(issuer).deployment.issuer,
    aud: resource,
    sub: nameOf(client, sub),
    client_id: client.client_id,
    iat: now(),
    cnf: jkt && { jkt },
    ...more,
  })

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
