/** Steps that look: records, lists, and whether an access token is still good. */
import { expect } from 'chai'
import { now } from '../../../fixtures/clock.ts'
import { expectResponse } from '../oracles.ts'
import { APPLICATIONS } from '../setting.ts'
import { introspect } from './introspecting.ts'
import {
  isUnacknowledged,
  isViewed,
  isWithoutActor,
  itemOf,
  type Lane,
  stateOf,
  type Token,
} from './model.ts'
import type { List, Look, Show } from './steps.ts'
import { selectionOf } from './stopping.ts'
import { expectRefused, heldOf, other, tokenOf, type Walk } from './walk.ts'

export async function show(walk: Walk, lane: Lane, { token: pick, astray }: Show): Promise<void> {
  const token = tokenOf(lane, pick)
  if (!token) return
  const issuer = astray ? other(token.issuer) : token.issuer
  if (!astray && !token.purged) return expectRecord(walk, lane, token)
  const response = await walk.manage(lane, issuer, { method: 'GET', path: `/${token.id}` })
  expectRefused(walk, response, { status: 404, error: 'not_found', text: 'subject token not found' })
}

export async function expectRecord(walk: Walk, lane: Lane, token: Token): Promise<void> {
  const response = await walk.manage(lane, token.issuer, { method: 'GET', path: `/${token.id}` })
  expectResponse(walk.world.secrets, response, [200])
  expect(response.body, 'the record').to.deep.equal(itemOf(token, now()))
}

export async function look(walk: Walk, lane: Lane, { held: pick }: Look): Promise<void> {
  const opaque = lane.held.filter(({ format }) => format === 'opaque')
  const held = (pick % 5 > 0 ? opaque[pick % opaque.length] : undefined) ?? heldOf(lane, pick)
  if (held) await introspect(walk, held)
}

export async function list(walk: Walk, lane: Lane, step: List): Promise<void> {
  const { issuer, state, live, replayed, withoutActor, unacknowledged, ticketId, limit } = step
  const jti = step.jti && jtiFor(lane, issuer, step.jti)
  // With a person as well, it would hardly ever find anything.
  const by = jti === undefined && ticketId === undefined ? step.by : 'createdBy'
  const { name, matches } = selectionOf(walk, lane, { ...step, by })
  const client = step.client === undefined ? undefined : APPLICATIONS[step.client % 2]?.client_id
  const query = new URLSearchParams({ [by]: name, limit: String(limit) })
  const filters = { state, live, replayed, withoutActor, unacknowledged, ticketId, jti, clientId: client }
  for (const [member, value] of Object.entries(filters))
    if (value !== undefined) query.set(member, String(value))

  const expected = lane.tokens.filter(
    (token) => token.issuer === issuer && matches(token) && passes(token, filters),
  )
  const found: unknown[] = []
  for (let pages = 0; ; pages += 1) {
    const response = await walk.manage(lane, issuer, { method: 'GET', path: `?${query}` })
    expectResponse(walk.world.secrets, response, [200])
    const { items, nextCursor } = response.body
    expect(items.length, 'items on a page').to.be.at.most(limit)
    found.push(...items)
    if (nextCursor === undefined) break
    expect(pages, 'pages').to.be.at.most(expected.length + 1)
    query.set('cursor', nextCursor)
  }
  const newestFirst = [...expected].sort((one, other) => (one.id < other.id ? 1 : -1))
  expect(found, `the list ?${query}`).to.deep.equal(newestFirst.map((token) => itemOf(token, now())))
}

/** The `jti` of an access token that came of an impersonation, or one that leads nowhere. */
function jtiFor(lane: Lane, issuer: 0 | 1, { held: pick, form }: NonNullable<List['jti']>): string {
  const impersonated = lane.held.filter((held) => held.token !== undefined && held.issuer === issuer)
  const { jti, token } = impersonated[pick % impersonated.length] ?? {}
  const id = token?.id ?? 'f'.repeat(32)
  if (form === 'its own') return jti ?? id
  if (form === 'of a child') return `${id}.${'x'.repeat(22)}`
  return form === 'unknown' ? 'e'.repeat(32) : `${id}.x`
}

type Names = 'state' | 'live' | 'replayed' | 'withoutActor' | 'unacknowledged' | 'ticketId'
type Filters = Pick<List, Names> & Readonly<Record<'jti' | 'clientId', string | undefined>>

function passes(token: Token, filters: Filters): boolean {
  const { state, live, replayed, withoutActor, unacknowledged, ticketId, jti, clientId } = filters
  return (
    (state === undefined || stateOf(token, now()) === state) &&
    (live === undefined || isViewed(token, now()) === live) &&
    (replayed === undefined || (token.replay !== undefined) === replayed) &&
    (withoutActor === undefined || isWithoutActor(token) === withoutActor) &&
    (unacknowledged === undefined || isUnacknowledged(token)) &&
    (ticketId === undefined || token.context.ticketId === ticketId) &&
    (jti === undefined || leadsTo(jti, token)) &&
    (clientId === undefined || [token.clientId, token.use?.clientId].includes(clientId))
  )
}

/** Its own is the id of the record; those of tokens that came of it begin with that. */
const leadsTo = (jti: string, { id }: Token): boolean =>
  jti === id || (jti.startsWith(`${id}.`) && jti.length === id.length + 23)
