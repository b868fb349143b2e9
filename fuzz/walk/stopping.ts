/** Steps that stop: one record, or all of a person or a backend (docs/protocol.md §2.2). */
import { expect } from 'chai'
import { now } from '../../fixtures/clock.ts'
import type { Revocation } from '../../src/subject-tokens/subject-token.ts'
import { type Lane, linksOf, stop, type Token } from './model.ts'
import type { By, Kill, Revoke } from './steps.ts'
import { expectRefused, other, personOf, tokenOf, type Walk } from './walk.ts'

const SAYS = { by: 'dora', reason: 'a walk' }

export async function revoke(walk: Walk, lane: Lane, { token: pick, says, astray }: Revoke): Promise<void> {
  const token = tokenOf(lane, pick)
  if (!token) return
  const issuer = astray ? other(token.issuer) : token.issuer
  const response = await walk.manage(
    lane,
    issuer,
    says
      ? { method: 'POST', path: '/revocations', body: { id: token.id, ...SAYS } }
      : { method: 'DELETE', path: `/${token.id}` },
  )
  if (astray)
    return expectRefused(walk, response, { status: 404, error: 'not_found', text: 'subject token not found' })
  const marked = stopOne(walk, token, revocationBy(lane, says))
  expect(response.status, response.text).to.equal(says ? 200 : 204)
  if (says) expect(response.body).to.deep.equal({ revoked: marked ? 1 : 0 })
}

export async function kill(walk: Walk, lane: Lane, step: Kill): Promise<void> {
  const { name, matches } = selectionOf(walk, lane, step)
  const { issuer, by, says } = step
  const response = await walk.manage(
    lane,
    issuer,
    says
      ? { method: 'POST', path: '/revocations', body: { [by]: name, ...SAYS } }
      : { method: 'DELETE', path: `?${new URLSearchParams({ [by]: name })}` },
  )
  const revocation = revocationBy(lane, says)
  const marked = lane.tokens.filter(
    (token) => token.issuer === issuer && matches(token) && stopOne(walk, token, revocation),
  )
  expect(response.status, response.text).to.equal(200)
  expect(response.body, `revoked by ${by}`).to.deep.equal({ revoked: marked.length })
}

const revocationBy = ({ backend }: Lane, says: boolean): Revocation => ({
  cause: 'api',
  client: backend.client_id,
  ...(says && SAYS),
})

/** Stops one in the model; what this marks must emit an event. */
export function stopOne(walk: Walk, token: Token, revocation: Revocation): boolean {
  if (!stop(token, now(), revocation)) return false
  const { id, userId, use, issuer } = token
  const jwtGoesOn = use?.accessToken.format === 'jwt' && !walk.issuer(issuer).rules.statusList
  const payload = {
    id,
    userId,
    actorId: use?.actor?.sub ?? token.actorId,
    clientId: use?.clientId ?? token.clientId,
    revokedBy: revocation.client,
    revocation,
    jti: use?.accessToken.jti,
    ended: use && (jwtGoesOn ? 'kept' : 'now'),
  }
  walk.expectEvent({ issuer, name: 'subject_token.revoked', payload })
  return true
}

/** Whom a list or a kill switch names, and which records it must find. */
export function selectionOf({ world }: Walk, lane: Lane, given: { by: By; name: number; alias: boolean }) {
  const { by, alias } = given
  if (by === 'createdBy') {
    const name = lane.backend.client_id
    return { name, matches: (token: Token) => token.createdBy === name }
  }
  const person = personOf(lane, given.name)
  const name = alias ? `alias:${person}` : person
  const finds = !alias || world.people.accountOf(person) !== undefined
  const holds = (token: Token) =>
    by === 'userId'
      ? token.userId === person
      : token.actorId === person || linksOf(token.use?.actor).includes(person)
  return { name, matches: (token: Token) => finds && holds(token) }
}
