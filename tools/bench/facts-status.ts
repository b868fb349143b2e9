/** A status list that is full, with the bits of 60 % set at random. */
import { randomInt } from 'node:crypto'
import { decodeJwt } from 'jose'
import { SIGNING_KEY } from '../../fixtures/keys.ts'
import { epochTime } from '../../src/base/clock.ts'
import { jwtSigner } from '../../src/provider/keys.ts'
import { statusListOf } from '../../src/router/status-lists/status-list.ts'
import { STATUS_LIST_SIZE } from '../../src/tokens/subject-token.ts'
import { DAY, ISSUER } from './deployment.ts'
import type { Facts } from './ledger.ts'

const SHARE = 60
const TIMES = 20

export async function measureStatusList(facts: Facts): Promise<void> {
  const asOf = epochTime()
  const shownUntil = new Map<number, number>()
  for (let index = 0; index < STATUS_LIST_SIZE; index += 1)
    if (randomInt(100) < SHARE) shownUntil.set(index, asOf + DAY)
  const sign = jwtSigner(SIGNING_KEY, 'ES256')
  let milliseconds = Number.POSITIVE_INFINITY
  let jwt = ''
  for (let time = 0; time < TIMES; time += 1) {
    const start = performance.now()
    const list = statusListOf({
      issuer: ISSUER,
      number: 0,
      uri: `${ISSUER}/status-lists/0`,
      ttl: 300,
      signJwt: (typ, payload) => {
        milliseconds = Math.min(milliseconds, performance.now() - start)
        return sign(typ, payload)
      },
    })
    jwt = (await list({ asOf, list: () => ({ shownUntil, version: 1 }) })).jwt
  }
  const { lst } = decodeJwt<{ status_list: { lst: string } }>(jwt).status_list
  facts.atMost('`lst`', lst.length, 22_000, ' B')
  facts.atMost('JWT', jwt.length, 30_000, ' B')
  facts.atMost('bits and zlib', milliseconds, 5, ' ms')
}
