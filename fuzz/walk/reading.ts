/** Steps that look: records, lists, and whether an access token is still good. */
import { expect } from 'chai'
import { now } from '../../fixtures/clock.ts'
import { expectResponse } from '../oracles.ts'
import { APPLICATIONS } from '../setting.ts'
import { introspect } from './introspecting.ts'
import { isViewed, itemOf, type Lane, stateOf, type Token } from './model.ts'
import type { List, Look, Show } from './steps.ts'
import { selectionOf } from './stopping.ts'
import { expectRefused, heldOf, other, tokenOf, type Walk } from './walk.ts'

export async function show(walk: Walk, lane: Lane, { token: pick, astray }: Show): Promise<void> {
  const token = tokenOf(lane, pick)
  if (!token) return
  const issuer = astray ? other(token.issuer) : token.issuer
  const response = await walk.manage(lane, issuer, { method: 'GET', path: `/${token.id}` })
  if (astray || token.purged)
    return expectRefused(walk, response, { status: 404, error: 'not_found', text: 'subject token not found' })
  expectResponse(walk.world.secrets, response, [200])
  expect(response.body, 'the record').to.deep.equal(itemOf(token, now()))
}

export async function look(walk: Walk, lane: Lane, { held: pick }: Look): Promise<void> {
  const opaque = lane.held.filter(({ format }) => format === 'opaque')
  const held = (pick % 5 > 0 ? opaque[pick % opaque.length] : undefined) ?? heldOf(lane, pick)
  if (held) await introspect(walk, held)
}

export async function list(walk: Walk, lane: Lane, step: List): Promise<void> {
  const { name, matches } = selectionOf(walk, lane, step)
  const client = step.client === undefined ? undefined : APPLICATIONS[step.client % 2]?.client_id
  const { issuer, by, state, live, replayed, withoutActor, limit } = step
  const query = new URLSearchParams({ [by]: name, limit: String(limit) })
  const filters = { state, live, replayed, withoutActor, clientId: client }
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

interface Filters {
  readonly state: string | undefined
  readonly live: boolean | undefined
  readonly replayed: boolean | undefined
  readonly withoutActor: boolean | undefined
  readonly clientId: string | undefined
}

function passes(token: Token, { state, live, replayed, withoutActor, clientId }: Filters): boolean {
  return (
    (state === undefined || stateOf(token, now()) === state) &&
    (live === undefined || isViewed(token, now()) === live) &&
    (replayed === undefined || (token.replay !== undefined) === replayed) &&
    (withoutActor === undefined || (token.use !== undefined && !token.use.actor) === withoutActor) &&
    (clientId === undefined || [token.clientId, token.use?.clientId].includes(clientId))
  )
}
