/** Steps that stop: one record, or all of a person or a backend (docs/protocol.md §2.2). */
import { expect } from 'chai'
import { now } from '../../../fixtures/clock.ts'
import type { HttpResponse } from '../../../fixtures/http.ts'
import type { Revocation } from '../../../src/tokens/subject-token.ts'
import { expectError, expectNoSecret } from '../oracles.ts'
import { introspect } from './introspecting.ts'
import { type Lane, linksOf, shownRevocation, stop, type Token } from './model.ts'
import type { By, End, Kill, Misrevoke, Revoke, Says } from './steps.ts'
import { applicationOf, expectRefused, heldOf, other, personOf, tokenOf, type Walk } from './walk.ts'

const UNKNOWN = { status: 404, error: 'not_found', text: 'subject token not found' }

export async function revoke(walk: Walk, lane: Lane, { token: pick, says, astray }: Revoke): Promise<void> {
  const token = tokenOf(lane, pick)
  if (!token) return
  const issuer = astray ? other(token.issuer) : token.issuer
  const response = await walk.manage(
    lane,
    issuer,
    says
      ? { method: 'POST', path: '/revocations', body: { id: token.id, ...says } }
      : { method: 'DELETE', path: `/${token.id}` },
  )
  if (astray || token.purged) return expectRefused(walk, response, UNKNOWN)
  const marked = stopOne(walk, token, revocationBy(lane, says))
  expect(response.status, response.text).to.equal(says ? 200 : 204)
  if (says) expect(response.body).to.deep.equal(countsOf(marked ? [token] : []))
}

export async function kill(walk: Walk, lane: Lane, step: Kill): Promise<void> {
  const { name, matches } = selectionOf(walk, lane, step)
  const { issuer, by, says } = step
  const response = await walk.manage(
    lane,
    issuer,
    says
      ? { method: 'POST', path: '/revocations', body: { [by]: name, ...says } }
      : { method: 'DELETE', path: `?${new URLSearchParams({ [by]: name })}` },
  )
  const revocation = revocationBy(lane, says)
  const marked = lane.tokens.filter(
    (token) => token.issuer === issuer && matches(token) && stopOne(walk, token, revocation),
  )
  expect(response.status, response.text).to.equal(200)
  expect(response.body, `revoked by ${by}`).to.deep.equal(countsOf(marked))
}

/** How many, and how many of them nothing could end. */
function countsOf(marked: readonly Token[]): object {
  const kept = marked.filter(({ use }) => use?.kept).length
  return { revoked: marked.length, ...(kept > 0 && { kept }) }
}

/** Later steps see that nothing was stopped. */
export async function misrevoke(walk: Walk, lane: Lane, { token: pick, how }: Misrevoke): Promise<void> {
  const token = tokenOf(lane, pick)
  if (!token) return
  const { id, userId, createdBy, issuer } = token
  const bodies: Readonly<Record<Misrevoke['how'], object>> = {
    nothing: { reason: 'a walk' },
    two: { id, userId },
    'unknown field': { id, why: 'a walk' },
    'blank reason': { createdBy, reason: ' ' },
    'no name': { createdBy, by: '' },
    'unknown id': { id: 'f'.repeat(32) },
    query: {},
  }
  const response = await walk.manage(
    lane,
    issuer,
    how === 'query'
      ? { method: 'DELETE', path: `?${new URLSearchParams({ userId, createdBy })}` }
      : { method: 'POST', path: '/revocations', body: bodies[how] },
  )
  expectRefused(walk, response, how === 'unknown id' ? UNKNOWN : { status: 400, error: 'invalid_request' })
}

/** The revocation endpoint of the provider ends an opaque access token, and nothing with it. */
export async function end(walk: Walk, lane: Lane, { held: pick, client: by }: End): Promise<void> {
  const held = heldOf(lane, pick)
  if (!held) return
  const client = by % 4 > 0 ? held.client : applicationOf(by)
  const response = await walk.postRevocation(held.issuer, client, { token: held.value })
  expectNoSecret(walk.world.secrets, response)
  if (held.format === 'jwt') {
    // The provider's own error, which may be cached.
    expect(response.status, response.text).to.equal(400)
    return void expect(expectError(response).error).to.equal('unsupported_token_type')
  }
  expect(response.status, response.text).to.equal(200)
  if (client.client_id !== held.client.client_id) return
  held.ended = true
  if (held.token) held.token.ended = true
  await introspect(walk, held)
}

const revocationBy = ({ backend }: Lane, says: Says): Revocation => ({
  cause: 'api',
  client: backend.client_id,
  ...says,
})

/** What came of a request, while its impersonation is stopped at the same moment. */
export async function whileStopped(
  walk: Walk,
  lane: Lane,
  { issuer, id }: Token,
  request: Promise<HttpResponse>,
): Promise<HttpResponse> {
  const stopping = walk.manage(lane, issuer, { method: 'DELETE', path: `/${id}` })
  const [response, stopped] = await Promise.all([request, stopping])
  expect(stopped.status, stopped.text).to.equal(204)
  return response
}

/** Stops one in the model; what this marks must emit an event. */
export function stopOne(walk: Walk, token: Token, revocation: Revocation): boolean {
  if (!stop(token, now(), revocation)) return false
  const { id, userId, use, issuer } = token
  const payload = {
    id,
    userId,
    actorId: use?.actor?.sub ?? token.actorId,
    clientId: use?.clientId ?? token.clientId,
    revokedBy: revocation.client,
    revocation: shownRevocation(token),
    jti: use?.accessToken.jti,
    ended: use && (use.kept ? 'kept' : 'now'),
  }
  walk.expectEvent({ issuer, name: 'subject_token.revoked', payload })
  return true
}

/** Whom a list or a kill switch names, and which records it must find. */
export function selectionOf({ world }: Walk, lane: Lane, given: { by: By; name: number; alias: boolean }) {
  const { by, alias } = given
  if (by === 'createdBy') {
    const name = lane.backend.client_id
    return { name, matches: (token: Token) => !token.purged && token.createdBy === name }
  }
  const person = personOf(lane, given.name)
  const name = alias ? `alias:${person}` : person
  const finds = !alias || world.people.accountOf(person) !== undefined
  const holds = (token: Token) =>
    by === 'userId'
      ? token.userId === person
      : token.actorId === person || linksOf(token.use?.actor).includes(person)
  return { name, matches: (token: Token) => !token.purged && finds && holds(token) }
}
