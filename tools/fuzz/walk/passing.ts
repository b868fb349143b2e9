/** An API exchanges an access token that it received: what is sent, and what must come of it (docs/protocol.md §8). */
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { now } from '../../../fixtures/clock.ts'
import type { HttpResponse } from '../../../fixtures/http.ts'
import { ALL_RESOURCES, APIS } from '../setting.ts'
import { claimsOf, expectAccessToken, lifeOf, linkOf, verified } from './granting.ts'
import { type AccessToken, defined, isGood, type Lane, type Token } from './model.ts'
import { judgePass, type PassAttempt } from './passing-verdict.ts'
import { keepProof, postExchange, requested } from './proving.ts'
import type { Pass } from './steps.ts'
import { stopOne, whileStopped } from './stopping.ts'
import { type Refusal, SUBJECT, type Verdict } from './verdict.ts'
import { applicationOf, expectRefused, heldOf, other, type Walk } from './walk.ts'

export const pass = (walk: Walk, lane: Lane, step: Pass): Promise<void> =>
  passOn(walk, lane, step, receivedBy(lane, step.received))

export async function passOn(
  walk: Walk,
  lane: Lane,
  step: Pass,
  received: AccessToken | null,
): Promise<void> {
  const sent = await prepare(walk, step, received)
  const verdict = judgePass(sent, walk.world.people, now())
  const { token } = sent.received ?? {}
  if (step.revoked && token && 'granted' in verdict)
    return passAndRevoke(walk, lane, { sent, token, verdict })
  // A proof is accepted once: simultaneous requests with one would race for it.
  const times = sent.proof ? 1 : step.times
  const responses = await Promise.all(Array.from({ length: times }, () => post(walk, sent)))
  // Nothing is spent.
  for (const response of responses) await settle(walk, lane, { sent, response, verdict })
  const given = 'granted' in verdict ? lane.held.at(-1) : undefined
  if (given && step.onward > 0) await passOn(walk, lane, { ...step, onward: step.onward - 1 }, given)
}

async function prepare(walk: Walk, step: Pass, received: AccessToken | null): Promise<PassAttempt> {
  const issuer = step.astray ? other(received?.issuer ?? 0) : (received?.issuer ?? 0)
  const client = apiFor(received, step.api)
  const resource = resourceFor(client, step.resource, walk.issuer(issuer).deployment.baseUrl)
  const request = await requested(walk, { issuer, client, resource }, step)
  return { ...request, received, actor: step.actor ?? false }
}

/** Mostly one that an API may have received; now and then a text that is no token. */
function receivedBy(lane: Lane, pick: number): AccessToken | null {
  const suited = lane.held.filter(
    (held) => held.issuer === 0 && held.audience !== undefined && isGood(held, now()),
  )
  // Those in which someone acts are few, and have the most rules.
  const acted = suited.filter(({ token }) => token?.use?.actor)
  const among = pick % 3 === 0 && acted.length > 0 ? acted : suited
  if (pick % 29 === 0) return null
  return (pick % 5 > 0 ? among[pick % among.length] : undefined) ?? heldOf(lane, pick) ?? null
}

/** Mostly an API that the token is for. */
function apiFor(received: AccessToken | null, pick: number): ClientMetadata {
  const suited = APIS.filter(({ token_exchange_audiences: audiences }) =>
    Object(audiences).includes(received?.audience),
  )
  const api = (pick % 5 > 0 ? suited[pick % suited.length] : undefined) ?? APIS[pick % APIS.length]
  return pick % 17 === 0 || !api ? applicationOf(pick) : api
}

/** Mostly one that the API may request. */
function resourceFor(client: ClientMetadata, pick: number, baseUrl: string): string {
  const registered: readonly string[] = Object(client.token_exchange_resources ?? [])
  const others = [...Object.keys(ALL_RESOURCES), 'https://unknown.example.com', `${baseUrl}/api`]
  const suited = pick % 4 > 0 ? registered[pick % registered.length] : undefined
  return suited ?? others[pick % others.length] ?? baseUrl
}

