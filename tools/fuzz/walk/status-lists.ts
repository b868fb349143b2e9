/** What the status lists must show of the tokens of a walk (docs/protocol.md §4.1). */
import { inflateSync } from 'node:zlib'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { now } from '../../../fixtures/clock.ts'
import type { World } from '../world.ts'
import { isShownStopped, type Token } from './model.ts'
import type { Walk } from './walk.ts'

/** A process may show what it knew a second ago: call this when two seconds have passed since the last step. */
export async function checkStatusLists(walk: Walk): Promise<void> {
  const tokens = walk.lanes
    .flatMap((lane) => lane.tokens)
    .filter(({ use, status }) => status !== undefined && use && use.accessToken.expiresAt > now())
  const uris = new Set(tokens.map(({ status }) => status?.uri ?? ''))
  for (const uri of uris) {
    const list = await fetchList(walk.world, uri)
    for (const token of tokens.filter(({ status }) => status?.uri === uri)) expectBit(list, token)
  }
}

/** Read here, because a library takes longer for one than the service for twenty. */
async function fetchList(world: World, uri: string): Promise<Uint8Array> {
  const [issuer] = world.issuers
  const { pathname, origin } = new URL(uri)
  expect(origin).to.equal(issuer.deployment.baseUrl)
  const response = await world.send(issuer, { method: 'GET', path: pathname })
  expect(response.status, `the list ${uri}`).to.equal(200)
  const { lst } = Object(decodeJwt(response.text).status_list)
  return inflateSync(Buffer.from(lst, 'base64url'))
}

function expectBit(list: Uint8Array, token: Token): void {
  const { idx } = token.status ?? { idx: 0 }
  const bit = ((list[Math.floor(idx / 8)] ?? 0) >> (idx % 8)) & 1
  expect(bit, `the bit of ${token.id}, revoked at ${token.revokedAt}`).to.equal(isShownStopped(token) ? 1 : 0)
}
