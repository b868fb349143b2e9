/** What a case of requests begins with: a subject token that is good, and tokens of every other kind. */
import { expect } from 'chai'
import { actorJwt, actorToken } from '../../fixtures/actor-tokens.ts'
import { API } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { idFrom } from '../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/constants.ts'
import { APPLICATIONS } from '../setting.ts'
import type { Lane } from '../walk/model.ts'
import { startWalk, type Walk } from '../walk/walk.ts'
import type { World } from '../world.ts'
import type { Filled } from './values.ts'

export interface Prepared {
  readonly walk: Walk
  readonly lane: Lane
  readonly filled: Filled
  /** Exchanges the subject token. */
  exchange(): Promise<HttpResponse>
}

/** Tokens that `text` has no place for are not made. */
export async function prepare(world: World, text: string): Promise<Prepared> {
  const walk = await startWalk(world)
  const [lane] = walk.lanes
  const [spa] = APPLICATIONS
  const [user = '', actor = ''] = lane?.people ?? []
  if (!lane || !spa) throw new Error('no lane')
  const response = await walk.manage(lane, 0, { method: 'POST', body: { userId: user } })
  expect(response.status, response.text).to.equal(201)
  const { deployment } = walk.issuer(0)
  const made = async (place: string, make: () => Promise<string>) => (text.includes(place) ? make() : '')
  const filled: Filled = {
    '{subject}': response.body.subjectToken,
    '{actor}': await made('{actor}', () => actorToken(deployment, { accountId: actor })),
    '{received}': await made('{received}', () => actorJwt(deployment, { sub: user, scope: 'orders:read' })),
    '{management}': await walk.managementToken(lane, 0),
    '{id}': idFrom(response),
    '{backend}': lane.backend.client_id,
    '{user}': user,
  }
  for (const place of ['{subject}', '{actor}', '{received}', '{management}'] as const)
    world.secrets.keep(filled[place])
  const exchange = () =>
    walk.postToken(0, spa, {
      grant_type: TOKEN_EXCHANGE,
      subject_token: filled['{subject}'],
      subject_token_type: ACCESS_TOKEN_TYPE,
      resource: API,
    })
  return { walk, lane, filled, exchange }
}