const post = (walk: Walk, sent: PassAttempt) =>
  postExchange(walk, sent, {
    subjectToken: sent.received?.value ?? 'not-a-token',
    actorToken: sent.actor ? 'not-a-token' : undefined,
  })

interface Settled {
  readonly sent: PassAttempt
  readonly response: HttpResponse
  readonly verdict: Verdict
}

async function settle(walk: Walk, lane: Lane, { sent, response, verdict }: Settled): Promise<void> {
  if ('refused' in verdict) return settleRefused(walk, sent, response, verdict.refused)
  expect(response.status, response.text).to.equal(200)
  if (!sent.received) throw new Error('granted for nothing')
  lane.held.push(await child(walk, sent, sent.received, response, verdict.granted.scope))
  keepProof(walk, sent)
}

function settleRefused(
  walk: Walk,
  { issuer, client, rules }: PassAttempt,
  response: HttpResponse,
  refused: Refusal,
) {
  expectRefused(walk, response, refused)
  if (refused.event === undefined) return
  const told = { error: refused.error, clientId: client.client_id }
  walk.expectEvent(
    rules.hops === undefined
      ? { issuer, name: 'subject_token.refused', payload: { stage: 'exchange', ...told } }
      : { issuer, name: 'access_token.refused', payload: { stage: 'onBehalfOf', ...told } },
  )
}

/** What the API was given: the same user and people, no more scopes and no longer life, and the same status. */
async function child(
  walk: Walk,
  sent: PassAttempt,
  parent: AccessToken,
  response: HttpResponse,
  scope: string | undefined,
): Promise<AccessToken> {
  const { issuer, client, resource, jkt } = sent
  const { sub, token, through } = parent
  const expiresAt = Math.min(now() + lifeOf(sent), parent.expiresAt)
  const value = expectAccessToken(walk, sent, response, { life: expiresAt - now(), scope })
  const shown = await verified(value)
  const { jti } = shown
  // Of an opaque token that no one could look at.
  if (token && !token.status) token.status = Object(shown.status).status_list
  const told = { told: token?.context ?? {}, through, parent: parent.told }
  const apis = [client.client_id, ...through]
  expect(jti).to.match(token ? new RegExp(`^${token.id}\\.[\\w-]{22}$`) : /^[\w-]{43}$/)
  expect(jti).not.to.equal(parent.jti)
  expect(shown, 'the access token of an API').to.deep.equal(
    claimsOf(walk, sent, {
      sub,
      exp: expiresAt,
      jti,
      scope,
      act: apis.reduceRight<object | undefined>(
        (act, id) => defined({ sub: id, client_id: id, act }),
        linkOf(client, token?.use?.actor),
      ),
      status: token?.status && { status_list: token.status },
      ...told,
    }),
  )
  const payload = {
    id: token?.id,
    userId: sub,
    createdBy: token?.createdBy,
    clientId: client.client_id,
    actor: token?.use?.actor,
    through,
    parentJti: parent.jti,
    resource,
    scope,
    accessToken: { format: 'jwt', jti, expiresAt },
  }
  walk.expectEvent({ issuer, name: 'access_token.exchanged', payload })
  const held = { issuer, value, format: 'jwt', sub, client, audience: resource, scope } as const
  return { ...held, expiresAt, jti, jkt, token, through: apis, told }
}

interface Raced {
  readonly sent: PassAttempt
  readonly token: Token
  readonly verdict: Verdict
}

/** Both at the same moment: whichever came first, the new access token is stopped with the impersonation. */
async function passAndRevoke(walk: Walk, lane: Lane, { sent, token, verdict }: Raced): Promise<void> {
  const response = await whileStopped(walk, lane, token, post(walk, sent))
  await settle(walk, lane, { sent, response, verdict: response.status === 200 ? verdict : SUBJECT })
  stopOne(walk, token, { cause: 'api', client: lane.backend.client_id })
}
