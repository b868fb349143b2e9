/** What an exchange returned: the response, the access token and its event (docs/protocol.md §3.5, §4). */
import { expect } from 'chai'
import { importJWK, type JWTPayload, jwtVerify } from 'jose'
import { introspectingClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { SIGNING_KEY } from '../../fixtures/keys.ts'
import { ACCESS_TOKEN_TYPE } from '../../src/constants.ts'
import type { ActClaim } from '../../src/subject-tokens/subject-token.ts'
import { expectNoSecret } from '../oracles.ts'
import { pairwise } from '../setting.ts'
import type { Sent } from './exchanging.ts'
import { type ActorToken, defined, identitiesOf, type Lane, type Token } from './model.ts'
import type { Walk } from './walk.ts'

interface Granted {
  readonly sent: Sent
  readonly token: Token
  readonly scope: string | undefined
  readonly response: HttpResponse
  /** Something else was sent at the same moment, which may have ended the access token already. */
  readonly disturbed: boolean
}

/** Life of an access token of either resource, where the cap is not shorter. */
const LIFE = 600
const { kty, crv, x, y } = SIGNING_KEY
const publicKey = importJWK({ kty, crv, x, y }, 'ES256')

export async function grant(
  walk: Walk,
  lane: Lane,
  { sent, token, scope, response, disturbed }: Granted,
): Promise<void> {
  const { world } = walk
  expectNoSecret(world.secrets, response)
  expect(response.headers.get('cache-control')).to.equal('no-store')
  const value: string = response.body.access_token
  const life = Math.min(LIFE, sent.rules.maxAccessTokenTTL)
  expect(response.body).to.deep.equal(
    defined({
      access_token: value,
      issued_token_type: ACCESS_TOKEN_TYPE,
      token_type: sent.jkt === undefined ? 'Bearer' : 'DPoP',
      expires_in: life,
      scope,
    }),
  )
  world.secrets.keep(value)
  const format = sent.resource === API ? 'jwt' : 'opaque'
  const shown =
    format === 'jwt'
      ? await verified(value)
      : disturbed
        ? undefined
        : await introspected(walk, sent.issuer, value)
  const accessToken = defined({ format, jti: shown?.jti, expiresAt: now() + life } as const)
  const actor = actingParty(sent.actor)
  const { resource } = sent
  Object.assign(token, {
    use: defined({ at: now(), clientId: sent.client.client_id, actor, resource, scope, accessToken }),
    accessToken: value,
    status: Reflect.get(Object(shown?.status), 'status_list'),
  })
  if (shown)
    expect(shown, 'the access token').to.deep.equal(claimsOf(walk, { sent, token, scope, life }, shown))
  if (sent.proof === 'fresh')
    walk.proofs.set(`${sent.issuer} ${sent.client.client_id}`, { proof: sent.headers.dpop ?? '', at: now() })
  lane.actors.push(actorOfExchange(sent, token, value, scope))
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

async function verified(jwt: string): Promise<JWTPayload> {
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
  const named = (id: string) => (client.subject_type === 'pairwise' ? pairwise(client.client_id, id) : id)
  const link = ({ sub, act }: ActClaim): ActClaim =>
    act ? { sub: named(sub), act: link(act) } : { sub: named(sub) }
  const { deployment } = walk.issuer(sent.issuer)
  expect(shown.status === undefined, 'status').to.equal(!rules.statusList)
  return defined({
    iss: deployment.issuer,
    aud: resource,
    sub: named(token.userId),
    client_id: client.client_id,
    iat: now(),
    exp: now() + life,
    jti: shown.jti,
    scope,
    act: actor && link(identitiesOf(actingParty(actor) ?? { sub: '' })),
    cnf: sent.jkt && { jkt: sent.jkt },
    status: shown.status,
    told: token.context,
  })
}

const actingParty = (actor: ActorToken | null | undefined) =>
  actor
    ? defined({
        sub: actor.sub,
        act: actor.token?.use?.actor && identitiesOf(actor.token.use.actor),
        clientId: actor.client.client_id,
      })
    : undefined

/** A later step may try to act with the access token. */
function actorOfExchange(sent: Sent, token: Token, value: string, scope: string | undefined): ActorToken {
  return {
    issuer: sent.issuer,
    value,
    format: sent.resource === API ? 'jwt' : 'opaque',
    sub: token.userId,
    client: sent.client,
    openid: scope?.split(' ').includes('openid') ?? false,
    expiresAt: token.use?.accessToken.expiresAt ?? 0,
    jkt: sent.jkt,
    token,
  }
}
