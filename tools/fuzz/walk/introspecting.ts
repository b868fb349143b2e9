/** Introspection of an access token by a resource server (RFC 7662). */
import { expect } from 'chai'
import { introspectingClient } from '../../../fixtures/clients.ts'
import { now } from '../../../fixtures/clock.ts'
import { expectResponse } from '../oracles.ts'
import { nameOf } from './granting.ts'
import { type AccessToken, isGood } from './model.ts'
import { expectRefused, type Walk } from './walk.ts'

/** It tells nothing of a JWT: its status list does. */
export async function introspect(walk: Walk, held: AccessToken): Promise<void> {
  const response = await walk.postIntrospection(held.issuer, introspectingClient(), { token: held.value })
  if (held.format === 'jwt')
    return expectRefused(walk, response, { status: 400, error: 'unsupported_token_type' })
  expectResponse(walk.world.secrets, response, [200])
  const { active, sub, client_id, exp } = response.body
  const good = { active: true, sub: nameOf(held.client, held.sub), client_id: held.client.client_id }
  expect({ active, sub, client_id, exp }, 'introspection').to.deep.equal(
    isGood(held, now())
      ? { ...good, exp: held.expiresAt }
      : { active: false, sub: undefined, client_id: undefined, exp: undefined },
  )
}
