/** The exchange: what is sent, and what must come of it. */
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { now } from '../../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../../fixtures/deployment.ts'
import type { HttpResponse } from '../../../fixtures/http.ts'
import { APIS, APPLICATIONS } from '../setting.ts'
import { grant } from './granting.ts'
import { type AccessToken, type Lane, replay, type Token } from './model.ts'
import { postExchange, requested } from './proving.ts'
import type { Exchange } from './steps.ts'
import { stopOne, whileStopped } from './stopping.ts'
import { type Attempt, hasScope, judge, type Refusal } from './verdict.ts'
import { applicationOf, expectRefused, heldOf, other, tokenOf, type Walk } from './walk.ts'

export async function exchange(walk: Walk, lane: Lane, step: Exchange): Promise<void> {
  const token = tokenOf(lane, step.token)
  if (!token) return
  const sent = await prepare(walk, lane, token, step)
  const verdict = judge(sent, walk.world.people, now())
  // A proof is accepted once: simultaneous requests with one would race for it, too.
  if (step.revoked && !sent.proof && 'granted' in verdict) return exchangeAndRevoke(walk, lane, sent, token)
  const times = sent.proof ? 1 : step.race
  const responses = await Promise.all(Array.from({ length: times }, () => post(walk, sent, token)))
  const winner = responses.find(({ status }) => status === 200)
  if ('refused' in verdict) {
    for (const response of responses) settleRefused(walk, sent, response, verdict.refused)
    return
  }
  expect(
    responses.filter(({ status }) => status === 200),
    `winners of ${times}: ${responses.map(({ text }) => text).join(' ')}`,
  ).to.have.lengthOf(1)
  if (winner)
    await grant(walk, lane, {
      sent,
      token,
      scope: verdict.granted.scope,
      response: winner,
      disturbed: times > 1,
    })
  const again = judge(sent, walk.world.people, now())
  if (!('refused' in again)) throw new Error('a spent token must be refused')
  for (const response of responses)
    if (response !== winner) settleRefused(walk, sent, response, again.refused)
}

async function prepare(walk: Walk, lane: Lane, token: Token, step: Exchange): Promise<Attempt> {
  const issuer = step.astray ? other(token.issuer) : token.issuer
  const client = clientFor(token, step.client)
  const resource = resourceFor(token, step.resource, walk.issuer(issuer).deployment.baseUrl)
  return {
    ...(await requested(walk, { issuer, client, resource }, step)),
    token: step.astray ? undefined : token,
    actor: step.actor === undefined ? undefined : actorFor(lane, token, step.actor),
  }
}

/** Mostly one that the subject token allows; now and then an API, which may never. */
function clientFor({ clientId }: Token, pick: number): ClientMetadata {
  const api = pick % 23 === 0 ? APIS[pick % APIS.length] : undefined
  if (api) return api
  const bound = APPLICATIONS.find((client) => client.client_id === clientId)
  return bound && pick % 4 > 0 ? bound : applicationOf(pick)
}

function resourceFor({ resource }: Token, pick: number, baseUrl: string): string {
  const suited = [resource ?? []].flat().find((one) => one === API || one === OPAQUE_API)
  if (suited !== undefined && pick % 4 > 0) return suited
  const known = pick % 2 === 0 ? API : OPAQUE_API
  const unknown = pick % 5 === 0 ? 'https://unknown.example.com' : `${baseUrl}/api`
  return pick % 12 === 11 ? unknown : known
}

/** Mostly one that may act; now and then a text that is no token. */
function actorFor(lane: Lane, token: Token, pick: number): AccessToken | null {
  const suited = lane.held.filter(
    (held) =>
      hasScope(held, 'openid') &&
      held.issuer === token.issuer &&
      held.sub !== token.userId &&
      (token.actorId ?? held.sub) === held.sub,
  )
  if (pick % 11 === 0) return null
  return (pick % 4 > 0 ? suited[pick % suited.length] : undefined) ?? heldOf(lane, pick) ?? null
}

const post = (walk: Walk, sent: Attempt, { secret }: Token) =>
  postExchange(walk, sent, {
    subjectToken: secret,
    actorToken: sent.actor === null ? 'not-a-token' : sent.actor?.value,
  })

function settleRefused(walk: Walk, sent: Attempt, response: HttpResponse, refused: Refusal): void {
  const { issuer, client, rules, token } = sent
  expectRefused(walk, response, refused)
  const clientId = client.client_id
  if (refused.event === 'refused') {
    const payload = { stage: 'exchange', error: refused.error, clientId }
    walk.expectEvent({ issuer, name: 'subject_token.refused', payload })
  }
  if (refused.event !== 'replayed' || !token?.use) return
  const { use, id, userId } = token
  const ended = replay(token, rules, client, now())
  const payload = {
    id,
    userId,
    clientId,
    usedBy: use.clientId,
    sameClient: clientId === use.clientId,
    usedAt: use.at,
    secondsAfter: now() - use.at,
    resource: use.resource,
    jti: use.accessToken.jti,
    ended,
  }
  walk.expectEvent({ issuer, name: 'subject_token.replayed', payload })
}

/** Both at the same moment: whichever came first, nothing of the impersonation is left. */
async function exchangeAndRevoke(walk: Walk, lane: Lane, sent: Attempt, token: Token): Promise<void> {
  const response = await whileStopped(walk, lane, token, post(walk, sent, token))
  if (response.status === 200) {
    const verdict = judge(sent, walk.world.people, now())
    const scope = 'granted' in verdict ? verdict.granted.scope : undefined
    await grant(walk, lane, { sent, token, scope, response, disturbed: true })
  }
  stopOne(walk, token, { cause: 'api', client: lane.backend.client_id })
  const verdict = judge(sent, walk.world.people, now())
  if (response.status !== 200 && 'refused' in verdict) settleRefused(walk, sent, response, verdict.refused)
}
